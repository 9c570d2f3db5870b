"""Two requests in a row for one connector, each asked of another worker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster import Cluster
from tests.support.kafka_topics import records_in
from tests.support.probes import Probe
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

ROUNDS = 30


def written(cluster: Cluster, name: str) -> list[str]:
    """The target states that were written for a connector, one after the other."""
    records = records_in(cluster.broker, cluster.settings["config.storage.topic"])
    values: list[Any] = [r.value and json.loads(r.value) for r in records if r.key == f"target-state-{name}".encode()]
    return [value["state.v2"] for value in values if value]


def put(worker: PenstockProcess, probe: Probe, verb: str) -> int:
    return worker.http.put(f"/connectors/{probe.name}/{verb}").status_code


def test_a_pause_right_after_a_stop_elsewhere_is_done(cluster: Cluster, tmp_path: Path) -> None:
    leader, other = cluster.leader(), cluster.follower()
    probe = Probe(leader, tmp_path).create(initial_state="PAUSED")
    for _ in range(ROUNDS):
        assert (put(leader, probe, "stop"), put(other, probe, "pause")) == (204, 202)
    assert written(cluster, probe.name) == ["PAUSED", *["STOPPED", "PAUSED"] * ROUNDS]
    assert probe.request("DELETE").status_code == 204


def test_a_pause_right_after_a_deletion_elsewhere_is_not_found(cluster: Cluster, tmp_path: Path) -> None:
    leader, other = cluster.leader(), cluster.follower()
    probe = Probe(leader, tmp_path)
    for _ in range(ROUNDS):
        probe.create(initial_state="STOPPED")
        assert (probe.request("DELETE").status_code, put(other, probe, "pause")) == (204, 404)
    assert written(cluster, probe.name) == ["STOPPED"] * ROUNDS
    probe.create_running()
    assert probe.request("DELETE").status_code == 204
