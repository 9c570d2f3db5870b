"""Not more requests a second than a service allows."""

from __future__ import annotations

import time


class Pace:
    """Spreads requests evenly; 0 a second means no limit."""

    def __init__(self, per_second: float) -> None:
        self._gap = 1 / per_second if per_second else 0.0
        self._next = 0.0

    def wait(self) -> None:
        """Return when the next request may go."""
        if not self._gap:
            return
        now = time.monotonic()
        if now < self._next:
            time.sleep(self._next - now)
        self._next = max(now, self._next) + self._gap
