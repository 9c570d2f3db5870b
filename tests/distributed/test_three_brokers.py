"""A Kafka of three brokers that die one after the other: leaders and coordinators move, records go on, each once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, wait_running
from tests.support.endless_load import EndlessLoad
from tests.support.kafka_brokers import KafkaBrokers
from tests.support.probes import SETTINGS, Probe
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

TASKS = 3


@pytest.fixture(scope="module")
def brokers() -> Iterator[KafkaBrokers]:
    with KafkaBrokers() as running:
        yield running


@pytest.fixture(scope="module")
def cluster(brokers: KafkaBrokers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    settings = {
        **SETTINGS,
        "bootstrap.servers": brokers.bootstrap,
        "exactly.once.source.support": "enabled",
        **{f"{kind}.storage.replication.factor": "3" for kind in ("config", "offset", "status")},
        "topic.creation.enable": "true",
    }
    with Cluster(brokers.nodes[0], tmp_path_factory.mktemp("cluster"), 2, settings) as running:
        yield running


def test_every_broker_may_die_in_turn_and_each_record_is_there_once(
    brokers: KafkaBrokers, cluster: Cluster, tmp_path: Path
) -> None:
    asked = cluster.workers[0]
    load = EndlessLoad(cluster, "moving", tmp_path, TASKS)
    partitions = {"topic.creation.default.partitions": "3", "topic.creation.default.replication.factor": "3"}
    load.begin(asked, partitions)
    assert len(brokers.leaders("moving")) > 1
    sink = Probe(asked, tmp_path, "ProbeSink", "moving").create()
    wait_until(sink.out, "the sink has put records")
    for node in brokers.nodes:
        brokers.wait_until_in_sync()
        before, put, began = load.written(asked), len(sink.out()), time.monotonic()
        node.kill()
        wait_until(load.has_gone_on(asked, before), f"every task goes on without node {node.node}", 240)
        wait_until(lambda put=put: len(sink.out()) > put, "the sink goes on, too", 240)  # type: ignore[misc]
        print(f"went on without node {node.node} after {time.monotonic() - began:.1f} s")
        node.start()
    wanted, found = load.finish(asked)
    assert found == wanted
    wait_until(lambda: not wanted - Counter(value for _, _, value in sink.out()), "the sink has put every record", 240)
    wait_running(asked, load.name, TASKS)
    wait_running(asked, sink.name, 1)
    for worker in cluster.workers:
        assert "out of range" not in worker.output.read_text(), "a sink was sent back to the beginning"
