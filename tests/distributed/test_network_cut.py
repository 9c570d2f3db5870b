"""The cable between a worker and its broker is pulled under load: others go on, nothing is lost, nothing is twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, wait_running, worker_id
from tests.support.endless_load import EndlessLoad
from tests.support.kafka import KafkaBroker
from tests.support.namespaces import Namespace, why_not
from tests.support.probes import SETTINGS, wait_for_spark
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

RECOVERY_SECONDS = 240.0


@pytest.fixture(scope="module")
def cable() -> Iterator[Namespace]:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with Namespace() as namespace:
        yield namespace


@pytest.fixture(scope="module")
def cluster(cable: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers with exactly-once support: the first behind the cable, the second beside the broker."""
    folder = tmp_path_factory.mktemp("cable")
    with KafkaBroker(host=cable.outside) as broker:
        pair = Cluster(broker, folder, 2, {**SETTINGS, "exactly.once.source.support": "enabled"})
        remote, near = pair.workers
        remote.listen_on(cable.inside)
        remote.prepare = cable.enter
        near.listen_on(cable.outside)
        with pair:
            for worker in pair.workers:
                wait_for_spark(worker, folder)
            yield pair


def test_a_worker_cut_off_from_the_broker_loses_its_work_and_nothing_else(
    cluster: Cluster, cable: Namespace, tmp_path: Path
) -> None:
    remote, near = cluster.workers
    load = EndlessLoad(cluster, "through-the-cable", tmp_path)
    load.begin(near)
    wait_until(lambda: worker_id(remote) in _owners(near, load.name), "both workers have a share", RECOVERY_SECONDS)

    began = time.monotonic()
    cable.cut()
    try:
        before = load.written(near)
        wait_until(load.runs_without(remote, near), "the near one has it all", RECOVERY_SECONDS)
        wait_until(load.has_gone_on(near, before), "records flow again", RECOVERY_SECONDS)
        print(f"network cut: records of all tasks flowed again after {time.monotonic() - began:.1f} s")
    finally:
        cable.join()
    joined = time.monotonic()
    wait_until(lambda: worker_id(remote) in _owners(near, load.name), "it has a share again", RECOVERY_SECONDS)
    print(f"network cut: the worker had its share again {time.monotonic() - joined:.1f} s after the link was up")
    wait_running(remote, load.name, load.tasks, RECOVERY_SECONDS)
    wait_until(load.has_gone_on(near, load.written(near)), "records still flow", RECOVERY_SECONDS)
    wanted, found = load.finish(near)
    assert found == wanted


def _owners(asked: PenstockProcess, name: str) -> set[str]:
    status = asked.status(name)
    return {part["worker_id"] for part in [status["connector"], *status["tasks"]]}
