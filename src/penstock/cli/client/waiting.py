"""Waiting until connectors are in a state, and showing how it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.runtime.traces import headline

from .problems import NotReached, Refused, Unsupported
from .screen import errors
from .states import Status, failures, state, statuses_of, task_states

if TYPE_CHECKING:
    from .api import ConnectApi

POLL_SECONDS = 0.2
FAILED_SECONDS = 3.0
TASKLESS_SECONDS = 10.0
SETTLE_SECONDS = 1.0
UNTOLD_SECONDS = 3.0


@dataclass(frozen=True)
class Goal:
    """What to wait for. ``reached`` gets a status and for how long the connector has looked like that."""

    name: str
    reached: Callable[[Status | None, float], bool]


def _running(status: Status | None, seconds: float) -> bool:
    states = task_states(status)
    enough = all(one == "RUNNING" for one in states) and (bool(states) or seconds > TASKLESS_SECONDS)
    return state(status) == "RUNNING" and enough


def _paused(status: Status | None, seconds: float) -> bool:
    return state(status) == "PAUSED" and all(one == "PAUSED" for one in task_states(status))


def _stopped(status: Status | None, seconds: float) -> bool:
    return state(status) == "STOPPED" and not task_states(status)


RUNNING = Goal("RUNNING", _running)
PAUSED = Goal("PAUSED", _paused)
STOPPED = Goal("STOPPED", _stopped)
GONE = Goal("gone", lambda status, seconds: status is None)

GOALS = {goal.name: goal for goal in (RUNNING, PAUSED, STOPPED)}
RESTARTED = Goal("RUNNING", lambda status, seconds: any(goal.reached(status, seconds) for goal in GOALS.values()))
"""A connector that was paused or stopped is so again after a restart."""


@dataclass
class Waited:
    """What waiting came to: the last status of each connector, and why some are not where they should be."""

    statuses: dict[str, Status | None] = field(default_factory=dict)
    problems: dict[str, NotReached] = field(default_factory=dict)


class _Changed:
    """Connectors whose configuration was just changed: that they run counts once it is the new one that runs.

    In a cluster other workers learn of it a moment later than the one that is asked; a Kafka Connect does not tell at
    all whether a configuration is in force, and gets a while.
    """

    def __init__(self, api: ConnectApi, names: Collection[str]) -> None:
        self._api = api
        self._waiting = set(names)
        self._counts_from: dict[str, float] = {}

    def look(self) -> None:
        """Ask about those that were not in force yet. To be called before statuses are read."""
        for name in sorted(self._waiting):
            settle = self._settle(name)
            if settle is not None:
                self._waiting.remove(name)
                self._counts_from[name] = time.monotonic() + settle

    def counts(self, name: str, now: float) -> bool:
        """Whether a status that was read after ``now`` is one of the new configuration."""
        return name not in self._waiting and now >= self._counts_from.get(name, now)

    def _settle(self, name: str) -> float | None:
        try:
            return SETTLE_SECONDS if self._api.get("connectors", name, "lifecycle")["applied"] else None
        except Unsupported:
            return UNTOLD_SECONDS
        except Refused as error:
            if error.status == 404:
                return 0.0
            raise


def wait_for(api: ConnectApi, name: str, goal: Goal, seconds: float, changed: bool = False) -> None:
    """Come back once the connector has reached its goal. Raises :class:`NotReached` as :func:`wait_for_all` tells."""
    for problem in wait_for_all(api, {name: goal}, seconds, [name] if changed else []).problems.values():
        raise problem


def wait_for_all(
    api: ConnectApi, goals: Mapping[str, Goal], seconds: float, changed: Collection[str] = ()
) -> Waited:
    """Come back once each connector has reached its goal, or will not.

    A connector will not when ``seconds`` are over, or when it has failed for so long that it is no passing matter; the
    others are still waited for. Those that are ``changed`` have got a new configuration and must run with it.
    """
    news = _Changed(api, [name for name in changed if goals.get(name) is RUNNING])
    begin = time.monotonic()
    left = dict(goals)
    seen: dict[str, tuple[str, float]] = {}
    waited = Waited()
    with _progress(goals) as show:
        while left:
            news.look()
            now = time.monotonic()
            for name, status in statuses_of(api, list(left)).items():
                look = _look(status)
                if seen.get(name, ("", 0.0))[0] != look:
                    seen[name] = (look, now)
                    show(name, look)
                waited.statuses[name] = status
                since = now - seen[name][1]
                if news.counts(name, now) and left[name].reached(status, since):
                    del left[name]
                elif left[name] is not GONE and failures(status) and since > FAILED_SECONDS:
                    waited.problems[name] = _failure(name, left.pop(name), status)
            if left and now - begin > seconds:
                waited.problems.update({name: _late(name, goal, seconds, seen) for name, goal in left.items()})
                break
            if left:
                time.sleep(POLL_SECONDS)
    return waited


@contextmanager
def _progress(goals: Mapping[str, Goal]) -> Iterator[Callable[[str, str], None]]:
    """Tells changes: in place on a terminal, line by line elsewhere."""
    screen = errors()
    if not screen.is_terminal:
        yield lambda name, look: screen.line(f"{name}: {look}")
        return
    looks: dict[str, str] = {}
    title = f"Waiting for {' or '.join(sorted({goal.name for goal in goals.values()}))}"
    with screen.console.status(title) as status:

        def show(name: str, look: str) -> None:
            looks[name] = look
            text = "  ".join(f"{one}: {at}" for one, at in list(looks.items())[-3:])
            status.update(f"{title} ({len(goals)})  {text}".replace("[", "\\["))

        yield show


def _look(status: Status | None) -> str:
    if status is None:
        return "no status"
    tasks = task_states(status)
    shown = ", ".join(f"{tasks.count(one)} {one}" for one in sorted(set(tasks)))
    return state(status) + (f" (tasks: {shown})" if shown else "")


def _failure(name: str, goal: Goal, status: Status | None) -> NotReached:
    what, trace = failures(status)[0]
    text = f"{name} will not be {goal.name}: its {what} has FAILED: {headline(trace)}"
    hint = f"penstock describe {name} shows the trace; mend the cause, then penstock restart {name} --failed"
    return NotReached(text, hint)


def _late(name: str, goal: Goal, seconds: float, seen: Mapping[str, tuple[str, float]]) -> NotReached:
    text = f"Not {goal.name} after {seconds:g} s: {name} is {seen[name][0]}"
    return NotReached(text, "It may still happen: --timeout waits longer.")
