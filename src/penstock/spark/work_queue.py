"""Works that wait for a lane: quick and long ones apart, tasks in turn."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from .backlog import Backlog
from .tickets import Entry
from .turns import LONG_SECONDS, Habits, Turns

FAIR_SECONDS = 0.2
"""How long long works wait, at most, while quick ones take every lane that becomes free."""

QUICK_SECONDS = 10.0
"""So long after a quick work another one is expected."""


class WorkQueue:
    """Not safe for threads by itself: the dispatcher's lock is held by whoever calls it."""

    def __init__(self) -> None:
        self._quick: Turns[Entry] = Turns()
        self._long: Turns[Entry] = Turns()
        self._habits = Habits()
        self._long_began = 0.0
        self._quick_came = -math.inf
        self._backlog = Backlog()

    def __len__(self) -> int:
        return self.quick + self.long

    @property
    def quick(self) -> int:
        """How many works wait that should be done soon."""
        return len(self._quick)

    @property
    def long(self) -> int:
        """How many works wait that will hold their lane."""
        return len(self._long)

    @property
    def has_quick_works(self) -> bool:
        """Whether some came lately, so that others may be expected."""
        return time.monotonic() - self._quick_came < QUICK_SECONDS

    @property
    def is_backlogged(self) -> bool:
        """Whether works wait, and do so most of the time."""
        self._note()
        return len(self) > 0 and self._backlog.lasts

    def connectors(self) -> Iterator[str]:
        """Whose works wait, those of one connector perhaps several times."""
        return (name for turns in (self._quick, self._long) for name in (entry.connector for entry in turns) if name)

    def add(self, entry: Entry) -> None:
        """What the task's works took lately tells which kind this is."""
        self._note()
        habit = self._habits.of(entry.ticket.task_key)
        entry.long, entry.share = habit.is_long, habit.share
        if not entry.long:
            self._quick_came = time.monotonic()
        (self._long if entry.long else self._quick).add(entry.ticket.task_key, entry)

    def next(self, room_for_long: Callable[[], bool]) -> Entry | None:
        """Quick works first, unless a long one has waited; long ones as far as cores are free for them."""
        self._note()
        if self._quick and not self._long_has_waited():
            return self._quick.next()
        if self._long and room_for_long():
            self._long_began = time.monotonic()
            return self._long.next()
        return self._quick.next() if self._quick else None

    def take(self, task_key: str, wanted: Callable[[Entry], bool]) -> list[Entry]:
        """Remove the works of a task that are wanted; the others go on waiting."""
        self._note()
        taken: list[Entry] = []
        for turns in (self._quick, self._long):
            for entry in turns.take(task_key):
                if wanted(entry):
                    taken.append(entry)
                else:
                    turns.add(task_key, entry)
        return taken

    def drain(self) -> Iterator[Entry]:
        """Everything, removed one by one."""
        self._note()
        for turns in (self._quick, self._long):
            while turns:
                yield turns.next()

    def learn(self, task_key: str, wall: float, busy: float) -> None:
        """A work of the task took ``wall`` seconds, ``busy`` of them computing."""
        self._habits.learn(task_key, wall, busy)

    def turn_long(self, task_key: str) -> None:
        """A work thought quick is not: what waits of its task counts as long from now on."""
        self._habits.learn(task_key, 10 * LONG_SECONDS, 10 * LONG_SECONDS)
        for entry in self._quick.take(task_key):
            self.add(entry)

    def _note(self) -> None:
        """Before each change: it has been as it is since the last one."""
        self._backlog.note(len(self) > 0, time.monotonic())

    def _long_has_waited(self) -> bool:
        """Without an end of quick works, long ones would never get a lane."""
        return bool(self._long) and time.monotonic() - max(self._long_began, self._long.first.since) > FAIR_SECONDS
