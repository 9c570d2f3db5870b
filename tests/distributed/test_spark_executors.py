"""Workers of a cluster share a Spark cluster whose executors die under load: every record is in Kafka once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, wait_running
from tests.support.endless_load import EndlessLoad
from tests.support.kafka import KafkaBroker
from tests.support.probes import SETTINGS, Probe, wait_for_spark
from tests.support.spark_cluster import SparkCluster
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

WORKERS = 2
RECOVERY_SECONDS = 240.0


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("spark"), workers=WORKERS) as running:
        yield running


@pytest.fixture(scope="module")
def once(broker: KafkaBroker, spark: SparkCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers with exactly-once support, each with one executor that has nothing of ours installed."""
    folder = tmp_path_factory.mktemp("once")
    share = {**spark.settings, "spark.cores.max": "2", "exactly.once.source.support": "enabled"}
    with Cluster(broker, folder, WORKERS, {**SETTINGS, **share}) as running:
        for worker in running.workers:
            wait_for_spark(worker, folder)
        yield running


def test_executors_that_die_cost_time_and_no_record_is_lost_or_twice(
    once: Cluster, spark: SparkCluster, tmp_path: Path
) -> None:
    asked = once.any()
    load = EndlessLoad(once, "on-executors", tmp_path)
    load.begin(asked)
    sink = Probe(asked, tmp_path, "ProbeSink", load.name).create()
    sink.wait_out(1)
    dead = spark.executors()
    assert len(dead) == WORKERS, "each worker has an executor"
    began = time.monotonic()
    for executor in dead:
        executor.kill()
    before = load.written(asked)
    wait_until(load.has_gone_on(asked, before), "records flow again", RECOVERY_SECONDS)
    print(f"exactly once: records of all tasks flowed again {time.monotonic() - began:.1f} s after executors died")
    wait_running(asked, load.name, load.tasks, RECOVERY_SECONDS)
    wanted, found = load.finish(asked)
    assert found == wanted
    assert set(wanted) <= {value for _, _, value in sink.wait_out(wanted.total())}
    assert Counter(sink.states()) == {"RUNNING": 2}
    assert not {executor.pid for executor in dead} & {executor.pid for executor in spark.executors()}
    for name in (load.name, sink.name):
        assert asked.http.delete(f"/connectors/{name}").status_code == 204
