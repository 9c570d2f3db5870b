"""KIP-745: one request that restarts a connector together with its tasks, or only what has failed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.seeds.conftest import MakeProbe, standalone_only
from tests.support.probes import SETTINGS, Probe, message, states_in
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TASKS = 2
FLAGS = [(False, False), (False, True), (True, False), (True, True)]


def restart(source: Probe, only_failed: bool, include_tasks: bool) -> Any:
    """Restart with both flags given; the body of a 202, ``None`` for a 204."""
    path = f"/restart?includeTasks={str(include_tasks).lower()}&onlyFailed={str(only_failed).lower()}"
    answer = source.request("POST", path)
    if not only_failed and not include_tasks:
        assert (answer.status_code, answer.content) == (204, b"")
        return None
    assert answer.status_code == 202, answer.text
    return answer.json()


def wait_counts(source: Probe, start: int, task_start: int) -> None:
    """Wait until connector and tasks were started so often altogether, and see that it does not go on."""
    wanted = (start, task_start)
    wait_until(lambda: (source.count("start"), source.count("task.start")) == wanted, f"{source.name}: {wanted} starts")
    settle(source)
    assert (source.count("start"), source.count("task.start")) == wanted


def settle(source: Probe) -> None:
    """A request that this connector answers only after all that was asked before is done."""
    source.ask("pause")
    wait_until(lambda: "PAUSED" in source.states() or set(source.states()) == {"FAILED"}, "it has paused")


# -- 404


@pytest.mark.parametrize("query", ["", *(f"?onlyFailed={o}&includeTasks={t}".lower() for o, t in FLAGS)])
def test_restart_of_an_unknown_connector_is_not_found(probe: MakeProbe, query: str) -> None:
    unknown = probe()
    assert message(unknown.request("POST", f"/restart{query}"), 404) == f"Unknown connector: {unknown.name}"


# -- everything runs


def test_without_flags_a_running_connector_restarts_alone(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=TASKS)
    assert source.request("POST", "/restart").status_code == 204
    source.wait("RUNNING", tasks=TASKS)
    wait_counts(source, start=2, task_start=TASKS)


def test_with_both_flags_false_a_running_connector_restarts_alone(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=TASKS)
    restart(source, only_failed=False, include_tasks=False)
    source.wait("RUNNING", tasks=TASKS)
    wait_counts(source, start=2, task_start=TASKS)


def test_with_tasks_included_a_running_connector_and_each_task_restart_once(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=TASKS)
    assert states_in(restart(source, only_failed=False, include_tasks=True)) == ["RESTARTING"] * (1 + TASKS)
    wait_until(lambda: source.count("task.start") == 2 * TASKS, "tasks were started again")
    source.wait("RUNNING", tasks=TASKS)
    source.wait_counts({"start": 2, "stop": 1, "task.start": 2 * TASKS, "task.stop": TASKS})
    wait_counts(source, start=2, task_start=2 * TASKS)


@pytest.mark.parametrize("include_tasks", [False, True])
def test_only_failed_does_nothing_where_all_runs(probe: MakeProbe, include_tasks: bool) -> None:
    source = probe().create_running(tasks=TASKS)
    assert states_in(restart(source, only_failed=True, include_tasks=include_tasks)) == ["RUNNING"] * (1 + TASKS)
    assert source.states() == ["RUNNING"] * (1 + TASKS)
    source.wait_counts({"start": 1, "stop": 0, "task.start": TASKS, "task.stop": 0})
    wait_counts(source, start=1, task_start=TASKS)


# -- the connector has failed


@pytest.mark.parametrize(("only_failed", "include_tasks"), FLAGS)
def test_a_failed_connector_restarts_whatever_the_flags(
    probe: MakeProbe, only_failed: bool, include_tasks: bool
) -> None:
    source = probe().create_with_trouble({"fail": "start"}, tasks=TASKS)
    source.wait_states("FAILED")
    source.heal()
    body = restart(source, only_failed, include_tasks)
    assert body is None or states_in(body) == ["RESTARTING"]
    source.wait("RUNNING", tasks=TASKS)
    wait_counts(source, start=2, task_start=TASKS)


def test_a_failed_connector_whose_tasks_run_restarts_alone_when_only_failed_is_wanted(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=TASKS)
    source.trouble.touch()
    fails = {**source.config, "name": source.name, "fail": "start", "trouble.file": str(source.trouble)}
    assert source.request("PUT", "/config", fails).status_code == 200
    source.wait_states("FAILED", *["RUNNING"] * TASKS)
    wait_until(lambda: source.count("task.start") - source.count("task.stop") == TASKS, "every task is started")
    before = source.count("task.start")
    source.heal()
    assert states_in(restart(source, only_failed=True, include_tasks=True)) == ["RESTARTING", *["RUNNING"] * TASKS]
    source.wait("RUNNING", tasks=TASKS)
    assert source.count("start") == 3
    reached = "the changed configuration reaches the tasks, once"
    wait_until(lambda: source.count("task.start") == before + TASKS, reached)


# -- tasks have failed


@pytest.mark.parametrize(("only_failed", "include_tasks"), FLAGS)
def test_failed_tasks_restart_only_when_they_are_included(
    probe: MakeProbe, only_failed: bool, include_tasks: bool
) -> None:
    source = probe().create_with_trouble({"fail": "task.start"}, tasks=TASKS)
    source.wait_states("RUNNING", *["FAILED"] * TASKS)
    source.heal()
    body = restart(source, only_failed, include_tasks)
    connector = "RUNNING" if only_failed else "RESTARTING"
    tasks = "RESTARTING" if include_tasks else "FAILED"
    assert body is None or states_in(body) == [connector, *[tasks] * TASKS]
    source.wait_states("RUNNING", *["RUNNING" if include_tasks else "FAILED"] * TASKS)
    wait_counts(source, start=1 if only_failed else 2, task_start=2 * TASKS if include_tasks else TASKS)


def test_of_several_tasks_only_the_failed_one_restarts(probe: MakeProbe) -> None:
    source = probe().create_with_trouble({"fail": "task.plan", "trouble.tasks": "1"}, tasks=4)
    source.wait_states("RUNNING", "RUNNING", "FAILED", "RUNNING", "RUNNING")
    source.heal()
    body = restart(source, only_failed=True, include_tasks=True)
    assert states_in(body) == ["RUNNING", "RUNNING", "RESTARTING", "RUNNING", "RUNNING"]
    source.wait("RUNNING", tasks=4)
    wait_until(lambda: source.count("task.start") == 5, "one task was started again")
    assert source.calls("task.start")[-1]["task"] == "1"
    source.wait_counts({"start": 1, "stop": 0, "task.start": 5, "task.stop": 1})


# -- the answer


def test_the_body_of_202_is_the_status_with_restarting_and_without_traces(probe: MakeProbe) -> None:
    source = probe().create_with_trouble({"fail": "task.start", "trouble.tasks": "0"}, tasks=TASKS)
    status = source.wait_states("RUNNING", "FAILED", "RUNNING")
    assert "trace" in status["tasks"][0]
    body = restart(source, only_failed=True, include_tasks=True)
    assert body["name"] == source.name
    assert body["type"] == "source"
    assert body["connector"] == status["connector"]
    assert body["tasks"][1] == status["tasks"][1]
    del status["tasks"][0]["trace"]
    assert body["tasks"][0] == {**status["tasks"][0], "state": "RESTARTING"}


def test_the_status_shows_restarting_from_the_answer_on(probe: MakeProbe) -> None:
    source = probe().create_running({"slow": "stop"})
    restart(source, only_failed=False, include_tasks=True)
    seen = source.states()
    source.wait("RUNNING")
    assert seen[0] == "RESTARTING"


def test_202_comes_before_a_slow_connector_is_restarted(probe: MakeProbe) -> None:
    source = probe().create_running({"slow": "stop"})
    restart(source, only_failed=False, include_tasks=True)
    assert source.count("start") == 1
    wait_until(lambda: source.count("start") == 2, "the connector was restarted")
    source.wait("RUNNING")


@pytest.mark.parametrize("value", ["TRUE", "True", "true"])
def test_flags_are_read_without_regard_to_case(probe: MakeProbe, value: str) -> None:
    source = probe().create_running()
    assert source.request("POST", f"/restart?includeTasks={value}").status_code == 202


def test_a_paused_connector_restarts_with_its_tasks_and_stays_paused(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=TASKS)
    source.ask("pause")
    source.wait("PAUSED", tasks=TASKS)
    assert states_in(restart(source, only_failed=False, include_tasks=True)) == ["RESTARTING"] * (1 + TASKS)
    wait_until(lambda: source.count("task.stop") == TASKS, "the tasks were stopped")
    source.wait("PAUSED", tasks=TASKS)
    source.wait_counts({"start": 1, "stop": 1, "task.start": TASKS, "task.stop": TASKS})


def test_a_stopped_connector_stays_stopped(probe: MakeProbe) -> None:
    source = probe().create_running()
    source.stop()
    assert states_in(restart(source, only_failed=False, include_tasks=True)) == ["RESTARTING"]
    source.wait("STOPPED", tasks=0)
    assert source.count("start") == 1


def test_a_failed_restart_shows_in_the_status(probe: MakeProbe) -> None:
    source = probe().create_with_trouble({"fail": "task.start"})
    source.wait_states("RUNNING", "FAILED")
    restart(source, only_failed=True, include_tasks=True)
    wait_until(lambda: source.count("task.start") == 2, "the task was tried again")
    assert "task.start was told to fail" in source.wait_states("RUNNING", "FAILED")["tasks"][0]["trace"]


@standalone_only("Kafka may keep a batch twice that a restart has cut; tests/distributed/test_exactly_once.py counts")
def test_restarting_again_and_again_loses_no_record_and_repeats_none(probe: MakeProbe) -> None:
    source = probe().create_running({"count": "300"})
    sink = probe("ProbeSink", source.topic).create_running()
    for _ in range(5):
        restart(source, only_failed=False, include_tasks=True)
        source.wait("RUNNING")
    values = [value for _, _, value in sink.wait_out(300)]
    assert values == [f"0:{number}" for number in range(300)]


# -- the request is durable


@standalone_only("its only worker is killed; tests/distributed/test_faults.py kills workers of a cluster")
def test_the_request_is_recorded_before_it_is_answered_and_done_after_kill_9(tmp_path: Path) -> None:
    with PenstockProcess(tmp_path / "worker", SETTINGS) as worker:
        source = Probe(worker, tmp_path).create_running({"slow": "task.stop"}, tasks=TASKS)
        restart(source, only_failed=False, include_tasks=True)
        worker.kill()
        assert source.count("start") == 1, "the kill came before the restart"
        assert recorded(worker, f"restart-connector-{source.name}") == {"include-tasks": True, "only-failed": False}

        worker.start()
        source.wait("RUNNING", tasks=TASKS)
        assert source.count("start") == 2, "a start of the worker is the restart that was asked for"
        assert source.count("task.start") == 2 * TASKS


def recorded(worker: PenstockProcess, key: str) -> Any:
    """The last value of a key in the worker's config log."""
    with sqlite3.connect(worker.data_dir / "penstock.db") as database:
        found = database.execute(
            "SELECT value FROM log_records WHERE log = 'configs' AND key = ? ORDER BY position DESC", (key.encode(),)
        )
        return json.loads(found.fetchone()[0])
