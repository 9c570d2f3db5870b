"""Time spent in each step of a split."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from .splits import Receipt


class Steps:
    """A watch that is told which step the time since its last reading belongs to."""

    def __init__(self, *names: str) -> None:
        self._seconds = dict.fromkeys(names, 0.0)
        self._mark = perf_counter()

    def next(self, name: str) -> None:
        """The time since the last reading was spent in this step."""
        now = perf_counter()
        self._seconds[name] += now - self._mark
        self._mark = now

    def shift(self, step: str, other: str, seconds: float) -> None:
        """Some of the time of a step belongs to another."""
        self._seconds[step] -= seconds
        self._seconds[other] += seconds

    def skip(self) -> None:
        """The time since the last reading belongs to no step."""
        self._mark = perf_counter()

    @contextmanager
    def recorded(self, receipt: Receipt) -> Iterator[None]:
        """Write the readings into a receipt, also when the split fails."""
        try:
            yield
        finally:
            receipt.seconds = self._seconds
