"""What the dispatcher is asked for: tickets and their works."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .executor import Runnable
from .splits import Failure, Receipt

Done = Callable[[Sequence[Receipt]], None]

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

    @property
    def connector(self) -> str | None:
        """Whose work it is, where that can be told."""
        return getattr(self.work, "connector", None)


def cancelled() -> Receipt:
    """What a cancelled work leaves."""
    return Receipt(failure=Failure(CANCELLED))
