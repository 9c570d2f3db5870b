"""Tasks take turns, and their past tells what to expect of them."""

from __future__ import annotations

import pytest

from penstock.spark.turns import Habits, Turns


def drained(turns: Turns[str]) -> list[str]:
    return [turns.next() for _ in range(len(turns))]


def test_a_task_with_many_works_lets_others_in_between() -> None:
    turns: Turns[str] = Turns()
    for item in ("a1", "a2", "a3", "b1", "c1", "c2"):
        turns.add(item[0], item)
    assert drained(turns) == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_works_of_one_task_keep_their_order() -> None:
    turns: Turns[str] = Turns()
    for number in range(5):
        turns.add("a", str(number))
    assert drained(turns) == ["0", "1", "2", "3", "4"]


def test_taking_a_task_out_leaves_the_others() -> None:
    turns: Turns[str] = Turns()
    for item in ("a1", "b1", "a2"):
        turns.add(item[0], item)
    assert turns.take("a") == ["a1", "a2"]
    assert turns.take("a") == []
    assert drained(turns) == ["b1"]


def test_an_empty_queue_has_no_next() -> None:
    with pytest.raises(IndexError):
        Turns[str]().next()


def test_an_unknown_task_counts_as_quick_and_busy() -> None:
    habit = Habits().of("new")
    assert not habit.is_long
    assert habit.share == 1.0


def test_a_task_becomes_long_by_its_works_and_quick_again() -> None:
    habits = Habits()
    habits.learn("task", wall=2.0, busy=2.0)
    assert habits.of("task").is_long
    for _ in range(12):
        habits.learn("task", wall=0.001, busy=0.001)
    assert not habits.of("task").is_long


def test_a_task_that_waits_wants_little_of_a_core() -> None:
    habits = Habits()
    habits.learn("task", wall=1.0, busy=0.02)
    assert habits.of("task").share == pytest.approx(0.02)


def test_only_the_latest_tasks_are_remembered() -> None:
    habits = Habits()
    for number in range(10_001):
        habits.learn(f"task-{number}", wall=5.0, busy=5.0)
    assert not habits.of("task-0").is_long
    assert habits.of("task-1").is_long
