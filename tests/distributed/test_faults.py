"""Workers die, freeze and lose their broker under load: connectors run again by themselves, nothing is lost."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, wait_running, worker_id
from tests.support.kafka_topics import values_in
from tests.support.probes import Probe
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

TASKS = 4
COUNT = 3000
WAITS = "for it to come back"
RECOVERY_SECONDS = 120.0
"""Generous: on a free machine it takes the session timeout (6 s here) and some seconds."""


@pytest.fixture
def load(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A source with four tasks that write numbers, running; removed afterwards. Its name is that of its topic, too."""
    for worker in cluster.workers:
        if not worker.running:
            worker.start()
    name = request.node.name.replace("[", "-").replace("]", "")
    config = {"connector.class": "ProbeSource", "topic": name, "count": str(COUNT)}
    cluster.any().create(name, {**config, "tasks.max": str(TASKS), "tasks.made": str(TASKS)})
    wait_running(cluster.any(), name, TASKS)
    wait_until(lambda: values_in(cluster.broker, name), "records flow", 120)
    yield name
    cluster.any().http.delete(f"/connectors/{name}")


def everything_arrived(cluster: Cluster, topic: str) -> Callable[[], bool]:
    wanted = {f"{task}:{number}" for task in range(TASKS) for number in range(COUNT)}
    return lambda: wanted <= set(values_in(cluster.broker, topic))


def moved_from(lost: PenstockProcess, asked: PenstockProcess, name: str) -> Callable[[], bool]:
    """Whether all of it runs on other workers, as one of them says."""

    def look() -> bool:
        status = asked.status(name)
        parts = [status["connector"], *status["tasks"]]
        elsewhere = all(part["worker_id"] != worker_id(lost) for part in parts)
        return elsewhere and len(parts) == TASKS + 1 and all(part["state"] == "RUNNING" for part in parts)

    return look


def busy_workers(cluster: Cluster) -> set[str]:
    """Whoever runs something, of whichever connector: a share is so many tasks, not those of a certain connector."""
    statuses = cluster.any().http.get("/connectors", params={"expand": "status"}).json().values()
    parts = [part for found in statuses for part in (found["status"]["connector"], *found["status"]["tasks"])]
    return {part["worker_id"] for part in parts if part["state"] == "RUNNING"}


@pytest.mark.parametrize("who", ["leader", "follower"])
def test_the_work_of_a_killed_worker_goes_on_elsewhere(cluster: Cluster, load: str, who: str) -> None:
    victim = cluster.leader() if who == "leader" else cluster.follower()
    asked = next(worker for worker in cluster.workers if worker is not victim)
    began = time.monotonic()
    victim.kill()
    wait_until(moved_from(victim, asked, load), f"{load} runs without the {who}", RECOVERY_SECONDS)
    print(f"recovered from the loss of a {who} in {time.monotonic() - began:.1f} s")
    wait_until(everything_arrived(cluster, load), "every record is there", 120)
    answer = cluster.any().http.put(f"/connectors/{load}/pause")
    assert answer.status_code == 202
    cluster.any().wait_state(load, "PAUSED", TASKS)


def test_a_request_right_after_the_death_of_the_leader_is_done_by_the_next(cluster: Cluster, tmp_path: Path) -> None:
    for worker in cluster.workers:
        if not worker.running:
            worker.start()
    leader, asked = cluster.leader(), cluster.follower()
    probe = Probe(asked, tmp_path)
    leader.kill()
    probe.create(initial_state="STOPPED")
    assert probe.request("DELETE").status_code == 204
    assert cluster.leader() is not leader


def test_a_worker_that_slept_past_its_session_does_not_write_any_more(cluster: Cluster, load: str) -> None:
    sleeper = cluster.follower()
    sleeper.signal(signal.SIGSTOP)
    try:
        wait_until(moved_from(sleeper, cluster.leader(), load), f"{load} runs without the sleeper", RECOVERY_SECONDS)
    finally:
        sleeper.signal(signal.SIGCONT)
    sleeper.wait_healthy()
    wait_until(everything_arrived(cluster, load), "every record is there", 120)
    offsets = {
        entry["partition"]["task"]: entry["offset"]["next"]
        for entry in cluster.any().http.get(f"/connectors/{load}/offsets").json()["offsets"]
    }
    assert offsets == dict.fromkeys(range(TASKS), COUNT)
    wait_running(cluster.any(), load, TASKS)


def test_a_worker_that_is_restarted_gets_work_again(cluster: Cluster, load: str) -> None:
    bounced, leader = cluster.follower(), cluster.leader()
    before = leader.output.read_text().count(WAITS)
    assert bounced.stop() == 0
    wait_until(lambda: leader.output.read_text().count(WAITS) > before, "its work waits for a moment")
    wait_until(moved_from(bounced, cluster.leader(), load), "the others have its work", RECOVERY_SECONDS)
    bounced.start()
    wait_until(lambda: worker_id(bounced) in busy_workers(cluster), "it has a share again")
    wait_until(everything_arrived(cluster, load), "every record is there", 120)
    wait_running(bounced, load, TASKS)


@pytest.mark.parametrize("hook", ["on_created", "on_deleted"])
def test_a_hook_whose_worker_dies_in_it_is_called_again_by_another(cluster: Cluster, tmp_path: Path, hook: str) -> None:
    for worker in cluster.workers:
        if not worker.running:
            worker.start()
    probe = Probe(cluster.follower(), tmp_path)
    probe.trouble.touch()
    probe.create({"kill": hook, "trouble.file": str(probe.trouble)})
    if hook == "on_deleted":
        wait_running(probe.worker, probe.name, 1)
        probe.request("DELETE")
    wait_until(lambda: any(not worker.running for worker in cluster.workers), f"a worker dies in {hook}")
    probe.heal()
    asked = cluster.any()
    if hook == "on_created":
        wait_running(asked, probe.name, 1)
        assert probe.count("start") == 1
        asked.http.delete(f"/connectors/{probe.name}")
    else:
        wait_until(lambda: not asked.http.get("/lifecycle/cleanups").json(), "nothing is left to clean up")
    assert probe.count(hook) == 2
    for worker in cluster.workers:
        if not worker.running:
            worker.kill()


def test_a_broker_that_comes_back_finds_everything_running_again(cluster: Cluster, load: str) -> None:
    cluster.broker.kill()
    wait_until(lambda: all(_unhealthy(worker) for worker in cluster.workers), "workers notice")
    cluster.broker.start()
    for worker in cluster.workers:
        worker.wait_healthy(120)
    wait_running(cluster.any(), load, TASKS, 120)
    wait_until(everything_arrived(cluster, load), "every record is there", 120)

    def shared() -> bool:
        """Whoever was the first to be back has had all of them."""
        owners = set(cluster.owners(load).values())
        assert owners <= {worker_id(worker) for worker in cluster.workers}
        return len(owners) > 1

    wait_until(shared, "workers share the tasks again", 120)
    assert cluster.follower().http.put(f"/connectors/{load}/stop").status_code == 204
    cluster.any().wait_state(load, "STOPPED", 0)


def _unhealthy(worker: PenstockProcess) -> bool:
    return worker.http.get("/health").status_code == 500
