"""How health is judged, from states, progress and restarts."""

from __future__ import annotations

import time

import pytest

from penstock.runtime.auto_restart import Attempts
from penstock.runtime.health import TaskHealth, judge, judge_connector, judge_task
from penstock.runtime.metrics import TaskMetrics
from penstock.runtime.requests import ComponentStatus, State
from penstock.runtime.traces import headline
from penstock.spark.splits import Receipt
from penstock.topics.interface import Staged

HERE = "worker:8083"
TRACE = 'Traceback (most recent call last):\n  File "x.py", line 1, in put\n    boom\nValueError: no such table\n'


def status(state: State, trace: str | None = None) -> ComponentStatus:
    return ComponentStatus(state, HERE, trace)


def task(
    number: int = 0,
    state: State = State.RUNNING,
    metrics: TaskMetrics | None = None,
    trace: str | None = None,
    attempts: Attempts | None = None,
) -> TaskHealth:
    return judge_task(number, status(state, trace), attempts or Attempts(), metrics or TaskMetrics(), 60)


def together(*tasks: TaskHealth, state: State = State.RUNNING, trace: str | None = None) -> tuple[str, str | None]:
    found = judge("orders", "source", judge_connector(status(state, trace), Attempts()), tasks)
    return found.health, found.reason


def test_what_runs_is_healthy_and_tells_its_progress() -> None:
    metrics = TaskMetrics(last_progress=12.5)
    found = task(metrics=metrics)
    assert (found.health, found.reason, found.last_progress, found.live) == ("healthy", None, 12_500, True)
    assert together(found, task(1)) == ("healthy", None)


@pytest.mark.parametrize(("state", "reason"), [(State.PAUSED, "It is paused."), (State.STOPPED, "It is stopped.")])
def test_what_a_user_wants_is_healthy(state: State, reason: str) -> None:
    assert together(state=state) == ("healthy", reason)


@pytest.mark.parametrize("state", [State.UNASSIGNED, State.RESTARTING])
def test_what_does_not_run_yet_is_degraded(state: State) -> None:
    assert task(state=state).health == "degraded"
    assert together(state=state)[0] == "degraded"
    assert together(state=State.UNASSIGNED, trace="Waiting for a clean-up") == ("degraded", "Waiting for a clean-up")


def test_some_failed_tasks_degrade_and_all_of_them_fail() -> None:
    failed = task(1, State.FAILED, trace=TRACE)
    assert (failed.health, failed.reason) == ("failed", "ValueError: no such table")
    assert together(task(0), failed) == ("degraded", "1 of 2 tasks failed: ValueError: no such table")
    assert together(failed) == ("failed", "Its task failed: ValueError: no such table")
    assert together(failed, failed)[0] == "failed"


def test_a_failed_connector_is_degraded_while_its_tasks_run() -> None:
    reason = "The connector failed: ValueError: no such table"
    assert together(task(), state=State.FAILED, trace=TRACE) == ("degraded", reason)
    assert together(state=State.FAILED, trace=TRACE) == ("failed", reason)


def test_retries_degrade_and_stall_after_a_while() -> None:
    metrics = TaskMetrics()
    metrics.try_again(OSError("the database is away\nmore"))
    found = task(metrics=metrics)
    assert found.health == "degraded"
    assert "the database is away" in str(found.reason)
    metrics.troubled_since = time.monotonic() - 600
    found = task(metrics=metrics)
    assert (found.health, found.reason) == (
        "stalled",
        "It has been trying a batch again for 10 min: the database is away",
    )
    assert together(task(), found, task(2, State.PAUSED)) == ("stalled", f"Task 0: {found.reason}")


def test_a_batch_that_takes_too_long_stalls() -> None:
    metrics = TaskMetrics(busy_since=time.monotonic() - 61)
    assert task(metrics=metrics).health == "stalled"
    assert task(metrics=TaskMetrics(busy_since=time.monotonic())).health == "healthy"


def batch(read: int, failed: int, topic: str = "") -> list[Receipt]:
    letters = [Staged(topic, 0, failed, 0, 0)] if topic and failed else []
    return [Receipt(read=read, written=read - failed, skipped=failed, failed=failed, dead_letters=letters)]


def test_a_task_whose_records_fail_is_degraded_until_newer_ones_go_through() -> None:
    metrics = TaskMetrics()
    metrics.add(batch(30_000, 30_000, "orders-dead"))
    found = task(metrics=metrics)
    assert (found.health, found.reason) == (
        "degraded",
        "100% of the newest 30000 records failed, 30000 since the task was started: "
        "they are dead letters in topic orders-dead.",
    )
    assert together(task(1), found) == ("degraded", f"Task 0: {found.reason}")
    metrics.add(batch(900, 0))
    assert task(metrics=metrics).health == "degraded"
    metrics.add(batch(100, 0))
    assert task(metrics=metrics).health == "healthy"


def test_a_few_failed_records_among_many_are_no_trouble_and_skipped_ones_are_told() -> None:
    metrics = TaskMetrics()
    for _ in range(20):
        metrics.add(batch(100, 9))
    assert task(metrics=metrics).health == "healthy"
    metrics.add(batch(100, 100))
    found = task(metrics=metrics)
    assert (found.health, str(found.reason).endswith("they were skipped and are in no dead letter topic.")) == (
        "degraded",
        True,
    )
    assert "18% of the newest 1000 records failed, 280 since" in str(found.reason)


def test_what_runs_elsewhere_is_judged_by_its_status() -> None:
    found = judge_task(0, status(State.RUNNING), Attempts(), None, 60)
    assert (found.health, found.live, found.last_progress) == ("healthy", False, None)


def test_restarts_are_told() -> None:
    soon = task(state=State.FAILED, trace=TRACE, attempts=Attempts(made=1, total=4, limit=3, next_try=99))
    assert soon.reason == "ValueError: no such table (automatic restart 2 of 3 is to come)"
    assert (soon.restarts, soon.next_restart) == (4, 99)
    over = task(state=State.FAILED, trace=TRACE, attempts=Attempts(made=3, total=3, given_up=True))
    assert over.reason == "ValueError: no such table (given up after 3 automatic restarts)"
    whole = judge("orders", "sink", judge_connector(status(State.RUNNING), Attempts(total=1)), [soon, over])
    assert whole.restarts == 8


def test_the_headline_of_a_trace_is_what_happened() -> None:
    assert headline(TRACE) == "ValueError: no such table"
    assert headline("org.example.Bad: first\nTraceback …") == "org.example.Bad: first"
    assert headline("a.B: first\n\tat x\nCaused by: c.D: second\n\tat y") == "c.D: second"
    assert headline(None) == "(no trace)"
    place = "offset 17 of orders-0, at VALUE_CONVERTER (x.Y)"
    assert headline(f"a.B: first\nCaused by: c.D: second\nTraceback …\n  Failed record: {place}") == (
        f"c.D: second (the record: {place})"
    )
