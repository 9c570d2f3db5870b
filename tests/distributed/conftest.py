"""One broker for all tests of clusters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kafka import KafkaBroker


@pytest.fixture(scope="package")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as running:
        yield running
