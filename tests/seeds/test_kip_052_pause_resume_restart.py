"""KIP-52: pause, resume and restart of connectors and tasks."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.seeds.conftest import MakeProbe, skip_on_cluster, standalone_only
from tests.support.probes import SETTINGS, Probe, message
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def produced(source: Probe) -> int:
    """How far a probe source has come, by its committed offset."""
    offsets = source.offsets()
    return int(offsets[0]["offset"]["next"]) if offsets else 0


# -- pause and resume


def test_pause_suspends_the_connector_and_its_tasks(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=3)
    source.ask("pause")
    source.wait("PAUSED", tasks=3)
    source.wait_counts({"start": 1, "stop": 1, "task.start": 3, "task.stop": 0})


def test_a_paused_source_reads_nothing_until_it_is_resumed(probe: MakeProbe, tmp_path: Path) -> None:
    lines, source = tmp_path / "lines.txt", probe()
    lines.write_text("before\n")
    config = {"connector.class": "FileStreamSource", "file": str(lines), "topic": source.topic}
    source.worker.create(source.name, config)
    wait_until(lambda: source.offsets(), "the first line was read")
    source.ask("pause")
    source.wait("PAUSED")
    with lines.open("a") as file:
        file.write("while paused\n")
    after_another_connector_moved_records(probe)
    assert source.offsets()[0]["offset"]["position"] == len("before\n")

    source.ask("resume")
    wait_until(lambda: source.offsets()[0]["offset"]["position"] == lines.stat().st_size, "the rest was read")


def test_a_paused_sink_puts_nothing_until_it_is_resumed(probe: MakeProbe) -> None:
    source = probe().create_running({"count": "10"})
    sink = probe("ProbeSink", source.topic).create_running()
    assert len(sink.wait_out(10)) == 10
    sink.ask("pause")
    sink.wait("PAUSED")
    source.stop()
    source.request("PATCH", "/config", {"count": "20"})
    source.ask("resume")
    wait_until(lambda: produced(source) == 20, "the topic has more records")
    after_another_connector_moved_records(probe)
    assert len(sink.out()) == 10

    sink.ask("resume")
    assert sorted(offset for _, offset, _ in sink.wait_out(20)) == list(range(20))


def after_another_connector_moved_records(probe: MakeProbe) -> None:
    """Gives what must not happen the time in which the same thing happens elsewhere."""
    other = probe().create_running({"count": "30"})
    wait_until(lambda: produced(other) == 30, "another connector moved records")


def test_resume_starts_the_connector_again_and_lets_tasks_go_on(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=2)
    source.ask("pause")
    source.wait("PAUSED", tasks=2)
    source.ask("resume")
    source.wait("RUNNING", tasks=2)
    source.wait_counts({"start": 2, "stop": 1, "task.start": 2, "task.stop": 0})


def test_pausing_a_paused_connector_is_a_no_op(probe: MakeProbe) -> None:
    source = probe().create_running()
    for _ in range(3):
        source.ask("pause")
        source.wait("PAUSED")
    source.wait_counts({"start": 1, "stop": 1, "task.start": 1, "task.stop": 0})


def test_resuming_a_running_connector_is_a_no_op(probe: MakeProbe) -> None:
    source = probe().create_running()
    for _ in range(3):
        source.ask("resume")
    source.wait("RUNNING")
    source.wait_counts({"start": 1, "stop": 0, "task.start": 1, "task.stop": 0})


@pytest.mark.parametrize("verb", ["pause", "resume", "stop"])
def test_an_unknown_connector_is_not_found(probe: MakeProbe, verb: str) -> None:
    unknown = probe()
    assert message(unknown.request("PUT", f"/{verb}"), 404) == f"Unknown connector {unknown.name}"


def test_a_paused_connector_that_is_reconfigured_stays_paused(probe: MakeProbe) -> None:
    source = probe().create_running()
    source.ask("pause")
    source.wait("PAUSED")
    changed = {**source.config, "name": source.name, "count": "10"}
    assert source.request("PUT", "/config", changed).status_code == 200
    source.wait("PAUSED")
    assert produced(source) == 0
    source.ask("resume")
    source.wait("RUNNING")
    wait_until(lambda: produced(source) == 10, "the new configuration is used")


def test_requests_while_a_connector_still_starts_are_obeyed_in_the_end(probe: MakeProbe) -> None:
    source = probe().create({"slow": "start"})
    for verb in ("pause", "resume", "stop", "pause", "resume", "pause"):
        source.ask(verb)
    source.wait("PAUSED", tasks=None)
    source.ask("resume")
    source.wait("RUNNING")
    assert source.count("start") - source.count("stop") == 1


# -- what has failed


def test_pause_does_not_revive_a_failed_connector(probe: MakeProbe) -> None:
    source = probe().create_with_trouble({"fail": "start"})
    source.wait_states("FAILED")
    source.heal()
    source.ask("pause")
    source.ask("resume")
    source.ask("pause")
    probe().create_running()  # what must not happen here has happened there
    assert source.states() == ["FAILED"]
    source.wait_counts({"start": 1, "stop": 0, "task.start": 0, "task.stop": 0})


def test_resume_does_not_revive_a_failed_connector(probe: MakeProbe) -> None:
    source = probe().create_with_trouble({"fail": "start"})
    source.wait_states("FAILED")
    source.heal()
    source.ask("resume")
    probe().create_running()  # what must not happen here has happened there
    assert source.states() == ["FAILED"]
    assert source.count("start") == 1


def test_a_failed_task_ignores_pause_and_resume(probe: MakeProbe) -> None:
    source = probe().create_with_trouble({"fail": "task.start", "trouble.tasks": "1"}, tasks=2)
    source.wait_states("RUNNING", "RUNNING", "FAILED")
    source.heal()
    source.ask("pause")
    source.wait_states("PAUSED", "PAUSED", "FAILED")
    source.ask("resume")
    source.wait_states("RUNNING", "RUNNING", "FAILED")
    source.wait_counts({"start": 2, "stop": 1, "task.start": 2, "task.stop": 0})


def test_a_connector_whose_stop_fails_while_it_is_paused_is_failed(probe: MakeProbe) -> None:
    source = probe().create_running({"fail": "stop"})
    source.ask("pause")
    status = source.wait_states("FAILED", "PAUSED")
    assert "stop was told to fail" in status["connector"]["trace"]


def test_the_trace_of_a_failure_is_shown_until_it_is_over(probe: MakeProbe) -> None:
    source = probe().create_with_trouble({"fail": "task.start"})
    trace = source.wait_states("RUNNING", "FAILED")["tasks"][0]["trace"]
    assert "task.start was told to fail" in trace
    assert source.request("GET", "/tasks/0/status").json()["trace"] == trace
    source.heal()
    assert source.request("POST", "/tasks/0/restart").status_code == 204
    assert "trace" not in source.wait("RUNNING")["tasks"][0]


# -- restart


def test_restart_of_a_connector_stops_and_starts_it_but_not_its_tasks(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=2)
    answer = source.request("POST", "/restart")
    assert (answer.status_code, answer.content) == (204, b"")
    source.wait("RUNNING", tasks=2)
    source.wait_counts({"start": 2, "stop": 1, "task.start": 2, "task.stop": 0})


def test_restart_of_a_task_stops_and_starts_only_that_task(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=3)
    answer = source.request("POST", "/tasks/1/restart")
    assert (answer.status_code, answer.content) == (204, b"")
    source.wait("RUNNING", tasks=3)
    wait_until(lambda: source.count("task.start") == 4, "the task was started again")
    assert [call["task"] for call in source.calls("task.stop")] == ["1"]
    assert source.calls("task.start")[-1]["task"] == "1"
    assert source.counts()["start"] == 1


def test_restart_revives_a_failed_connector(probe: MakeProbe) -> None:
    source = probe().create_with_trouble({"fail": "start"})
    source.wait_states("FAILED")
    source.heal()
    assert source.request("POST", "/restart").status_code == 204
    source.wait("RUNNING")


def test_restart_revives_a_failed_task(probe: MakeProbe) -> None:
    source = probe().create_with_trouble({"fail": "task.plan", "count": "10"})
    source.wait_states("RUNNING", "FAILED")
    source.heal()
    assert source.request("POST", "/tasks/0/restart").status_code == 204
    source.wait("RUNNING")
    wait_until(lambda: produced(source) == 10, "the task works again")


def test_a_restart_that_fails_again_says_so(probe: MakeProbe) -> None:
    source = probe().create_running({"trouble.file": "", "fail": ""})
    source.trouble.touch()
    changed = {**source.config, "name": source.name, "fail": "start", "trouble.file": str(source.trouble)}
    source.request("PUT", "/config", changed)
    source.wait_states("FAILED", "RUNNING")
    assert f"Failed to start connector: {source.name}" in message(source.request("POST", "/restart"), 500)
    assert "start was told to fail" in source.wait_states("FAILED", "RUNNING")["connector"]["trace"]


def test_a_paused_connector_is_still_paused_after_its_restart(probe: MakeProbe) -> None:
    source = probe().create_running(tasks=2)
    source.ask("pause")
    source.wait("PAUSED", tasks=2)
    assert source.request("POST", "/restart").status_code == 204
    assert source.request("POST", "/tasks/0/restart").status_code == 204
    source.wait("PAUSED", tasks=2)
    source.wait_counts({"start": 1, "stop": 1, "task.start": 2, "task.stop": 1})


def test_restarts_that_come_together_all_succeed(probe: MakeProbe) -> None:
    source = probe().create_running({"slow": "task.stop"})
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: source.request("POST", "/tasks/0/restart").status_code, range(4)))
    assert answers == [204] * 4
    most = 0

    def runs_again() -> bool:
        nonlocal most
        counts = source.counts()
        running = counts["task.start"] - counts["task.stop"]
        most = max(most, running)
        return running == 1 and counts["task.stop"] >= 1

    wait_until(runs_again, "the task was stopped and runs again")
    source.wait("RUNNING")
    assert most == 1


def test_restart_of_an_unknown_connector_is_not_found(probe: MakeProbe) -> None:
    unknown = probe()
    assert message(unknown.request("POST", "/restart"), 404) == f"Unknown connector: {unknown.name}"
    assert message(unknown.request("POST", "/tasks/0/restart"), 404) == f"Unknown connector: {unknown.name}"


def test_restart_of_an_unknown_task_is_not_found(probe: MakeProbe) -> None:
    source = probe().create_running()
    assert message(source.request("POST", "/tasks/7/restart"), 404) == f"Unknown task: {source.name}-7"


@pytest.mark.parametrize(
    "forward",
    ["true", pytest.param("false", marks=standalone_only("in a cluster it is a conflict unless the owner is asked"))],
)
def test_restart_takes_the_forward_parameter(probe: MakeProbe, forward: str) -> None:
    source = probe().create_running()
    assert source.request("POST", f"/restart?forward={forward}").status_code == 204
    assert source.request("POST", f"/tasks/0/restart?forward={forward}").status_code == 204


# -- the paused state is persistent


@pytest.fixture(scope="module")
def survivors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Probe]]:
    """Connectors of a worker that was killed with ``kill -9`` and started again."""
    skip_on_cluster("its only worker is killed; tests/distributed/test_faults.py kills workers of a cluster")
    folder = tmp_path_factory.mktemp("killed")
    with PenstockProcess(folder / "worker", SETTINGS) as worker:
        made = {key: Probe(worker, folder) for key in ("running", "paused", "resumed", "failed")}
        for key in ("running", "paused", "resumed"):
            made[key].create_running(tasks=2)
        made["failed"].create_with_trouble({"fail": "start"}).wait_states("FAILED")
        for key in ("paused", "resumed", "failed"):
            made[key].ask("pause")
        made["resumed"].wait("PAUSED", tasks=2)
        made["resumed"].ask("resume")
        worker.restart()
        yield made


def test_a_paused_connector_stays_paused_after_kill_9(survivors: dict[str, Probe]) -> None:
    paused = survivors["paused"]
    paused.wait("PAUSED", tasks=2)
    assert paused.count("start") == 1


def test_tasks_of_a_connector_that_was_paused_before_kill_9_start_when_it_is_resumed(
    survivors: dict[str, Probe],
) -> None:
    paused = survivors["paused"]
    paused.wait("PAUSED", tasks=2)
    assert paused.count("task.start") == 2
    paused.ask("resume")
    paused.wait("RUNNING", tasks=2)
    assert paused.count("task.start") == 4


def test_a_running_connector_runs_again_after_kill_9(survivors: dict[str, Probe]) -> None:
    survivors["running"].wait("RUNNING", tasks=2)
    survivors["running"].wait_counts({"start": 2, "stop": 0, "task.start": 4, "task.stop": 0})


def test_a_resumed_connector_runs_again_after_kill_9(survivors: dict[str, Probe]) -> None:
    survivors["resumed"].wait("RUNNING", tasks=2)


def test_a_connector_that_had_failed_and_was_paused_is_paused_after_kill_9(survivors: dict[str, Probe]) -> None:
    failed = survivors["failed"]
    failed.wait_states("PAUSED")
    assert failed.count("start") == 1
