"""One broker for all tests of this folder."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kafka import KafkaBroker

from .world import KafkaWorld

_numbers = itertools.count(1)


@pytest.fixture(scope="package")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as broker:
        yield broker


@pytest.fixture
def world(broker: KafkaBroker, tmp_path: Path) -> Iterator[KafkaWorld]:
    with KafkaWorld(broker.bootstrap, tmp_path, next(_numbers)) as world:
        yield world
