"""Calls into user code: results, failures, time limits, and threads that get lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from penstock.runtime.calls import CallTimedOut, UserCode


@pytest.fixture
def calls() -> Iterator[UserCode]:
    pool = UserCode(idle_seconds=0.2)
    yield pool
    pool.stop()


def test_result_and_failure_reach_the_caller(calls: UserCode) -> None:
    assert calls.run("answer", 10, lambda: 42).result(10) == 42
    with pytest.raises(ZeroDivisionError):
        calls.run("divide", 10, lambda: 1 // 0).result(10)


def test_hanging_call_fails_at_its_limit_and_names_itself(calls: UserCode) -> None:
    release = threading.Event()
    hanging = calls.run("orders: start()", 0.05, release.wait)
    with pytest.raises(CallTimedOut, match=r"orders: start\(\) did not return within 0\.05 s"):
        hanging.result(10)
    release.set()


def test_hanging_calls_delay_nobody(calls: UserCode) -> None:
    release = threading.Event()
    hanging = [calls.run("hang", 30, release.wait) for _ in range(20)]
    assert calls.run("quick", 10, lambda: "done").result(10) == "done"
    release.set()
    assert all(call.result(10) for call in hanging)


def test_late_result_of_an_abandoned_call_is_ignored(calls: UserCode) -> None:
    release, finished = threading.Event(), threading.Event()

    def late() -> str:
        release.wait()
        finished.set()
        return "too late"

    call = calls.run("late", 0.05, late)
    with pytest.raises(CallTimedOut):
        call.result(10)
    release.set()
    assert finished.wait(120)
    with pytest.raises(CallTimedOut):
        call.result(0)


def test_threads_are_reused_one_after_another(calls: UserCode) -> None:
    used = {calls.run("ident", 10, threading.get_ident).result(10) for _ in range(50)}
    assert len(used) < 50


def test_the_earliest_limit_is_kept_when_a_later_one_was_set_first(calls: UserCode) -> None:
    release = threading.Event()
    calls.run("patient", 60, release.wait)
    with pytest.raises(CallTimedOut):
        calls.run("impatient", 0.05, release.wait).result(10)
    release.set()
