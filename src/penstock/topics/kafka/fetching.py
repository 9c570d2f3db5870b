"""How much of each partition a batch takes, when nobody knows how big records are."""

from __future__ import annotations

from collections.abc import Sequence

from ..fetching import share
from ..interface import Range
from .positions import Span

FIRST_GUESS = 16_384
"""Bytes of a record of a topic that was never read: a first batch stays small."""


class Estimates:
    """The usual size of a topic's records, learnt from what was read. One consumer's, used from one loop."""

    def __init__(self) -> None:
        self._sizes: dict[str, float] = {}

    def learn(self, ranges: Sequence[Range], records: int, size: int) -> None:
        """What reading some ranges brought."""
        if records:
            each = max(1.0, size / records)
            for topic in {rows.topic for rows in ranges}:
                before = self._sizes.get(topic, each)
                self._sizes[topic] = max(each, (before + each) / 2)

    def of(self, topic: str) -> float:
        return self._sizes.get(topic, FIRST_GUESS)


def next_ranges(spans: Sequence[Span], max_records: int, max_bytes: int, estimates: Estimates) -> list[Range]:
    """Fair shares of the limits for every partition that has something."""
    if not spans:
        return []
    lengths = [span.end - span.start for span in spans]
    records = share(lengths, max_records)
    sizes = share([int(n * estimates.of(span.at.topic)) + 1 for n, span in zip(lengths, spans, strict=True)], max_bytes)
    found = []
    for span, length, some, size in zip(spans, lengths, records, sizes, strict=True):
        count = min(length, some, max(1, int(size / estimates.of(span.at.topic))))
        found.append(Range(span.at.topic, span.at.partition, span.start, span.start + count))
    return found
