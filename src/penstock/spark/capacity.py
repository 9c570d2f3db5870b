"""What Spark has for works, and what they use of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capacity:
    """Numbers of one moment, for whoever watches a worker.

    ``executors`` that Spark has now (one with a local master) take ``slots`` tasks at a time, ``reserved`` of which are
    kept free of lanes for the jobs of DataFrames. Lanes are ``busy`` with a work, ``idle``, or ``pending``: asked for,
    but not begun by Spark yet. ``waiting`` counts works that no lane has taken.
    """

    executors: int = 0
    slots: int = 0
    reserved: int = 0
    busy: int = 0
    idle: int = 0
    pending: int = 0
    waiting: int = 0

    @property
    def lanes(self) -> int:
        """All of them, begun or not."""
        return self.busy + self.idle + self.pending
