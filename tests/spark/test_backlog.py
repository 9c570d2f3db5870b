"""Works that wait most of the time are a backlog; a burst that is over at once is none."""

from __future__ import annotations

from penstock.spark.backlog import Backlog


def after(*phases: tuple[bool, float], times: int = 1) -> bool:
    """Whether works are backlogged after phases of waiting, or not, of so many seconds."""
    backlog, now = Backlog(), 1000.0
    backlog.note(False, now)
    for waits, seconds in phases * times:
        now += seconds
        backlog.note(waits, now)
    return backlog.lasts


def test_waiting_for_more_than_a_second_is_a_backlog() -> None:
    assert after((True, 1.2))


def test_a_burst_is_no_backlog_and_neither_are_many_with_pauses() -> None:
    assert not after((True, 0.5))
    assert not after((True, 0.1), (False, 0.4), times=100)


def test_queues_that_are_empty_for_a_moment_between_batches_are_a_backlog() -> None:
    assert after((True, 0.1), (False, 0.02), times=20)


def test_a_backlog_ends() -> None:
    assert not after((True, 60.0), (False, 1.2))
