"""Rates, averages, minima and maxima over the last minute, as Kafka Connect's metrics have them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

WINDOW_SECONDS = 30.0
"""Kafka Connect's ``metrics.sample.window.ms``; two of them are looked at."""


@dataclass
class _Sample:
    start: float
    count: int = 0
    total: float = 0.0
    least: float = math.inf
    most: float = 0.0


class Window:
    """What was recorded in this window of time and the one before it. Recording costs the same at any rate."""

    def __init__(self) -> None:
        self._now = _Sample(time.monotonic())
        self._before: _Sample | None = None

    def record(self, value: float) -> None:
        """Something was measured just now."""
        sample = self._current()
        sample.count += 1
        sample.total += value
        sample.least = min(sample.least, value)
        sample.most = max(sample.most, value)

    @property
    def average(self) -> float:
        """Of what was recorded; 0 when nothing was."""
        samples = self._samples()
        count = sum(sample.count for sample in samples)
        return sum(sample.total for sample in samples) / count if count else 0.0

    @property
    def least(self) -> float:
        """The smallest value; 0 when nothing was recorded."""
        found = min(sample.least for sample in self._samples())
        return found if math.isfinite(found) else 0.0

    @property
    def most(self) -> float:
        """The largest value; 0 when nothing was recorded."""
        return max(sample.most for sample in self._samples())

    @property
    def rate(self) -> float:
        """The sum of the values for each second; of a short time as if it had been a whole window."""
        return self._for_each_second(sum(sample.total for sample in self._samples()))

    @property
    def count_rate(self) -> float:
        """How many values there were for each second."""
        return self._for_each_second(sum(sample.count for sample in self._samples()))

    def _for_each_second(self, amount: float) -> float:
        elapsed = time.monotonic() - min(sample.start for sample in self._samples())
        return amount / max(elapsed, WINDOW_SECONDS)

    def _samples(self) -> list[_Sample]:
        self._current()
        before = self._before
        return [self._now] if before is None else [before, self._now]

    def _current(self) -> _Sample:
        now, sample = time.monotonic(), self._now
        age = now - sample.start
        if age < WINDOW_SECONDS:
            return sample
        self._before = sample if age < 2 * WINDOW_SECONDS else None
        self._now = _Sample(now)
        return self._now
