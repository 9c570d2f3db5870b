"""Connector lifecycle hooks: when they are called, with which configurations, and what makes one active."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.hooked import AT_ONCE_SECONDS, HOOK_SECONDS, HOOK_SETTINGS, Hooked
from tests.support.probes import message
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

MakeHooked = Callable[..., Hooked]


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    with PenstockProcess(tmp_path_factory.mktemp("worker"), HOOK_SETTINGS) as process:
        yield process


@pytest.fixture
def hooked(worker: PenstockProcess, tmp_path: Path) -> Iterator[MakeHooked]:
    """Makes connectors with hooks (not yet created); the test leaves none of them behind."""
    made: list[Hooked] = []

    def make(kind: str = "ProbeSource") -> Hooked:
        made.append(Hooked(worker, tmp_path, kind))
        return made[-1]

    yield make
    for each in made:
        each.trouble.unlink(missing_ok=True)
        each.request("DELETE")


# -- when hooks are called


def test_created_is_called_at_the_first_start_after_validation_and_before_start(hooked: MakeHooked) -> None:
    source = hooked().run()
    calls = [call["call"] for call in source.journalled()]
    assert calls.index("validate") < calls.index("on_created") < calls.index("start")
    assert source.told() == ["created one"]
    assert source.active() == "one"
    assert source.lifecycle()["next_hook"] is None


def test_sinks_have_hooks_too(hooked: MakeHooked) -> None:
    sink = hooked("ProbeSink").run()
    sink.put(mark="two")
    sink.wait_told("created one", "updated one two")
    wait_until(lambda: sink.active() == "two", "the update is active")
    sink.delete()
    sink.wait_told("created one", "updated one two", "deleted two")


@pytest.mark.parametrize("state", ["STOPPED", "PAUSED"])
def test_a_connector_created_stopped_or_paused_is_told_at_its_first_resume(hooked: MakeHooked, state: str) -> None:
    source = hooked()
    source.create(initial_state=state)
    source.wait(state, tasks=0)
    assert source.told() == []
    assert source.active() is None
    assert source.lifecycle()["next_hook"] == "created"
    source.ask("resume")
    source.wait("RUNNING")
    assert source.told() == ["created one"]


def test_created_and_deleted_without_a_start_calls_nothing(hooked: MakeHooked) -> None:
    source = hooked()
    source.create(initial_state="STOPPED")
    source.wait("STOPPED", tasks=0)
    source.delete()
    assert source.cleanups() == []
    assert source.told() == []


def test_created_and_updated_without_a_start_calls_created_with_the_latest(hooked: MakeHooked) -> None:
    source = hooked()
    source.create(initial_state="STOPPED")
    source.put(mark="two")
    source.put(mark="three")
    source.ask("resume")
    source.wait("RUNNING")
    assert source.told() == ["created three"]


def test_an_update_of_a_running_connector_is_told_the_old_and_the_new(hooked: MakeHooked) -> None:
    source = hooked().run()
    source.put(mark="two")
    source.wait_told("created one", "updated one two")
    wait_until(lambda: source.active() == "two", "the update is active")


@pytest.mark.parametrize("verb", ["stop", "pause"])
def test_updated_twice_without_a_start_calls_updated_once_with_last_active_and_latest(
    hooked: MakeHooked, verb: str
) -> None:
    source = hooked().run()
    source.ask(verb)
    source.wait_hooked("STOPPED" if verb == "stop" else "PAUSED")
    source.put(mark="two")
    source.put(mark="three")
    assert source.active() == "one"
    assert source.lifecycle()["next_hook"] == "updated"
    source.ask("resume")
    source.wait("RUNNING")
    source.wait_told("created one", "updated one three")


def test_an_update_that_is_taken_back_before_the_start_calls_nothing(hooked: MakeHooked) -> None:
    source = hooked().run()
    source.stop()
    source.put(mark="two")
    source.put(mark="one")
    source.ask("resume")
    source.wait("RUNNING")
    assert source.told() == ["created one"]


def test_updated_and_deleted_without_a_start_calls_deleted_with_the_last_active(hooked: MakeHooked) -> None:
    source = hooked().run()
    source.stop()
    source.put(mark="two")
    source.delete()
    source.wait_told("created one", "deleted one")
    source.wait_cleaned_up()


def test_deleted_is_called_when_nothing_runs_any_more_and_on_a_fresh_object(hooked: MakeHooked) -> None:
    source = hooked().run()
    source.delete()
    source.wait_told("created one", "deleted one")
    calls = [call["call"] for call in source.journalled()]
    assert max(calls.index("stop"), calls.index("task.stop")) < calls.index("on_deleted")
    assert calls.count("start") == 1


def test_pausing_stopping_and_restarting_call_no_hook(hooked: MakeHooked) -> None:
    source = hooked().run()
    for verb, state in (("pause", "PAUSED"), ("resume", "RUNNING"), ("stop", "STOPPED"), ("resume", "RUNNING")):
        source.ask(verb)
        source.wait(state, tasks=0 if state == "STOPPED" else 1)
    assert source.request("POST", "/restart").status_code == 204
    assert source.request("POST", "/tasks/0/restart").status_code == 204
    assert source.request("POST", "/restart?includeTasks=true").status_code == 202
    source.wait("RUNNING")
    source.put(mark="one")
    source.wait("RUNNING")
    assert source.told() == ["created one"]


def test_a_worker_restart_calls_no_hook_whether_clean_or_not(hooked: MakeHooked) -> None:
    source, worker = hooked().run(), hooked().worker
    worker.stop()
    worker.start()
    source.wait("RUNNING")
    worker.restart()
    source.wait("RUNNING")
    assert source.told() == ["created one"]
    source.delete()
    source.wait_told("created one", "deleted one")


# -- configurations that never become active


def test_an_invalid_configuration_calls_nothing_and_activates_nothing(hooked: MakeHooked) -> None:
    never = hooked()
    refused = never.worker.http.post(
        "/connectors", json={"name": never.name, "config": {"connector.class": "ProbeSource"}}
    )
    assert "topic" in message(refused, 400)

    source = hooked().run()
    without_topic = {"connector.class": "ProbeSource", "mark": "two", "name": source.name}
    assert "topic" in message(source.request("PUT", "/config", without_topic), 400)
    assert source.told() == ["created one"]
    assert source.active() == "one"
    assert source.worker.status(source.name)["connector"]["state"] == "RUNNING"


def test_a_configuration_that_the_connector_itself_refuses_calls_nothing(hooked: MakeHooked) -> None:
    source = hooked()
    source.break_down()
    source.create({"fail": "configure"})
    source.wait_hooked("FAILED")
    assert "configure was told to fail" in source.trace()
    assert source.told() == []
    assert source.active() is None

    source.heal()
    assert source.request("POST", "/restart").status_code == 204
    source.wait("RUNNING")
    assert source.told() == ["created one"]


def test_a_failing_created_fails_the_connector_until_a_restart_succeeds(hooked: MakeHooked) -> None:
    source = hooked()
    source.break_down()
    source.create({"fail": "on_created"})
    source.wait_hooked("FAILED")
    assert "in on_created" in source.trace()
    assert "on_created was told to fail" in source.trace()
    assert source.count("start") == 0
    assert source.worker.status(source.name)["tasks"] == []
    shown = source.lifecycle()
    assert shown["active"] is None
    assert shown["next_hook"] == shown["pending"]["hook"] == "created"
    assert shown["pending"]["tries"] == 1
    assert "on_created was told to fail" in shown["pending"]["error"]

    assert "on_created was told to fail" in message(source.request("POST", "/restart"), 500)
    assert source.lifecycle()["pending"]["tries"] == 2

    source.heal()
    assert source.request("POST", "/restart").status_code == 204
    source.wait("RUNNING")
    assert source.told() == ["created one"] * 3
    assert source.active() == "one"
    assert source.lifecycle()["pending"] is None


def test_a_connector_whose_created_failed_is_deleted_without_a_hook(hooked: MakeHooked) -> None:
    source = hooked()
    source.break_down()
    source.create({"fail": "on_created"})
    source.wait_hooked("FAILED")
    source.delete()
    assert source.cleanups() == []
    assert source.told() == ["created one"]


def test_a_failing_updated_leaves_the_old_configuration_active_and_nothing_running(hooked: MakeHooked) -> None:
    source = hooked().run(fail="on_updated")
    source.break_down()
    source.put(mark="two")
    source.wait_hooked("FAILED")
    assert "on_updated was told to fail" in source.trace()
    assert source.active() == "one"
    assert source.counts() == {"start": 1, "stop": 1, "task.start": 1, "task.stop": 1}

    source.request("POST", "/tasks/0/restart")
    source.ask("pause")
    source.ask("resume")
    assert source.request("POST", "/restart").status_code == 500
    assert source.count("task.start") == 1, "a task ran on a configuration that its hook had refused"

    source.heal()
    assert source.request("POST", "/restart").status_code == 204
    source.wait("RUNNING")
    assert source.told() == ["created one"] + ["updated one two"] * 3
    assert source.active() == "two"


def test_deleting_after_a_failed_update_calls_deleted_with_the_last_active(hooked: MakeHooked) -> None:
    source = hooked().run(fail="on_updated")
    source.break_down()
    source.put(mark="two")
    source.wait_hooked("FAILED")
    source.delete()
    source.wait_told("created one", "updated one two", "deleted one")


def test_a_task_of_a_connector_whose_hook_has_failed_cannot_be_restarted_before_the_connector(
    hooked: MakeHooked,
) -> None:
    source = hooked().run(fail="on_updated")
    source.break_down()
    source.put(mark="two")
    source.wait_hooked("FAILED")
    refused = message(source.request("POST", "/tasks/0/restart"), 409)
    assert refused.startswith(f"Task {source.name}-0 cannot be restarted: on_updated() of its connector has failed")
    assert f"POST /connectors/{source.name}/restart" in refused
    assert "on_updated was told to fail" in refused
    assert "Unknown task" in message(source.request("POST", "/tasks/1/restart"), 404)
    source.ask("pause")
    assert message(source.request("POST", "/tasks/0/restart"), 409) == refused
    source.ask("resume")
    source.heal()
    assert source.request("POST", "/restart").status_code == 204
    source.wait("RUNNING")
    assert source.request("POST", "/tasks/0/restart").status_code == 204
    source.wait("RUNNING")


def test_a_task_of_a_connector_that_waits_for_a_clean_up_cannot_be_restarted(hooked: MakeHooked) -> None:
    source = hooked().run(fail="on_deleted")
    source.break_down()
    source.put(connector_class="OtherSource", mark="two")
    wait_until(lambda: "Waiting for the clean-up" in source.trace(), "it waits")
    refused = message(source.request("POST", "/tasks/0/restart"), 409)
    assert "waits for the clean-up of an earlier one, see GET /lifecycle/cleanups" in refused
    source.heal()
    source.wait("RUNNING")
    assert source.request("POST", "/tasks/0/restart").status_code == 204


def test_going_back_after_a_failed_update_runs_again_without_a_hook(hooked: MakeHooked) -> None:
    source = hooked().run(fail="on_updated")
    source.break_down()
    source.put(mark="two")
    source.wait_hooked("FAILED")
    source.put(mark="one")
    source.wait("RUNNING")
    assert source.told() == ["created one", "updated one two"]
    assert source.lifecycle()["pending"] is None


# -- classes


def test_another_class_is_deleted_for_the_old_and_created_for_the_new(hooked: MakeHooked) -> None:
    source = hooked().run()
    source.put(connector_class="OtherSource", mark="two")
    source.wait_told("created one", "deleted one", "created two")
    source.wait("RUNNING")
    hooks = [call for call in source.journalled() if call["call"].startswith("on_")]
    assert [call["by"] for call in hooks] == ["ProbeSource", "ProbeSource", "OtherSource"]
    assert source.cleanups() == []


def test_another_name_of_the_same_class_is_just_an_update(hooked: MakeHooked) -> None:
    source = hooked().run()
    source.put(connector_class="probe.ProbeSource")
    source.wait_told("created one", "updated one one")


def test_connectors_without_hooks_work_unchanged(hooked: MakeHooked) -> None:
    plain = hooked("PlainSource").run()
    plain.put(mark="two")
    wait_until(lambda: plain.count("task.start") == 2, "the task runs with the new configuration")
    assert plain.lifecycle() == {
        "name": plain.name, "active": None, "pending": None, "next_hook": None, "applied": True, "cleanups": []
    }  # fmt: skip
    plain.delete()
    assert plain.cleanups() == []


# -- references and secrets


def test_hooks_get_references_resolved_and_changes_are_seen_unresolved(hooked: MakeHooked, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("password=first-value\n")
    reference = f"${{file:{secrets}:password}}"
    source = hooked().run(secret=reference)
    (created,) = source.calls("on_created")
    assert created["config"]["secret"] == "first-value"
    assert source.lifecycle()["active"]["secret"] == reference

    secrets.write_text("password=second-value\n")
    assert source.request("POST", "/restart").status_code == 204
    source.wait("RUNNING")
    assert source.told() == ["created one"], "a new value behind the same reference is no update"

    source.put(mark="two")
    source.wait_told("created one", "updated one two")
    (updated,) = source.calls("on_updated")
    assert updated["old"]["secret"] == updated["new"]["secret"] == "second-value"


def test_the_api_shows_no_secret(hooked: MakeHooked) -> None:
    source = hooked().run(secret="hunter22", fail="on_deleted", some_api_key="hunter33")
    assert source.lifecycle()["active"]["secret"] == "[hidden]"
    assert source.lifecycle()["active"]["some.api.key"] == "[hidden]"
    source.break_down()
    source.delete()
    wait_until(lambda: source.cleanups()[0]["tries"] > 0, "the hook was tried")
    shown = source.worker.http.get("/lifecycle/cleanups").text
    assert "hunter" not in shown
    source.heal()
    source.wait_cleaned_up()
    assert source.calls("on_deleted")[-1]["old"]["secret"] == "hunter22"


# -- deletion while the outside is down


def test_a_failing_deleted_does_not_hold_up_the_deletion_and_is_tried_until_it_succeeds(hooked: MakeHooked) -> None:
    source = hooked().run(fail="on_deleted")
    source.break_down()
    source.delete()
    (cleanup,) = wait_until(lambda: [c for c in source.cleanups() if c["tries"] >= 2], "it was tried again")
    assert "on_deleted was told to fail" in cleanup["error"]
    assert cleanup["next_try"] > cleanup["since"]
    assert cleanup["config"]["mark"] == "one"
    source.heal()
    source.wait_cleaned_up()
    assert set(source.told()[1:]) == {"deleted one"}


@pytest.mark.parametrize("killed", [True, False], ids=["kill -9", "clean stop"])
def test_a_clean_up_survives_a_worker_restart(hooked: MakeHooked, killed: bool) -> None:
    source = hooked().run(fail="on_deleted")
    source.break_down()
    source.delete()
    wait_until(lambda: source.cleanups()[0]["tries"] > 0, "the hook was tried")
    if killed:
        source.worker.kill()
    else:
        source.worker.stop()
    source.heal()
    before = len(source.told())
    source.worker.start()
    source.wait_cleaned_up()
    assert source.told()[before:] == ["deleted one"]
    assert source.request("GET").status_code == 404


def test_a_new_connector_of_the_same_name_waits_for_the_clean_up_of_the_old(hooked: MakeHooked) -> None:
    source = hooked().run(fail="on_deleted")
    source.break_down()
    source.delete()
    wait_until(lambda: source.cleanups()[0]["tries"] > 0, "the hook was tried")
    source.create({"mark": "two"})
    source.wait_hooked("UNASSIGNED")
    wait_until(lambda: "Waiting for the clean-up" in source.trace(), "the status says what it waits for")
    assert source.lifecycle()["cleanups"][0]["config"]["mark"] == "one"
    source.worker.restart()
    wait_until(lambda: "Waiting for the clean-up" in source.trace(), "it still waits after a restart")
    assert source.active() is None
    source.heal()
    source.wait("RUNNING")
    assert source.told()[0] == "created one"
    assert set(source.told()[1:-1]) == {"deleted one"}
    assert source.told()[-1] == "created two"


def test_a_new_connector_that_still_waits_can_be_deleted_without_a_hook(hooked: MakeHooked) -> None:
    source = hooked().run(fail="on_deleted")
    source.break_down()
    source.delete()
    source.create({"mark": "two"})
    wait_until(lambda: "Waiting for the clean-up" in source.trace(), "it waits")
    source.delete()
    assert [cleanup["config"]["mark"] for cleanup in source.cleanups()] == ["one"]
    source.heal()
    source.wait_cleaned_up()
    assert "created two" not in source.told()
    assert "deleted two" not in source.told()


def test_a_clean_up_can_be_given_up(hooked: MakeHooked) -> None:
    source = hooked().run(fail="on_deleted")
    source.break_down()
    source.delete()
    source.create({"mark": "two"})
    wait_until(lambda: "Waiting for the clean-up" in source.trace(), "it waits")
    (cleanup,) = source.cleanups()
    assert source.worker.http.delete(f"/lifecycle/cleanups/{cleanup['id']}").status_code == 204
    assert source.cleanups() == []
    source.wait("RUNNING")
    assert source.told()[-1] == "created two"
    again = source.worker.http.delete(f"/lifecycle/cleanups/{cleanup['id']}")
    assert message(again, 404) == f"Clean-up {cleanup['id']} not found"


# -- hooks that hang


def answers_at_once(client: httpx2.Client, path: str) -> bool:
    began = time.monotonic()
    return client.get(path).status_code == 200 and time.monotonic() - began < AT_ONCE_SECONDS


def test_a_hanging_hook_is_ended_by_its_limit_and_touches_nobody_else(hooked: MakeHooked) -> None:
    source, other = hooked(), hooked()
    source.break_down()
    source.create({"hang": "on_created"})
    source.wait_told("created one")
    assert source.lifecycle()["pending"]["tries"] == 1
    for path in ("/connectors", f"/connectors/{source.name}/status", "/lifecycle/cleanups"):
        assert answers_at_once(source.worker.http, path)
    other.run()
    other.put(mark="two")
    other.wait_told("created one", "updated one two")
    wait_until(lambda: other.active() == "two", "the update is active")
    other.delete()
    source.wait_hooked("FAILED")
    assert f"{source.name}: on_created() did not return within {HOOK_SECONDS:g} s" in source.trace()
    assert "lifecycle.hook.timeout.ms" in source.trace()

    source.heal()
    assert source.request("POST", "/restart").status_code == 204
    source.wait("RUNNING")
    assert source.told() == ["created one", "created one"]


def test_requests_on_a_connector_are_answered_while_its_hook_hangs(hooked: MakeHooked) -> None:
    source = hooked()
    source.break_down()
    source.create({"hang.until.healed": "on_created"})
    source.wait_told("created one")
    began = time.monotonic()
    source.ask("pause")
    source.put(mark="two")
    source.ask("stop")
    assert time.monotonic() - began < AT_ONCE_SECONDS
    source.heal()
    source.wait("STOPPED", tasks=0)
    assert source.count("start") == 0, "it was started although it is to be stopped"
    assert source.active() == "one"


def test_a_connector_deleted_while_its_hook_runs_is_cleaned_up_afterwards(hooked: MakeHooked) -> None:
    source = hooked()
    source.break_down()
    source.create({"hang.until.healed": "on_created"})
    source.wait_told("created one")
    source.delete()
    source.create({"mark": "two"})
    assert source.told() == ["created one"]
    source.heal()
    source.wait("RUNNING")
    assert source.told() == ["created one", "deleted one", "created two"]


def test_a_hook_that_was_abandoned_may_have_made_something_so_deletion_cleans_up(hooked: MakeHooked) -> None:
    source = hooked()
    source.break_down()
    source.create({"hang": "on_created"})
    source.wait_hooked("FAILED")
    source.delete()
    source.wait_told("created one", "deleted one")
    source.wait_cleaned_up()


def test_a_hanging_deleted_is_ended_by_its_limit_and_tried_again(hooked: MakeHooked) -> None:
    source = hooked().run(hang="on_deleted")
    source.break_down()
    source.delete()
    (cleanup,) = wait_until(lambda: [c for c in source.cleanups() if c["tries"] > 0], "the limit ended it")
    assert f"on_deleted() did not return within {HOOK_SECONDS:g} s" in cleanup["error"]
    source.heal()
    source.wait_cleaned_up()


def test_a_hanging_deleted_can_be_given_up_and_limits_still_hold(hooked: MakeHooked) -> None:
    source, later = hooked().run(hang="on_deleted"), hooked()
    source.break_down()
    source.delete()
    source.wait_told("created one", "deleted one")
    (cleanup,) = source.cleanups()
    assert source.worker.http.delete(f"/lifecycle/cleanups/{cleanup['id']}").status_code == 204
    assert source.cleanups() == []

    later.break_down()
    later.create({"hang": "on_created"})
    later.wait_hooked("FAILED")
    assert "did not return within" in later.trace()
    assert source.told() == ["created one", "deleted one"]


# -- crashes: a hook may be repeated, it is never lost

IN_HOOK = "in the hook"
HOOK_POINTS = {"hook-before-intent": 0, "hook-after-intent": 0, IN_HOOK: 1, "hook-after-call": 1}
"""Where a call of ``created`` or ``updated`` may be cut off, and how often the hook was called by then."""

CLEANUP_POINTS = {"connector-removed": 0, "cleanup-before-hook": 0, IN_HOOK: 1, "cleanup-after-hook": 1}


@pytest.fixture(scope="module")
def doomed_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """A worker that tests kill; it starts with a fault of their choice."""
    process = PenstockProcess(tmp_path_factory.mktemp("doomed"), HOOK_SETTINGS)
    try:
        yield process
    finally:
        process.kill()


@pytest.fixture
def doomed(doomed_worker: PenstockProcess, tmp_path: Path) -> Iterator[Hooked]:
    source = Hooked(doomed_worker, tmp_path)
    if not doomed_worker.running:
        doomed_worker.start()
    yield source
    source.trouble.unlink(missing_ok=True)
    source.request("DELETE")
    source.wait_cleaned_up()


def start_with_fault(source: Hooked, point: str, hook: str) -> None:
    """Start the worker so that it dies at a point of the next call of a hook."""
    if point == IN_HOOK:
        source.break_down()
        source.config["kill"] = hook
        source.worker.restart()
    else:
        source.worker.restart(PENSTOCK_FAULT=point)


def crash_in(source: Hooked, request: Callable[[], object]) -> None:
    """Make a request that leads to the crash; its answer may come before or not at all. Then start again."""
    with contextlib.suppress(httpx2.TransportError):
        request()
    assert source.worker.wait_for_exit() == -signal.SIGKILL
    source.trouble.unlink(missing_ok=True)


@pytest.mark.parametrize("point", HOOK_POINTS)
def test_a_crash_around_created_repeats_it(doomed: Hooked, point: str) -> None:
    start_with_fault(doomed, point, "on_created")
    crash_in(doomed, doomed.create)
    assert doomed.told() == ["created one"] * HOOK_POINTS[point]
    doomed.worker.start()
    doomed.wait("RUNNING")
    assert doomed.told() == ["created one"] * (HOOK_POINTS[point] + 1)
    assert doomed.active() == "one"
    assert doomed.lifecycle()["pending"] is None


@pytest.mark.parametrize("point", HOOK_POINTS)
def test_a_crash_around_updated_repeats_it_with_the_same_configurations(doomed: Hooked, point: str) -> None:
    doomed.run()
    start_with_fault(doomed, point, "on_updated")
    doomed.wait("RUNNING")
    crash_in(doomed, lambda: doomed.put(mark="two"))
    doomed.worker.start()
    doomed.wait("RUNNING")
    assert doomed.told() == ["created one"] + ["updated one two"] * (HOOK_POINTS[point] + 1)
    assert doomed.active() == "two"


@pytest.mark.parametrize("point", CLEANUP_POINTS)
def test_a_crash_between_deletion_and_the_end_of_the_clean_up_repeats_deleted(doomed: Hooked, point: str) -> None:
    doomed.run(kill="on_deleted")
    start_with_fault(doomed, point, "on_deleted")
    doomed.wait("RUNNING")
    crash_in(doomed, lambda: doomed.request("DELETE"))
    doomed.worker.start()
    doomed.wait_cleaned_up()
    assert doomed.told() == ["created one"] + ["deleted one"] * (CLEANUP_POINTS[point] + 1)
    assert doomed.request("GET").status_code == 404
    assert doomed.request("GET", "/status").status_code == 404


def test_a_crash_while_another_class_takes_over_repeats_both_hooks(doomed: Hooked) -> None:
    doomed.run()
    doomed.worker.restart(PENSTOCK_FAULT="cleanup-after-hook")
    doomed.wait("RUNNING")
    crash_in(doomed, lambda: doomed.put(connector_class="OtherSource", mark="two"))
    doomed.worker.start(wait=False, PENSTOCK_FAULT="hook-after-call")
    crash_in(doomed, lambda: None)
    doomed.worker.start()
    doomed.wait("RUNNING")
    assert doomed.told() == ["created one", "deleted one", "deleted one", "created two", "created two"]


def test_deletion_after_a_crash_in_created_cleans_up_what_may_be_there(doomed: Hooked) -> None:
    start_with_fault(doomed, "hook-after-call", "on_created")
    crash_in(doomed, lambda: doomed.create({"hang.until.healed": "on_created"}))
    doomed.break_down()
    doomed.worker.start()
    doomed.wait_told("created one", "created one")
    doomed.delete()
    doomed.heal()
    doomed.wait_told("created one", "created one", "deleted one")
