"""What the dispatcher keeps account of: tickets, their works, and the lanes that run them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .executor import Runnable
from .lanes import Lane
from .splits import Failure, Receipt
from .turns import LONG_SECONDS

Done = Callable[[Sequence[Receipt]], None]
OLDEST_SECONDS = 900.0
"""The age at which an idle lane makes room, so that Spark can place it anew."""

PINNED_SECONDS = 5.0
"""A lane is not ended for its age when it ran a pinned work this short a time ago."""

OVERDUE_SECONDS = 5.0

CANCELLED = "Cancelled"
"""The trace of the failure in receipts of cancelled works."""


class Ticket:
    """One submission.

    ``done`` is called exactly once, when none of its works runs any more, unless the dispatcher is stopped before.
    """

    def __init__(self, task_key: str, size: int, done: Done, cancel: Callable[[Ticket], None]) -> None:
        self.task_key = task_key
        self.done = done
        self.receipts: list[Receipt | None] = [None] * size
        self.cancelled = False
        self._cancel = cancel

    def cancel(self) -> None:
        """Give up, from any thread, without waiting.

        Works that wait never start; works that run are killed if they do not end within a blink. ``done`` then gets
        receipts whose failure says ``CANCELLED`` for all that had not ended.
        """
        self._cancel(self)

    def is_complete(self) -> bool:
        return None not in self.receipts


@dataclass(eq=False, slots=True)
class Entry:
    """One work of a ticket."""

    ticket: Ticket
    index: int
    work: Runnable
    since: float = field(default_factory=time.monotonic)
    long: bool = False
    share: float = 0.0

    @property
    def pin(self) -> str | None:
        """Works with the same pin run in the same lane, as long as it lives."""
        return getattr(self.work, "pin", None)


@dataclass(eq=False, slots=True)
class Seat:
    """A lane as the dispatcher sees it: opening, idle, or busy with an entry since some time."""

    lane: Lane
    opened: float
    entry: Entry | None = None
    since: float = 0.0
    opening: bool = True
    kill_at: float | None = None
    doomed: bool = False
    wake: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    pins: set[str] = field(default_factory=set)
    pinned: deque[Entry] = field(default_factory=deque)

    def take(self, entry: Entry) -> None:
        self.entry, self.since = entry, time.monotonic()
        if entry.pin is not None:
            self.pins.add(entry.pin)

    def is_stuck(self) -> bool:
        """Whether its work turned out long."""
        return self.entry is not None and time.monotonic() - self.since > LONG_SECONDS

    def is_overdue(self) -> bool:
        """Whether its work takes so long that it hardly computes all the time."""
        return self.entry is not None and time.monotonic() - self.since > OVERDUE_SECONDS

    def is_too_old(self) -> bool:
        """Old, and nothing that is pinned to it is in the middle of something."""
        now = time.monotonic()
        return now - self.opened > OLDEST_SECONDS and not (self.pins and now - self.since < PINNED_SECONDS)


def cancelled() -> Receipt:
    """What a cancelled work leaves."""
    return Receipt(failure=Failure(CANCELLED))
