"""Few large segments instead of many small ones."""

from __future__ import annotations

from collections.abc import Sequence

from .interface import TopicPartition
from .manifest import Draft
from .rewriting import Rewriter
from .segments import Segment, summary
from .settings import TopicSettings

WORTHWHILE = 32
"""Merge when so many small neighbours stand together (or when they nearly fill a segment)."""

LARGE_SHARE = 16
"""A segment of this fraction of the largest is large enough: rewriting it costs more than readers gain."""

SHARE_OF_RETENTION = 10
"""A merged segment covers at most this fraction of the retention, since segments are dropped whole."""


def choose_run(segments: Sequence[Segment], rules: TopicSettings) -> Sequence[Segment]:
    """Small neighbours worth merging, newest first looked at; empty when there are none.

    A neighbour joins only when it is no bigger than all newer ones of the run together, so that a record is
    rewritten a number of times that grows with the logarithm of the segment size.
    """
    limit, span = _limits(rules)
    run: list[Segment] = []
    size = 0
    for segment in reversed(segments):
        large = segment.size * LARGE_SHARE >= limit
        fits = not run or (
            not large
            and segment.explicit == run[-1].explicit
            and segment.size <= size
            and size + segment.size <= limit
            and run[0].newest - segment.oldest <= span
        )
        if not fits:
            if _worthwhile(run, size, limit):
                break
            run, size = [], 0
        if not large:
            run.append(segment)
            size += segment.size
    return run[::-1] if _worthwhile(run, size, limit) else []


def merge(rewriter: Rewriter, at: TopicPartition, run: Sequence[Segment]) -> Draft:
    """One segment with the records of many, written but not committed."""
    writer = rewriter.new_writer(run[0].explicit)
    try:
        for _, table in rewriter.tables(at, run):
            writer.add(table)
    except BaseException:
        writer.abandon()
        raise
    return writer.finish(summary(run, run[0].explicit))


def _limits(rules: TopicSettings) -> tuple[int, float]:
    limit = rules.segment_bytes
    if rules.delete and rules.retention_bytes >= 0:
        limit = min(limit, rules.retention_bytes // SHARE_OF_RETENTION)
    timed = rules.delete and rules.retention_ms >= 0
    return limit, rules.retention_ms / SHARE_OF_RETENTION if timed else float("inf")


def _worthwhile(run: Sequence[Segment], size: int, limit: int) -> bool:
    return len(run) >= WORTHWHILE or (len(run) > 1 and size >= limit / 2)
