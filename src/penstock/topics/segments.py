"""Records in bytes: Parquet files for many, Arrow messages for few."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .folders import sync_folder
from .interface import RAW_SCHEMA

OFFSET_SCHEMA = RAW_SCHEMA.append(pa.field("offset", pa.int64()))
"""Records whose offsets have gaps, after compaction: each row names its own."""

ROW_GROUP_ROWS = 32 * 1024
ROW_GROUP_BYTES = 4 << 20
INLINE_BYTES = 256 * 1024
SLICE_OVERHEAD = 4 * 1024
"""A blob that is so much bigger than its rows carries the rest of a table they are a slice of."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A committed piece of a topic partition: the offsets from ``start`` up to ``end``.

    ``size`` is the size of its records in memory. ``oldest`` and ``newest`` tell when its first and last batch were
    committed, ``max_timestamp`` is the highest timestamp of a record; all milliseconds. ``file`` is ``None`` for
    records kept in the manifest. Unless ``explicit``, row numbers are offsets from ``start``; else there is a column
    ``offset``.
    """

    id: int
    start: int
    end: int
    count: int
    size: int
    oldest: int
    newest: int
    max_timestamp: int
    file: str | None
    explicit: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """The offsets ``start`` to ``end`` of a segment, with all that an executor needs to read them."""

    start: int
    end: int
    segment: Segment
    blob: bytes | None = None


def summary(segments: Sequence[Segment], explicit: bool) -> Segment:
    """What is true of neighbours taken together; without their records."""
    return Segment(
        id=0,
        start=segments[0].start,
        end=segments[-1].end,
        count=0,
        size=0,
        oldest=min(segment.oldest for segment in segments),
        newest=max(segment.newest for segment in segments),
        max_timestamp=max(segment.max_timestamp for segment in segments),
        file=None,
        explicit=explicit,
    )


def conform(table: pa.Table) -> pa.Table:
    """The same rows in exactly the columns and types of records at rest."""
    if table.schema.equals(RAW_SCHEMA):
        return table
    return table.select(RAW_SCHEMA.names).cast(RAW_SCHEMA)


def to_blob(table: pa.Table) -> bytes:
    """One Arrow message without its schema, which is known."""
    blob = _serialize(table)
    if len(blob) > SLICE_OVERHEAD + 2 * table.nbytes:
        blob = _serialize(table.take(pa.array(range(table.num_rows))))
    return blob


def from_blob(blob: bytes, explicit: bool) -> pa.Table:
    """The rows of :func:`to_blob`."""
    schema = OFFSET_SCHEMA if explicit else RAW_SCHEMA
    return pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(blob), schema)])


def _serialize(table: pa.Table) -> bytes:
    batches = table.combine_chunks().to_batches()
    batch = batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
    return bytes(batch.serialize())


@contextmanager
def new_file(path: Path, explicit: bool = False) -> Iterator[pq.ParquetWriter]:
    """A writer for a segment file; when the block ends, the file will survive a power loss. A failure leaves none."""
    schema = OFFSET_SCHEMA if explicit else RAW_SCHEMA
    with open(path, "xb", buffering=0) as handle:
        try:
            os.chmod(handle.fileno(), 0o600)
            with pq.ParquetWriter(
                handle,
                schema,
                compression="lz4",
                use_dictionary=False,
                write_statistics=["offset"] if explicit else False,
                store_schema=False,
                write_page_checksum=True,
            ) as writer:
                yield writer
            os.fsync(handle.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    sync_folder(path.parent)


def write_rows(writer: pq.ParquetWriter, table: pa.Table) -> None:
    """Add rows in row groups small enough to read a few of them cheaply."""
    fitting = ROW_GROUP_BYTES * table.num_rows // max(1, table.nbytes)
    writer.write_table(table, row_group_size=max(1, min(ROW_GROUP_ROWS, fitting)))


def read_file(path: Path, piece: Piece) -> pa.Table:
    """The rows of a piece, decoding only the row groups it touches."""
    with pq.ParquetFile(path, memory_map=True, page_checksum_verification=True) as file:
        if piece.segment.explicit:
            groups = _groups_by_offset(file.metadata, piece)
            return _between(file.read_row_groups(groups, use_threads=False), piece)
        first, last = piece.start - piece.segment.start, piece.end - piece.segment.start
        groups, skipped = _groups_by_row(file.metadata, first, last)
        return file.read_row_groups(groups, use_threads=False).slice(first - skipped, last - first)


def read_blob(blob: bytes, piece: Piece) -> pa.Table:
    """The rows of a piece kept in the manifest."""
    table = from_blob(blob, piece.segment.explicit)
    if piece.segment.explicit:
        return _between(table, piece)
    return table.slice(piece.start - piece.segment.start, piece.end - piece.start)


def runs(piece: Piece, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a piece as tables of consecutive offsets, each with its first offset."""
    if not piece.segment.explicit:
        if table.num_rows:
            yield piece.start, table
        return
    offsets = table.column("offset").to_numpy()
    rows = table.drop_columns("offset")
    first = 0
    for row in range(1, len(offsets) + 1):
        if row == len(offsets) or offsets[row] != offsets[row - 1] + 1:
            yield int(offsets[first]), rows.slice(first, row - first)
            first = row


def with_offsets(piece: Piece, table: pa.Table) -> pa.Table:
    """The same rows with the column ``offset``."""
    if piece.segment.explicit:
        return table
    offsets = pa.array(range(piece.start, piece.start + table.num_rows), pa.int64())
    return table.append_column(OFFSET_SCHEMA.field("offset"), offsets)


def _between(table: pa.Table, piece: Piece) -> pa.Table:
    offsets = table.column("offset")
    return table.filter(pc.and_(pc.greater_equal(offsets, piece.start), pc.less(offsets, piece.end)))


def _groups_by_row(metadata: pq.FileMetaData, first: int, last: int) -> tuple[list[int], int]:
    """The row groups that hold rows ``first`` to ``last``, and the number of rows before them."""
    groups: list[int] = []
    skipped = row = 0
    for group in range(metadata.num_row_groups):
        end = row + metadata.row_group(group).num_rows
        if end <= first:
            skipped = end
        elif row < last:
            groups.append(group)
        row = end
    return groups, skipped


def _groups_by_offset(metadata: pq.FileMetaData, piece: Piece) -> list[int]:
    groups = []
    for group in range(metadata.num_row_groups):
        found = metadata.row_group(group)
        statistics = found.column(found.num_columns - 1).statistics
        if statistics is None or (statistics.min < piece.end and statistics.max >= piece.start):
            groups.append(group)
    return groups
