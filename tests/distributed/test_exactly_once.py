"""Workers of a cluster die and freeze under load with exactly-once support: every record is there once."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.cluster import Cluster, wait_running, worker_id
from tests.support.endless_load import EndlessLoad
from tests.support.kafka import KafkaBroker
from tests.support.kafka_topics import records_in, values_in
from tests.support.probes import SETTINGS, Probe, wait_for_spark
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

RECOVERY_SECONDS = 240.0


@pytest.fixture(scope="module")
def once(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers that write sources' records and offsets in transactions."""
    folder = tmp_path_factory.mktemp("once")
    with Cluster(broker, folder, 2, {**SETTINGS, "exactly.once.source.support": "enabled"}) as running:
        for worker in running.workers:
            wait_for_spark(worker, folder)
        yield running


@pytest.fixture
def load(once: Cluster, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EndlessLoad]:
    """A source whose tasks write numbers, one on each worker."""
    for worker in once.workers:
        if not worker.running:
            worker.start()
    running = EndlessLoad(once, request.node.name.replace("[", "-").replace("]", ""), tmp_path)
    running.begin(once.any())
    yield running
    once.any().http.delete(f"/connectors/{running.name}")


def _owner(cluster: Cluster, name: str) -> PenstockProcess:
    """The worker that runs the first task."""
    owner = cluster.owners(name)["0"]
    return next(worker for worker in cluster.workers if worker_id(worker) == owner)


def _other(cluster: Cluster, worker: PenstockProcess) -> PenstockProcess:
    return next(other for other in cluster.workers if other is not worker)


def test_nothing_is_lost_or_doubled_when_the_worker_of_a_task_is_killed(once: Cluster, load: EndlessLoad) -> None:
    victim = _owner(once, load.name)
    survivor = _other(once, victim)
    began = time.monotonic()
    victim.kill()
    before = load.written(survivor)
    wait_until(load.runs_without(victim, survivor), "the other worker has it all", RECOVERY_SECONDS)
    wait_until(load.has_gone_on(survivor, before), "records flow again", RECOVERY_SECONDS)
    print(f"exactly once: records flowed again {time.monotonic() - began:.1f} s after kill -9")
    wanted, found = load.finish(survivor)
    assert found == wanted


def test_workers_that_start_do_not_wait_for_a_transaction_that_a_dead_task_left_open(
    once: Cluster, load: EndlessLoad
) -> None:
    """Kafka would end it after ten minutes. A task that dies after it has written its offsets leaves such a one."""
    before = load.written(once.any())
    for worker in once.workers:
        worker.kill()
    settings = {"bootstrap.servers": once.broker.bootstrap, "transaction.timeout.ms": 600_000}
    left = Producer({**settings, "transactional.id": f"{once.group}-{load.name}-0"})
    left.init_transactions(RECOVERY_SECONDS)
    left.begin_transaction()
    left.produce(f"{once.group}-offset", key=json.dumps([load.name, {"task": 0}]), value=json.dumps({"next": 0}))
    assert left.flush(RECOVERY_SECONDS) == 0
    began = time.monotonic()
    for worker in once.workers:
        worker.start()
    asked = once.any()
    wait_running(asked, load.name, load.tasks, RECOVERY_SECONDS)
    wait_until(load.has_gone_on(asked, before), "records flow again", RECOVERY_SECONDS)
    print(f"exactly once: records flowed again {time.monotonic() - began:.1f} s after the start")
    wanted, found = load.finish(asked)
    assert found == wanted


@pytest.mark.parametrize("whole", [True, False], ids=["with_its_executors", "alone"])
def test_a_worker_that_slept_past_its_session_writes_nothing_when_it_wakes(
    once: Cluster, load: EndlessLoad, whole: bool
) -> None:
    sleeper = _owner(once, load.name)
    survivor = _other(once, sleeper)
    send: Callable[[int, int], None] = os.killpg if whole else os.kill
    began = time.monotonic()
    send(sleeper.pid, signal.SIGSTOP)
    try:
        before = load.written(survivor)
        wait_until(load.runs_without(sleeper, survivor), "the other worker has it all", RECOVERY_SECONDS)
        wait_until(load.has_gone_on(survivor, before), "records flow again", RECOVERY_SECONDS)
        print(f"exactly once: records flowed again {time.monotonic() - began:.1f} s after a worker froze")
    finally:
        send(sleeper.pid, signal.SIGCONT)
    sleeper.wait_healthy()
    wait_until(lambda: worker_id(sleeper) in once.owners(load.name).values(), "it has a share again", RECOVERY_SECONDS)
    wait_until(load.has_gone_on(survivor, load.written(survivor)), "records still flow", RECOVERY_SECONDS)
    wanted, found = load.finish(survivor)
    assert found == wanted
    wait_running(sleeper, load.name, load.tasks)


def test_records_and_offsets_are_in_one_transaction_of_another_kafka_cluster(
    once: Cluster, other_broker: KafkaBroker, tmp_path: Path
) -> None:
    for worker in once.workers:
        if not worker.running:
            worker.start()
    source = Probe(once.any(), tmp_path)
    own = {"offsets.storage.topic": f"{source.name}-own-offsets", "count": "200"}
    there = {f"{client}.override.bootstrap.servers": other_broker.bootstrap for client in ("producer", "admin")}
    source.create_running({**own, **there})
    wanted = Counter(f"0:{number}" for number in range(200))
    wait_until(lambda: not wanted - Counter(values_in(other_broker, source.topic)), "every record is there")
    assert Counter(values_in(other_broker, source.topic)) == wanted
    assert values_in(once.broker, source.topic) == []
    assert json.loads(records_in(other_broker, own["offsets.storage.topic"])[-1].value or b"") == {"next": 200}
    assert source.offsets() == [{"partition": {"task": 0}, "offset": {"next": 200}}]
    assert source.request("DELETE").status_code == 204
