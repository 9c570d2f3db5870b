"""Only the newest record of each key (``cleanup.policy=compact``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from .interface import TopicPartition
from .manifest import Draft
from .rewriting import Rewriter, SegmentWriter
from .segments import Segment, summary, with_offsets
from .settings import TopicSettings


def is_due(segments: Sequence[Segment], rules: TopicSettings) -> bool:
    """Whether enough was added since the last compaction; compacted segments are those with explicit offsets."""
    dirty = sum(segment.size for segment in segments if not segment.explicit)
    return dirty > 0 and dirty >= rules.min_cleanable_dirty_ratio * sum(segment.size for segment in segments)


def compact(
    rewriter: Rewriter, at: TopicPartition, segments: Sequence[Segment], first: int, rules: TopicSettings, now: int
) -> list[Draft]:
    """Segments without overtaken records and old tombstones, written but not committed.

    Records without a key stay. A tombstone lives through one compaction at least, so that consumers see it even when
    its timestamp is an old one.
    """
    newest = _newest_offsets(rewriter, at, segments, first)
    drafts: list[Draft] = []
    writer: SegmentWriter | None = None
    start = end = 0
    template = summary(segments, explicit=True)

    def finish(until: int) -> None:
        assert writer is not None
        drafts.append(writer.finish(replace(template, start=start, end=until)))

    for table in _survivors(rewriter, at, segments, first, newest, now - rules.delete_retention_ms):
        if writer is None:
            writer, start = rewriter.new_writer(explicit=True), table.column("offset")[0].as_py()
        writer.add(table)
        end = table.column("offset")[-1].as_py() + 1
        if writer.size >= rules.segment_bytes:
            finish(end)
            writer = None
    if writer is not None:
        finish(segments[-1].end)
    return drafts


def _newest_offsets(
    rewriter: Rewriter, at: TopicPartition, segments: Sequence[Segment], first: int
) -> pa.Array:
    """The offset of the newest record of each key."""
    kept: pa.Table | None = None
    for piece, table in rewriter.tables(at, segments, first):
        keys = with_offsets(piece, table).select(["key", "offset"])
        keys = keys.filter(pc.is_valid(keys.column("key")))
        joined = keys if kept is None else pa.concat_tables([kept, keys])
        newest = joined.group_by("key").aggregate([("offset", "max")])
        kept = newest.rename_columns(["key", "offset"]).select(["key", "offset"])
    assert kept is not None
    return kept.column("offset").combine_chunks()


def _survivors(
    rewriter: Rewriter, at: TopicPartition, segments: Sequence[Segment], first: int, newest: pa.Array, horizon: int
) -> Iterator[pa.Table]:
    for piece, table in rewriter.tables(at, segments, first):
        rows = with_offsets(piece, table)
        rows = rows.filter(pc.or_(pc.is_null(rows.column("key")), pc.is_in(rows.column("offset"), newest)))
        if piece.segment.explicit:
            old = pc.fill_null(pc.less(rows.column("timestamp"), horizon), False)
            rows = rows.filter(pc.invert(pc.and_(pc.is_null(rows.column("value")), old)))
        if rows.num_rows:
            yield rows
