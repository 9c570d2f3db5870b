"""What the runtime counts, without a task."""

from __future__ import annotations

import pytest

from penstock.runtime import windows
from penstock.runtime.metrics import Rebalances, Startups, TaskMetrics
from penstock.runtime.requests import State
from penstock.runtime.windows import Window
from penstock.spark.splits import Failure, Receipt
from penstock.topics.interface import Staged


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(windows, "time", made)
    monkeypatch.setattr("penstock.runtime.metrics.time", made)
    return made


def test_a_window_forgets_what_is_older_than_two_samples(clock: Clock) -> None:
    window = Window()
    window.record(10)
    clock.now += 20
    window.record(20)
    assert (window.average, window.least, window.most, window.rate) == (15, 10, 20, 1)
    clock.now += 20
    window.record(60)
    assert (window.average, window.most, window.rate) == (30, 60, 90 / 40)
    clock.now += 40
    assert (window.average, window.most) == (60, 60)
    clock.now += 60
    assert (window.average, window.least, window.most, window.rate, window.count_rate) == (0, 0, 0, 0, 0)


def test_a_batch_counts_when_it_is_committed_and_its_errors_also_when_not(clock: Clock) -> None:
    metrics = TaskMetrics()
    dead = [Staged("dead", 0, 2, 10, 0)]
    good = Receipt(read=5, written=3, failed=2, skipped=2, retries=1, error_log=["x"], dead_letters=dead)
    metrics.add([good, Receipt(read=1, written=1, seconds={"put": 0.5})])
    assert (metrics.read, metrics.written, metrics.batches, metrics.dead_letters) == (6, 4, 1, 2)
    assert (metrics.failed, metrics.skipped, metrics.retries, metrics.logged) == (2, 2, 1, 1)
    assert metrics.last_progress == clock.now
    assert metrics.batch_seconds["put"].most == 0.5
    clock.now += 5
    metrics.add_failed([Receipt(read=9, failed=1, failure=Failure("bad"))])
    assert (metrics.read, metrics.failed, metrics.last_error) == (6, 3, clock.now)


def test_trouble_begins_with_the_first_retry_and_ends_with_progress(clock: Clock) -> None:
    metrics = TaskMetrics()
    metrics.try_again(ValueError("first"))
    clock.now += 5
    metrics.try_again(ValueError("second"))
    assert (metrics.troubled_since, metrics.trouble, metrics.retries) == (1000.0, "second", 2)
    metrics.add([Receipt(read=1)])
    assert metrics.troubled_since is None


def test_commits_are_timed_and_judged(clock: Clock) -> None:
    metrics = TaskMetrics()
    with metrics.committing():
        clock.now += 2
    dead = Receipt(dead_letters=[Staged("dead", 0, 3, 10, 0)])
    with pytest.raises(OSError, match="full"), metrics.committing([dead]):
        raise OSError("full")
    assert (metrics.commits, metrics.commits_failed, metrics.dead_letters_lost) == (1, 1, 3)
    assert metrics.commit_seconds.most == 2


def test_ratios_are_parts_of_the_whole_life(clock: Clock) -> None:
    metrics = TaskMetrics()
    assert metrics.ratio(State.RUNNING) == 0
    metrics.enter(State.RUNNING)
    clock.now += 30
    metrics.enter(State.PAUSED)
    clock.now += 10
    assert (metrics.ratio(State.RUNNING), metrics.ratio(State.PAUSED)) == (0.75, 0.25)


def test_a_start_that_was_given_up_is_not_judged() -> None:
    startups = Startups()
    with startups.attempt(KeyError):
        pass
    with pytest.raises(ValueError, match="x"), startups.attempt(KeyError):
        raise ValueError("x")
    with pytest.raises(KeyError), startups.attempt(KeyError):
        raise KeyError("y")
    assert (startups.attempts, startups.successes, startups.failures) == (3, 1, 1)


def test_a_rebalance_lasts_until_it_is_completed(clock: Clock) -> None:
    rebalances = Rebalances()
    rebalances.begin()
    clock.now += 1
    rebalances.begin()
    assert rebalances.under_way
    clock.now += 1
    rebalances.complete()
    clock.now += 3
    assert (rebalances.completed, rebalances.seconds.most, rebalances.seconds_since_last) == (1, 2, 3)
    assert not rebalances.under_way
