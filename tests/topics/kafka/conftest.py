"""One broker for all tests of this folder."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.topics.kafka import committing
from tests.support.kafka import KafkaBroker

from .world import KafkaWorld

_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def committed_by_ourselves(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """The broker takes our requests for groups: otherwise librdkafka's client would do, and nobody would see."""
    caplog.set_level(logging.DEBUG, committing.__name__)
    yield
    assert not [record for record in caplog.records if record.name == committing.__name__]


@pytest.fixture(scope="package")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as broker:
        yield broker


@pytest.fixture
def world(broker: KafkaBroker, tmp_path: Path) -> Iterator[KafkaWorld]:
    with KafkaWorld(broker.bootstrap, tmp_path, next(_numbers)) as world:
        yield world
