"""Whether works wait most of the time, so that more lanes would help. A queue that is soon empty is no backlog."""

from __future__ import annotations

import math

REMEMBERED_SECONDS = 1.5
"""Waiting without a break is a backlog after 0.7 times as long."""


class Backlog:
    """The share of the time in which works wait, a running average. All times are those of one clock."""

    def __init__(self) -> None:
        self._share = 0.0
        self._since = 0.0

    def note(self, waits: bool, now: float) -> None:
        """Whether something has waited since the last call."""
        kept = math.exp((self._since - now) / REMEMBERED_SECONDS)
        self._share = self._share * kept + (1.0 - kept) * waits
        self._since = now

    @property
    def lasts(self) -> bool:
        return self._share > 0.5
