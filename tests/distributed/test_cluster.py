"""Three workers as one: whoever is asked, requests are done, hooks run once, strangers are refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.client.conftest import Client
from tests.support.cluster import Cluster, wait_running, worker_id
from tests.support.kafka_topics import records_in
from tests.support.probes import Probe, message
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

MakeProbe = Callable[..., Probe]


@pytest.fixture
def probe(cluster: Cluster, tmp_path: Path) -> MakeProbe:
    """Makes probe connectors; requests on them go to a worker that does not lead."""

    def make(kind: str = "ProbeSource", worker: PenstockProcess | None = None) -> Probe:
        return Probe(worker or cluster.follower(), tmp_path, kind)

    return make


def newest(cluster: Cluster, kind: str) -> dict[str, Any]:
    """The newest value of each key of an internal topic."""
    found = records_in(cluster.broker, cluster.settings[f"{kind}.storage.topic"])
    return {(r.key or b"").decode(): None if r.value is None else json.loads(r.value) for r in found}


def left_of(cluster: Cluster, name: str) -> list[str]:
    """The keys of what the config topic still says of a connector that is gone, its hooks and its clean-up."""
    ours = ("hooks-", "lifecycle-", "cleanup-", "incarnation-", "connector-", "target-state-")
    found = [(key, value) for key, value in newest(cluster, "config").items() if value is not None]
    return [key for key, value in found if key.startswith(ours) and (name in key or value.get("connector") == name)]


def test_connectors_and_tasks_are_shared_evenly(cluster: Cluster, probe: MakeProbe) -> None:
    probes = [probe().create({"tasks.max": "3", "tasks.made": "3"}) for _ in range(3)]
    for each in probes:
        wait_running(each.worker, each.name, 3)

    def evenly() -> bool:
        owners = [owner for each in probes for part, owner in cluster.owners(each.name).items() if part != "connector"]
        return sorted(owners.count(worker_id(worker)) for worker in cluster.workers) == [3, 3, 3]

    wait_until(evenly, "each worker has three tasks")
    for each in probes:
        assert each.request("DELETE").status_code == 204


def test_each_request_may_go_to_another_worker(cluster: Cluster, probe: MakeProbe) -> None:
    door = cluster.each()
    name = probe(worker=next(door)).create({"tasks.max": "2", "tasks.made": "2", "count": "20"}).name
    wait_running(next(door), name, 2)
    changed = next(door).http.patch(f"/connectors/{name}/config", json={"count": "30"})
    assert changed.status_code == 200, changed.text
    wait_until(lambda: next(door).http.get(f"/connectors/{name}/config").json()["count"] == "30", "all know it")
    for verb, state, tasks in (("pause", "PAUSED", 2), ("stop", "STOPPED", 0), ("resume", "RUNNING", 2)):
        assert next(door).http.put(f"/connectors/{name}/{verb}").status_code in (202, 204)
        next(door).wait_state(name, state, tasks)
    wait_until(lambda: len(next(door).http.get(f"/connectors/{name}/offsets").json()["offsets"]) == 2, "it flows")
    assert next(door).http.put(f"/connectors/{name}/stop").status_code == 204
    for worker in cluster.workers:
        worker.wait_state(name, "STOPPED", 0)
    reset = next(door).http.delete(f"/connectors/{name}/offsets")
    assert reset.status_code == 200, reset.text
    wait_until(lambda: not next(door).http.get(f"/connectors/{name}/offsets").json()["offsets"], "forgotten")
    assert next(door).http.delete(f"/connectors/{name}").status_code == 204
    for worker in cluster.workers:
        assert worker.http.get(f"/connectors/{name}").status_code == 404
        wait_until(lambda: worker.http.get(f"/connectors/{name}/status").status_code == 404, "no status")  # noqa: B023


def test_waiting_for_a_changed_connector_is_waiting_for_its_new_tasks_everywhere(
    probe: MakeProbe, tmp_path: Path
) -> None:
    asked = probe().create_running({"slow": "task.start", "tasks.max": "4"}, tasks=3)
    Client(tmp_path, asked.worker.url).ok("patch", asked.name, "--set", "tasks.made=4", "--wait")
    assert asked.states() == ["RUNNING"] * 5
    assert asked.count("task.start") >= 3 + 4
    asked.request("DELETE")


def test_a_creation_is_answered_in_the_name_of_the_worker_that_was_asked(cluster: Cluster, probe: MakeProbe) -> None:
    asked = probe()
    answer = asked.worker.http.post("/connectors", json={"name": asked.name, "config": asked.config})
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"{asked.worker.url}/connectors/{asked.name}"
    again = asked.worker.http.post("/connectors", json={"name": asked.name, "config": asked.config})
    assert message(again, 409) == f"Connector {asked.name} already exists"
    asked.request("DELETE")


def test_a_request_that_may_not_be_passed_on_is_a_conflict(probe: MakeProbe) -> None:
    asked = probe()
    answer = asked.worker.http.delete(f"/connectors/{asked.name}", params={"forward": "false"})
    assert message(answer, 409) == (
        "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
    )


@pytest.mark.parametrize("query", ["", "?includeTasks=true", "?includeTasks=true&onlyFailed=false"])
def test_restarts_reach_whoever_runs_it(cluster: Cluster, probe: MakeProbe, query: str) -> None:
    asked = probe().create_running(tasks=3)
    before = asked.counts()
    for number, worker in enumerate(cluster.workers, start=1):
        answer = worker.http.post(f"/connectors/{asked.name}/restart{query}")
        assert answer.status_code == (202 if query else 204), answer.text
        starts = (before["start"] + number, before["task.start"] + (3 * number if query else 0))
        wait_until(lambda: (asked.count("start"), asked.count("task.start")) == starts, f"{starts} starts")  # noqa: B023
        wait_running(worker, asked.name, 3)
    asked.request("DELETE")


def test_hooks_run_once_in_the_cluster_and_clean_ups_too(cluster: Cluster, probe: MakeProbe) -> None:
    asked = probe().create_running(tasks=3)
    asked.request("PUT", "/config", {**asked.config, "count": "5"})
    wait_until(lambda: asked.count("on_updated") == 1, "on_updated was called")
    wait_running(asked.worker, asked.name, 3)
    assert asked.request("DELETE").status_code == 204
    wait_until(lambda: asked.count("on_deleted") == 1, "on_deleted was called")
    wait_until(lambda: not asked.worker.http.get("/lifecycle/cleanups").json(), "nothing is left to clean up")
    assert (asked.count("on_created"), asked.count("on_updated"), asked.count("on_deleted")) == (1, 1, 1)
    wait_until(lambda: not left_of(cluster, asked.name), "the config topic has nothing left of it")


def test_a_log_level_can_be_set_everywhere(cluster: Cluster) -> None:
    answer = cluster.any().http.put("/admin/loggers/org.example", params={"scope": "cluster"}, json={"level": "TRACE"})
    assert answer.status_code == 204, answer.text
    for worker in cluster.workers:
        wait_until(
            lambda: worker.http.get("/admin/loggers/org.example").json().get("level") == "TRACE",  # noqa: B023
            "the level is set",
            30,
        )


def test_internal_requests_need_the_session_key(cluster: Cluster, probe: MakeProbe) -> None:
    asked = probe().create_running()
    wait_until(lambda: "session-key" in newest(cluster, "config"), "the leader has made a key")
    body = json.dumps([{"task.class": "x"}]).encode()

    def post(**headers: str) -> httpx2.Response:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        path = f"/connectors/{asked.name}/tasks"
        return asked.worker.http.post(path, content=body, headers={"Content-Type": "application/json", **given})

    wrong = base64.b64encode(bytes(32)).decode()
    assert message(post(), 400) == "Internal request missing required signature"
    refused = post(X_Connect_Authorization=wrong, X_Connect_Request_Signature_Algorithm="HmacSHA256")
    assert message(refused, 403) == "Internal request contained invalid signature."
    strange = post(X_Connect_Authorization=wrong, X_Connect_Request_Signature_Algorithm="HmacMD5")
    assert "does not support the 'HmacMD5' key signing algorithm" in message(strange, 400)
    key = base64.b64decode(newest(cluster, "config")["session-key"]["key"])
    right = base64.b64encode(hmac.new(key, body, hashlib.sha256).digest()).decode()
    asked.ask("stop")
    asked.wait("STOPPED", tasks=0)
    signed = post(X_Connect_Authorization=right, X_Connect_Request_Signature_Algorithm="HmacSHA256")
    assert message(signed, 400) == (f"Cannot submit non-empty set of task configs for stopped connector {asked.name}")
    asked.request("DELETE")


def test_the_internal_topics_hold_kafka_connects_records(cluster: Cluster, probe: MakeProbe) -> None:
    asked = probe().create({"tasks.max": "1", "count": "10"}, initial_state="PAUSED")
    asked.wait("PAUSED", tasks=0)
    asked.ask("resume")
    asked.wait("RUNNING")
    wait_until(asked.offsets, "it flows")
    asked.stop()
    configs, statuses, offsets = (newest(cluster, kind) for kind in ("config", "status", "offset"))
    assert configs[f"connector-{asked.name}"]["properties"]["connector.class"] == "ProbeSource"
    assert configs[f"commit-{asked.name}"] == {"tasks": 0}
    assert configs[f"target-state-{asked.name}"] == {"state": "PAUSED", "state.v2": "STOPPED"}
    assert configs[f"task-{asked.name}-0"]["properties"]["count"] == "10"
    status = statuses[f"status-connector-{asked.name}"]
    assert list(status) == ["state", "trace", "worker_id", "generation", "version"]
    assert status["generation"] > 0
    assert statuses[f"status-task-{asked.name}-0"] is None
    assert offsets[f'["{asked.name}",{{"task":0}}]'] == {"next": 10}
    asked.request("DELETE")
    wait_until(lambda: newest(cluster, "config")[f"connector-{asked.name}"] is None, "it is gone")
    assert newest(cluster, "config")[f"target-state-{asked.name}"] is None


def test_a_pipeline_file_is_applied_through_any_worker(cluster: Cluster, probe: MakeProbe) -> None:
    asked = probe()
    declared = {"id": asked.name, "connectors": [{"name": asked.name, "config": asked.config}]}
    plan = asked.worker.http.post("/pipelines/plan", json={"pipelines": [declared]}).json()
    answer = asked.worker.http.post("/pipelines/apply", json={"pipelines": [declared], "plan": plan["hash"]})
    assert answer.status_code == 200, answer.text
    for worker in cluster.workers:
        wait_running(worker, asked.name, 1)
    asked.request("DELETE")


def test_kafkas_own_tools_see_a_connect_group(cluster: Cluster) -> None:
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": cluster.broker.bootstrap})

    def seen() -> tuple[str, str, int]:
        (group,) = admin.list_groups(cluster.group, timeout=120)
        return group.protocol_type, group.protocol, len(group.members)

    wait_until(lambda: seen() == ("connect", "sessioned", 3), "the group has come to rest")
