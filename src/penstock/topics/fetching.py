"""Which pieces of the topics a consumer reads next."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from .index import Index, PartitionIndex
from .interface import Range, TopicPartition
from .segments import Piece

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Slice:
    """Pieces of one partition, and about how much they hold."""

    pieces: Sequence[Piece]
    records: int
    size: int


def next_ranges(
    index: Index, start: Mapping[TopicPartition, int | None], max_records: int, max_bytes: int
) -> list[Range]:
    """Fair shares of the limits for every partition that has something. Blobs are filled in where cached.

    Call with the index locked.
    """
    slices: dict[TopicPartition, _Slice] = {}
    for at, position in start.items():
        partition = index.partition(at)
        if partition is not None:
            found = _slice(partition, _resolve(at, partition, position), max_records, max_bytes)
            if found.pieces:
                slices[at] = found
    if len(slices) > 1:
        records = share([found.records for found in slices.values()], max_records)
        sizes = share([found.size for found in slices.values()], max_bytes)
        for (at, found), some, size in zip(list(slices.items()), records, sizes, strict=True):
            partition = index.partition(at)
            assert partition is not None
            slices[at] = _slice(partition, found.pieces[0].start, some, size)
    return [_range(index, at, found) for at, found in slices.items()]


def split_range(rows: Range, parts: int) -> list[Range]:
    """The same records in up to ``parts`` ranges of about the same length, in order."""
    length = rows.end - rows.start
    parts = max(1, min(parts, length))
    edges = [rows.start + length * part // parts for part in range(parts + 1)]
    found = [
        Range(rows.topic, rows.partition, first, last, _cut(rows.pieces, first, last))
        for first, last in pairwise(edges)
    ]
    return [part for part in found if part.pieces] or [rows]


def share(demands: Sequence[int], limit: int) -> list[int]:
    """Divide a limit: who wants less than an even share gets all of it, and leaves the rest to others."""
    shares = [0] * len(demands)
    left, waiting = limit, len(demands)
    for which in sorted(range(len(demands)), key=lambda which: demands[which]):
        shares[which] = max(1, min(demands[which], left // waiting))
        left = max(0, left - shares[which])
        waiting -= 1
    return shares


def _resolve(at: TopicPartition, partition: PartitionIndex, position: int | None) -> int:
    if position is None:
        return partition.first
    if position < partition.first:
        logger.warning(
            "Offset %d of %s-%d is no longer kept; going on at the earliest one, %d", position, *at, partition.first
        )
        return partition.first
    if position > partition.next:
        logger.warning(
            "Offset %d of %s-%d is beyond the end, %d; going on at the earliest one, %d",
            position, *at, partition.next, partition.first,
        )
        return partition.first
    return position


def _slice(partition: PartitionIndex, start: int, max_records: int, max_bytes: int) -> _Slice:
    pieces: list[Piece] = []
    records = size = 0
    for segment in partition.segments[partition.find(start) :]:
        first = max(start, segment.start)
        span = segment.end - segment.start
        each = max(1, segment.size // max(1, segment.count))
        wanted = min(max_records - records, (max_bytes - size) // each)
        if wanted <= 0:
            if pieces:
                break
            wanted = 1
        length = min(segment.end - first, max(1, wanted * span // max(1, segment.count)))
        pieces.append(Piece(first, first + length, segment))
        taken = max(1, length * segment.count // span)
        records += taken
        size += taken * each
        if first + length < segment.end:
            break
    return _Slice(pieces, records, size)


def _range(index: Index, at: TopicPartition, found: _Slice) -> Range:
    pieces = [
        piece if piece.segment.file else replace(piece, blob=index.blobs.get(piece.segment.id))
        for piece in found.pieces
    ]
    return Range(at.topic, at.partition, pieces[0].start, pieces[-1].end, pieces)


def _cut(pieces: Sequence[Piece], first: int, last: int) -> list[Piece]:
    return [
        replace(piece, start=max(piece.start, first), end=min(piece.end, last))
        for piece in pieces
        if piece.start < last and piece.end > first
    ]
