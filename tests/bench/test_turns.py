"""Systems that take turns in a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from bench.figures import Figure
from bench.turns import Turns, take_turns, turns_of


class Steps:
    """Steps of systems that are letters, and all that happens in them."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.figures: dict[str, Sequence[Figure]] = {}
        self.failures: dict[str, str] = {}

    @contextmanager
    def started(self, system: str) -> Iterator[None]:
        try:
            yield
        finally:
            self.seen.append(f"{system} stops")

    def step(self, system: str, rounds: int, error: BaseException | None = None) -> Turns:
        with self.started(system):
            for number in range(rounds):
                self.seen.append(f"{system}{number}")
                yield
            if error:
                raise error
        return [Figure(system, system, "s", rounds)]

    def at_once(self, system: str) -> list[Figure]:
        self.seen.append(system)
        return [Figure(system, system, "s", 1)]

    def take(self, **turns: Turns) -> None:
        take_turns(turns, self.figures.__setitem__, lambda system, error: self.failures.update({system: str(error)}))


def test_each_system_has_a_turn_after_the_other_until_all_have_ended() -> None:
    steps = Steps()
    steps.take(a=turns_of(lambda: steps.step("a", 2)), b=turns_of(lambda: steps.step("b", 3)))
    assert steps.seen == ["a0", "b0", "a1", "b1", "a stops", "b2", "b stops"]
    assert {system: figure.value for system, [figure] in steps.figures.items()} == {"a": 2, "b": 3}


def test_a_step_without_turns_is_one() -> None:
    steps = Steps()
    steps.take(a=turns_of(lambda: steps.at_once("a")), b=turns_of(lambda: steps.at_once("b")))
    assert steps.seen == ["a", "b"]
    assert set(steps.figures) == {"a", "b"}


def test_a_system_that_fails_does_not_keep_the_other_from_going_on() -> None:
    steps = Steps()
    steps.take(a=steps.step("a", 1, RuntimeError("no")), b=steps.step("b", 2))
    assert steps.seen == ["a0", "b0", "a stops", "b1", "b stops"]
    assert steps.failures == {"a": "no"}
    assert set(steps.figures) == {"b"}


def test_whoever_waits_for_a_turn_is_stopped_when_the_user_interrupts() -> None:
    steps = Steps()
    with pytest.raises(KeyboardInterrupt):
        steps.take(a=steps.step("a", 9), b=steps.step("b", 1, KeyboardInterrupt()))
    assert steps.seen == ["a0", "b0", "a1", "b stops", "a stops"]
