"""One broker, another one for who asks for it, and a cluster of three workers that know the probe connectors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.cluster import Cluster
from tests.support.kafka import KafkaBroker
from tests.support.probes import SETTINGS, wait_for_spark


@pytest.fixture(scope="session")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as running:
        yield running


@pytest.fixture(scope="session")
def other_broker() -> Iterator[KafkaBroker]:
    """A Kafka cluster that is not the workers' own."""
    with KafkaBroker() as running:
        yield running


@pytest.fixture(scope="package")
def cluster(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with Cluster(broker, folder, 3, SETTINGS) as running:
        for worker in running.workers:
            wait_for_spark(worker, folder)
        yield running
