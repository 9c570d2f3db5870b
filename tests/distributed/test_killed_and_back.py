"""A worker that is killed and started again at once: the group does not wait for its session to end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, wait_running, worker_id
from tests.support.kafka import KafkaBroker
from tests.support.probes import SETTINGS, Probe
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

SESSION_SECONDS = 300.0
TASKS = 4


@pytest.fixture(scope="module")
def pair(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    patience = {"session.timeout.ms": str(int(1000 * SESSION_SECONDS)), "heartbeat.interval.ms": "1000"}
    with Cluster(broker, tmp_path_factory.mktemp("pair"), 2, {**SETTINGS, **patience}) as running:
        yield running


@pytest.mark.parametrize("who", ["follower", "leader"])
def test_it_has_its_work_again_long_before_its_session_ends(pair: Cluster, tmp_path: Path, who: str) -> None:
    victim = pair.leader() if who == "leader" else pair.follower()
    other = next(worker for worker in pair.workers if worker is not victim)
    source = Probe(other, tmp_path).create({"tasks.max": str(TASKS), "tasks.made": str(TASKS)})
    wait_running(other, source.name, TASKS)
    wait_until(lambda: worker_id(victim) in pair.owners(source.name).values(), f"the {who} has a share")
    starts = source.count("task.start")
    began = time.monotonic()
    victim.kill()
    victim.start()
    wait_until(lambda: source.count("task.start") > starts, "what it ran was started again", SESSION_SECONDS)
    wait_running(other, source.name, TASKS, SESSION_SECONDS)
    seconds = time.monotonic() - began
    print(f"the {who} was killed and had its work again after {seconds:.1f} s")
    assert seconds < SESSION_SECONDS / 2
    assert worker_id(victim) in pair.owners(source.name).values()
    source.request("DELETE")


def test_a_worker_that_has_left_leaves_no_name_behind(pair: Cluster) -> None:
    name = pair.folder / "worker-0" / "data" / "group-member.json"
    assert name.exists()
    assert pair.workers[0].stop() == 0
    assert not name.exists()
