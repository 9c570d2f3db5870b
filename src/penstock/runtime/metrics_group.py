"""What a member of the group measures of its talk with the group's coordinator."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from .windows import Window


class Meter:
    """How often something was done, how long it took, and when it was last done."""

    def __init__(self) -> None:
        self.total = 0
        self.total_seconds = 0.0
        self.seconds = Window()
        self._last: float | None = None

    def record(self, seconds: float = 0.0) -> None:
        """It was done just now and took so long."""
        self.total += 1
        self.total_seconds += seconds
        self.seconds.record(seconds)
        self._last = time.monotonic()

    @property
    def seconds_since_last(self) -> float | None:
        return None if self._last is None else time.monotonic() - self._last


class GroupMeters:
    """Heartbeats, joins and syncs that were answered, and rebalances. Written on the network thread."""

    def __init__(self) -> None:
        self.heartbeats = Meter()
        self.joins = Meter()
        self.syncs = Meter()
        self.rebalances = Meter()
        self.failed_rebalances = Meter()
        self._began: float | None = None

    @contextmanager
    def rebalancing(self, *expected: type[Exception]) -> Iterator[None]:
        """Around a join and its sync. One that fails, but for what is ``expected``, is counted as such; the next
        one is still in the same rebalance."""
        if self._began is None:
            self._began = time.monotonic()
        try:
            yield
        except expected:
            raise
        except Exception:
            self.failed_rebalances.record()
            raise
        self.rebalances.record(time.monotonic() - self._began)
        self._began = None
