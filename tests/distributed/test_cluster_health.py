"""Health, metrics and automatic restarts where the parts of a connector run on several workers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock.rest.metrics_catalog import SECTIONS
from tests.support.cluster import Cluster, worker_id
from tests.support.probes import Probe
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

SECONDS = 120.0
OF_CLUSTERS = [metric.name for section in SECTIONS if "cluster only" in section.title for metric in section.metrics]


@pytest.fixture
def probe(cluster: Cluster, tmp_path: Path) -> Probe:
    return Probe(cluster.any(), tmp_path)


def health(worker: PenstockProcess, name: str, query: str = "") -> dict[str, Any]:
    answer = worker.http.get(f"/connectors/{name}/health{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def moved(found: dict[str, Any]) -> bool:
    return len(found["tasks"]) == 3 and all(task["live"] and task["last_progress"] for task in found["tasks"])


def test_any_worker_tells_how_all_tasks_are(cluster: Cluster, probe: Probe) -> None:
    probe.create_running({"count": "10"}, tasks=3)
    for worker in cluster.workers:
        wait_until(lambda: moved(health(worker, probe.name)), "every task was asked after", SECONDS)  # noqa: B023
        assert health(worker, probe.name)["health"] == "healthy"
        listed = worker.http.get("/connectors", params={"expand": ["health", "info"]}).json()[probe.name]
        assert moved(listed["health"])
        assert listed["info"]["name"] == probe.name
    wait_until(lambda: _each_by_one(cluster, probe.name), "each task is live on one worker", SECONDS)
    probe.request("DELETE")


def test_any_worker_lists_all_of_them_with_what_they_run(cluster: Cluster, probe: Probe) -> None:
    probe.create_running({"count": "10"}, tasks=2)
    wanted = {worker_id(worker): worker is cluster.leader() for worker in cluster.workers}
    for worker in cluster.workers:
        wait_until(lambda: _listed(worker) == _all_of(worker), "all is given to somebody", SECONDS)  # noqa: B023
        found = worker.http.get("/workers").json()
        assert {one["worker_id"]: one["leader"] for one in found} == wanted
        assert all(one["version"] == penstock.__version__ and one["worker_id"] in one["url"] for one in found)
        own = f'kafka_connect_worker_task_count{{worker_id="{worker_id(worker)}"}}'
        assert own in worker.http.get("/metrics").text
    probe.request("DELETE")


def _listed(worker: PenstockProcess) -> list[int]:
    found = worker.http.get("/workers").json()
    return [sum(one[what] for one in found) for what in ("connectors", "tasks")]


def _each_by_one(cluster: Cluster, name: str) -> bool:
    """Without asking others, every task is known live by one worker only."""
    alone = [[task["live"] for task in health(worker, name, "?forward=false")["tasks"]] for worker in cluster.workers]
    return [sum(column) for column in zip(*alone, strict=True)] == [1, 1, 1]


def test_the_owner_restarts_what_failed_and_everybody_knows(cluster: Cluster, probe: Probe) -> None:
    probe.create_with_trouble(
        {
            "errors.restart.enable": "true",
            "errors.restart.attempts": "-1",
            "errors.restart.backoff.ms": "50",
            "errors.restart.backoff.max.ms": "200",
            "fail": "task.start",
            "trouble.tasks": "1",
        },
        tasks=3,
    )
    for worker in cluster.workers:
        wait_until(lambda: _restarts(worker, probe.name) >= 2, "the restarts are known", SECONDS)  # noqa: B023
        assert _restarts_in_status(worker, probe.name) >= 2
        wait_until(lambda: _told_by_all(cluster, worker, probe.name), "every worker's log", SECONDS)  # noqa: B023
    probe.heal()
    probe.wait("RUNNING", tasks=3)
    probe.request("DELETE")


def _told_by_all(cluster: Cluster, worker: PenstockProcess, name: str) -> bool:
    """Whether the lines of the failing task are told, and so are those of whoever runs the connector instance."""
    lines = worker.http.get(f"/connectors/{name}/logs?lines=500").json()["lines"]
    owners = cluster.owners(name)
    failing = any(line["task"] == 1 and "automatic restart" in line["message"] for line in lines)
    return failing and owners.get("1") in {line["worker_id"] for line in lines}


def _restarts_in_status(worker: PenstockProcess, name: str) -> int:
    status = worker.http.get(f"/connectors/{name}/status").json()
    return next((int(task["restarts"]) for task in status["tasks"] if task["id"] == 1), 0)


def _restarts(worker: PenstockProcess, name: str) -> int:
    return next((int(task["restarts"]) for task in health(worker, name)["tasks"] if task["id"] == 1), 0)


def test_every_worker_tells_its_rebalances_and_its_share(cluster: Cluster, probe: Probe) -> None:
    probe.create_running(tasks=4)
    for worker in cluster.workers:
        text = worker.http.get("/metrics").text
        for metric in OF_CLUSTERS:
            assert f"\n{metric}{{" in text, metric
        assert _told(text, "heartbeat_total") > 0
        assert _told(text, "last_heartbeat_seconds_ago") < SECONDS
        assert _told(text, "rebalance_total") <= _told(text, "sync_total") <= _told(text, "join_total")
        assert _told(text, "rebalance_latency_total") > 0
    wanted = _all_of(probe.worker)
    wait_until(lambda: [_assigned(cluster, what) for what in ("connectors", "tasks")] == wanted, "all is shared out")


def _told(text: str, metric: str) -> float:
    """Of the group's coordinator."""
    (found,) = re.findall(rf"^kafka_connect_coordinator_{metric}\{{.*\}} (.+)$", text, re.M)
    return float(found)


def _assigned(cluster: Cluster, what: str) -> int:
    """The sum over all workers."""
    sample = re.compile(rf"^kafka_connect_coordinator_assigned_{what}\{{.*\}} (\d+)$", re.M)
    return sum(int(number) for worker in cluster.workers for number in sample.findall(worker.http.get("/metrics").text))


def _all_of(worker: PenstockProcess) -> list[int]:
    """How many connectors and tasks there are."""
    found = worker.http.get("/connectors", params={"expand": "status"}).json()
    return [len(found), sum(len(one["status"]["tasks"]) for one in found.values())]
