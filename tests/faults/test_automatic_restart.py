"""What fails is started again by itself where its connector wants it, and nowhere else; health tells of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.probes import SETTINGS, Probe, wait_for_spark
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = pytest.mark.integration

SECONDS = 120.0
QUICK = {
    "errors.restart.enable": "true",
    "errors.restart.attempts": "-1",
    "errors.restart.backoff.ms": "20",
    "errors.restart.backoff.max.ms": "100",
}
LATE = {
    "errors.restart.enable": "true",
    "errors.restart.backoff.ms": "3600000",
    "errors.restart.backoff.max.ms": "3600000",
}


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    folder = tmp_path_factory.mktemp("restarting")
    settings = {**SETTINGS, "health.stalled.after.ms": "300"}
    with PenstockProcess(folder, settings, files=[Path("--json-logs")]) as process:
        wait_for_spark(process, folder)
        yield process


@pytest.fixture
def probe(worker: PenstockProcess, tmp_path: Path) -> Probe:
    return Probe(worker, tmp_path)


def health(probe: Probe) -> dict[str, Any]:
    answer = probe.request("GET", "/health")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_task_that_fails_some_times_and_then_works_is_brought_back(probe: Probe) -> None:
    probe.create_with_trouble({**QUICK, "fail": "task.start", "count": "20"})
    wait_until(lambda: probe.count("task.start") >= 3, "it was tried several times", SECONDS)
    probe.heal()
    probe.wait("RUNNING")
    wait_until(lambda: probe.offsets() and probe.offsets()[0]["offset"] == {"next": 20}, "records flow", SECONDS)
    wait_until(lambda: health(probe)["health"] == "healthy", "it is well again", SECONDS)
    found = health(probe)
    assert found["restarts"] == found["tasks"][0]["restarts"] == probe.count("task.start") - 1
    assert found["tasks"][0]["next_restart"] is None
    assert found["last_progress"] is not None


def test_attempts_come_to_an_end_and_a_user_begins_them_anew(probe: Probe) -> None:
    probe.create_with_trouble({**QUICK, "fail": "task.start", "errors.restart.attempts": "2"})
    reason = "(given up after 2 automatic restarts)"
    wait_until(lambda: str(health(probe)["reason"]).endswith(reason), "it was given up", SECONDS)
    assert probe.count("task.start") == 3
    assert health(probe)["health"] == "failed"
    status = probe.worker.status(probe.name)["tasks"][0]
    assert (status["state"], status["restarts"], "next_restart" in status) == ("FAILED", 2, False)
    probe.heal()
    assert probe.request("POST", "/tasks/0/restart").status_code == 204
    probe.wait("RUNNING")
    assert health(probe)["restarts"] == 0


def test_a_status_tells_of_the_next_restart_wherever_it_is_asked_for(probe: Probe) -> None:
    probe.create_with_trouble({**LATE, "fail": "task.start"})
    wait_until(lambda: "next_restart" in probe.worker.status(probe.name)["tasks"][0], "a restart is planned", SECONDS)
    status = probe.worker.status(probe.name)
    assert (status["connector"]["restarts"], "next_restart" in status["connector"]) == (0, False)
    assert probe.request("GET", "/tasks/0/status").json() == status["tasks"][0]
    listed = probe.worker.http.get("/connectors", params={"expand": "status"}).json()
    assert listed[probe.name]["status"] == status
    probe.request("PUT", "/stop")


def test_a_status_without_automatic_restarts_has_the_keys_of_kafka_connect(probe: Probe) -> None:
    probe.create_with_trouble({"fail": "task.start"})
    status = probe.wait_states("RUNNING", "FAILED")
    assert set(status["tasks"][0]) == {"id", "state", "worker_id", "version", "trace"}
    assert set(status["connector"]) == {"state", "worker_id", "version"}


def test_the_log_of_a_connector_can_be_asked_for_and_is_json_in_the_file(probe: Probe) -> None:
    probe.create_with_trouble({**QUICK, "fail": "task.start", "errors.restart.attempts": "1"})
    given_up = f"task {probe.name}-0 failed again after 1 automatic restarts and stays FAILED"

    def logged() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = probe.request("GET", "/logs?lines=50").json()["lines"]
        return [line for line in found if line["message"] == given_up]

    wait_until(logged, "the log tells it", SECONDS)
    (line,) = logged()
    worker_id = probe.worker.status(probe.name)["connector"]["worker_id"]
    assert (line["level"], line["task"], line["worker_id"]) == ("ERROR", 0, worker_id)
    texts = [line["message"] for line in probe.request("GET", "/logs").json()["lines"]]
    assert any("task.start was told to fail" in text for text in texts)
    assert len(probe.request("GET", "/logs?lines=1").json()["lines"]) == 1
    refused = probe.request("GET", "/logs?lines=many")
    assert (refused.status_code, "from 1 to 500, not 'many'" in refused.text) == (400, True)
    assert probe.worker.http.get("/connectors/nobody/logs").status_code == 404
    written = [json.loads(text) for text in probe.worker.output.read_text().splitlines() if text.startswith("{")]
    (same,) = [entry for entry in written if entry["message"] == given_up]
    assert (same["connector"], same["task"], same["worker"]) == (probe.name, 0, worker_id)


def test_a_connector_that_fails_to_start_is_started_again(probe: Probe) -> None:
    probe.create_with_trouble({**QUICK, "fail": "start"})
    wait_until(lambda: probe.count("start") >= 3, "it was tried several times", SECONDS)
    probe.heal()
    probe.wait("RUNNING")
    assert health(probe)["connector"]["restarts"] == probe.count("start") - 1


def test_without_the_setting_what_failed_stays_failed_until_it_is_patched(probe: Probe) -> None:
    probe.create_with_trouble({"fail": "start"})
    probe.wait("FAILED", tasks=0)
    found = health(probe)
    assert (found["health"], found["restarts"], found["connector"]["next_restart"]) == ("failed", 0, None)
    assert "start was told to fail" in found["reason"]
    assert probe.count("start") == 1
    assert probe.request("PATCH", "/config", QUICK).status_code == 200
    wait_until(lambda: probe.count("start") >= 4, "it is restarted now", SECONDS)


def test_a_stop_ends_the_attempts(probe: Probe) -> None:
    probe.create_with_trouble({**QUICK, "fail": "task.start"})
    wait_until(lambda: probe.count("task.start") >= 2, "it was tried again", SECONDS)
    probe.stop()
    tried = probe.count("task.start")
    other = Probe(probe.worker, probe.journal.parent).create({"count": "10"})
    wait_until(other.offsets, "others go on", SECONDS)
    assert (probe.count("task.start"), health(probe)["health"]) == (tried, "healthy")


def test_a_batch_that_does_not_end_is_stalled(probe: Probe) -> None:
    probe.create_with_trouble({"hang.until.healed": "task.read", "count": "20"})
    wait_until(lambda: health(probe)["health"] == "stalled", "nothing moves", SECONDS)
    assert health(probe)["reason"].startswith("Task 0: A batch has been in progress for ")
    listed = probe.worker.http.get("/connectors?expand=status&expand=health").json()[probe.name]
    assert (listed["health"]["health"], listed["status"]["connector"]["state"]) == ("stalled", "RUNNING")
    probe.heal()
    wait_until(lambda: health(probe)["health"] == "healthy", "it moves again", SECONDS)


def test_a_killed_worker_starts_it_and_counts_from_the_beginning(probe: Probe) -> None:
    probe.create_with_trouble({**LATE, "fail": "task.start"})
    wait_until(lambda: health(probe)["tasks"] and health(probe)["tasks"][0]["next_restart"], "one is due", SECONDS)
    assert "(automatic restart 1 of 10 is to come)" in health(probe)["reason"]
    probe.heal()
    probe.worker.restart()
    probe.wait("RUNNING")
    assert health(probe)["restarts"] == 0


def test_unknown_connectors_have_no_health(worker: PenstockProcess) -> None:
    answer = worker.http.get("/connectors/nobody/health")
    assert (answer.status_code, answer.json()["message"]) == (404, "Connector nobody not found")
