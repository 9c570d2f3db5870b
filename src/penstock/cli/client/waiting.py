"""Waiting until connectors are in a state, and showing how it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.runtime.traces import headline

from .problems import NotReached
from .screen import errors
from .states import Status, failures, state, statuses_of, task_states

if TYPE_CHECKING:
    from .api import ConnectApi

POLL_SECONDS = 0.2
FAILED_SECONDS = 3.0
TASKLESS_SECONDS = 10.0


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


def wait_for(api: ConnectApi, names: Sequence[str], goal: Goal, seconds: float) -> Mapping[str, Status | None]:
    """The statuses once all have reached the goal.

    Raises :class:`NotReached` after ``seconds``, or when one has failed for so long that it is no passing matter.
    """
    begin = time.monotonic()
    open_names = list(names)
    seen: dict[str, tuple[str, float]] = {}
    last: dict[str, Status | None] = {}
    with _progress(len(names), goal) as show:
        while open_names:
            now = time.monotonic()
            for name, status in statuses_of(api, open_names).items():
                look = _look(status)
                if seen.get(name, ("", 0.0))[0] != look:
                    seen[name] = (look, now)
                    show(name, look)
                last[name] = status
                since = now - seen[name][1]
                if goal.reached(status, since):
                    open_names.remove(name)
                elif goal is not GONE and failures(status) and since > FAILED_SECONDS:
                    raise NotReached(*_failure(name, goal, status))
            if open_names and now - begin > seconds:
                raise NotReached(*_late(open_names, goal, seconds, last))
            if open_names:
                time.sleep(POLL_SECONDS)
    return last


@contextmanager
def _progress(count: int, goal: Goal) -> Iterator[Callable[[str, str], None]]:
    """Tells changes: in place on a terminal, line by line elsewhere."""
    screen = errors()
    if not screen.is_terminal:
        yield lambda name, look: screen.line(f"{name}: {look}")
        return
    looks: dict[str, str] = {}
    with screen.console.status(f"Waiting for {goal.name}") as status:

        def show(name: str, look: str) -> None:
            looks[name] = look
            text = "  ".join(f"{one}: {at}" for one, at in list(looks.items())[-3:])
            status.update(f"Waiting for {goal.name} ({count})  {text}".replace("[", "\\["))

        yield show


def _look(status: Status | None) -> str:
    if status is None:
        return "no status"
    tasks = task_states(status)
    shown = ", ".join(f"{tasks.count(one)} {one}" for one in sorted(set(tasks)))
    return state(status) + (f" (tasks: {shown})" if shown else "")


def _failure(name: str, goal: Goal, status: Status | None) -> tuple[str, str]:
    what, trace = failures(status)[0]
    text = f"{name} will not be {goal.name}: its {what} has FAILED: {headline(trace)}"
    return text, f"penstock describe {name} shows the trace; mend the cause, then penstock restart {name} --failed"


def _late(names: Sequence[str], goal: Goal, seconds: float, last: Mapping[str, Status | None]) -> tuple[str, str]:
    looks = ", ".join(f"{name} is {_look(last.get(name))}" for name in names)
    return f"Not {goal.name} after {seconds:g} s: {looks}", "It may still happen: --timeout waits longer."
