"""A cluster that waits for lost workers and changes its session key all the time.

``scheduled.rebalance.max.delay.ms`` is so long here, and ``inter.worker.key.ttl.ms`` so short, that both are seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, wait_running, worker_id
from tests.support.kafka import KafkaBroker
from tests.support.kafka_topics import records_in
from tests.support.probes import SETTINGS, Probe, wait_for_spark
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

TASKS = 4
KEYS = 4


@pytest.fixture(scope="module")
def patient(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("patient")
    settings = {"scheduled.rebalance.max.delay.ms": "300000", "inter.worker.key.ttl.ms": "500"}
    with Cluster(broker, folder, 2, {**SETTINGS, **settings}) as running:
        for worker in running.workers:
            wait_for_spark(worker, folder)
        yield running


def session_keys(cluster: Cluster) -> set[str]:
    """Every key that the leader has made so far."""
    found = [record for record in records_in(cluster.broker, f"{cluster.group}-config") if record.key == b"session-key"]
    return {json.loads(record.value or b"")["key"] for record in found}


def test_workers_understand_each_other_whenever_the_session_key_changes(patient: Cluster, tmp_path: Path) -> None:
    before = session_keys(patient)
    asked = patient.follower()
    number = 0
    while len(session_keys(patient) - before) < KEYS:
        number += 1
        probe = Probe(asked, tmp_path).create_running(tasks=2)
        more = {**probe.config, "tasks.max": "3", "tasks.made": "3"}
        assert probe.request("PUT", "/config", more).status_code == 200
        wait_running(asked, probe.name, 3)
        assert probe.request("DELETE").status_code == 204
    assert number, "tasks were handed to the leader meanwhile"


def test_the_work_of_a_lost_worker_shows_that_nobody_runs_it_and_waits_for_it(patient: Cluster, tmp_path: Path) -> None:
    probe = Probe(patient.leader(), tmp_path).create_running(tasks=TASKS)
    lost, leader = patient.follower(), patient.leader()
    owners = patient.owners(probe.name)
    theirs = {part for part, owner in owners.items() if owner == worker_id(lost)}
    starts = probe.count("task.start")
    assert 0 < len(theirs) <= TASKS
    lost.kill()

    def unassigned() -> bool:
        status = leader.status(probe.name)
        states = {str(task["id"]): task["state"] for task in status["tasks"]}
        states["connector"] = status["connector"]["state"]
        assert states == {part: "UNASSIGNED" if part in theirs else "RUNNING" for part in owners}
        return True

    wait_until(unassigned, "what the lost worker ran is not said to run")
    lost.start()
    wait_running(leader, probe.name, TASKS)
    assert patient.owners(probe.name) == owners, "it has its own work back, and nothing else has moved"
    mine = len(theirs - {"connector"})
    assert probe.count("task.start") == starts + mine, "no other task was started again"
    assert probe.request("DELETE").status_code == 204
