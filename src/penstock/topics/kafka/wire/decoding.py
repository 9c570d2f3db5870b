"""Record batches, as a fetch brings them, into tables."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ...interface import RAW_SCHEMA
from . import varints
from .boundaries import starts
from .checksums import crc32c
from .compression import decompress
from .varints import Bytes, Malformed, Numbers

HEADER = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, CRC, attributes, last offset delta, base timestamp, max timestamp,
producer id, producer epoch, base sequence, number of records."""
SIZE_BYTES = 12
"""What lies before the part that the length counts."""
CRC_FROM = 21
MAGIC = 2
MAGIC_AT = 16

CODEC, LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 0x07, 0x08, 0x10, 0x20
ABORT = 0

BYTES_AT_ONCE = 4 << 20
"""Batches are decoded together, up to so many bytes: the cost of each call is shared, and the processor's cache holds
them until they are written."""

_HEADERS = RAW_SCHEMA.field("headers").type


class OldFormat(Exception):
    """Records of before Kafka 0.11."""


class Corrupt(Exception):
    """A batch that is not what was written."""


class Batch(NamedTuple):
    """One batch and where its records lie."""

    offset: int
    last: int
    attributes: int
    base_time: int
    max_time: int
    producer: int
    records: int
    first_byte: int
    last_byte: int


@dataclass(frozen=True)
class Rows:
    """Records whose offsets have no gaps."""

    first: int
    table: pa.Table

    @property
    def end(self) -> int:
        return self.first + len(self.table)

    def between(self, start: int, end: int) -> Rows:
        """Those with these offsets."""
        skipped = max(0, start - self.first)
        if not skipped and end >= self.end:
            return self
        return Rows(self.first + skipped, self.table.slice(skipped, max(0, end - self.first - skipped)))


def batches(data: Bytes, first: int, end: int, check: bool) -> Iterator[Batch]:
    """The complete batches in some bytes. A last one that was cut off is left out."""
    view = data.data
    while end - first >= HEADER.size:
        if view[first + MAGIC_AT] != MAGIC:
            raise OldFormat
        offset, length, _, _, crc, attributes, delta, base, newest, producer, _, _, count = HEADER.unpack_from(
            view, first
        )
        after = first + SIZE_BYTES + length
        if after > end:
            return
        if length < HEADER.size - SIZE_BYTES:
            raise Corrupt(f"The batch at offset {offset} is only {length} bytes long")
        if check and (found := crc32c(data[first + CRC_FROM : after])) != crc:
            raise Corrupt(f"The batch at offset {offset} is corrupt (stored crc = {crc}, computed crc = {found})")
        yield Batch(offset, offset + delta, attributes, base, newest, producer, count, first + HEADER.size, after)
        first = after


def visible(found: Sequence[Batch], data: Bytes, aborted: Sequence[tuple[int, int]]) -> list[Batch]:
    """What a reader of committed records sees: no markers, and nothing of a transaction that was taken back."""
    waiting = sorted(aborted, key=lambda one: one[1], reverse=True)
    open_: set[int] = set()
    seen = []
    for batch in found:
        while waiting and waiting[-1][1] <= batch.last:
            open_.add(waiting.pop()[0])
        if batch.attributes & CONTROL:
            if _marker(data, batch) == ABORT:
                open_.discard(batch.producer)
        elif batch.records and not (batch.attributes & TRANSACTIONAL and batch.producer in open_):
            seen.append(batch)
    return seen


def _marker(data: Bytes, batch: Batch) -> int | None:
    """What a marker says; ``None`` for one that compaction has emptied."""
    if not batch.records:
        return None
    at = batch.first_byte
    _, at = varints.read_one(data, at)
    _, at = varints.read_one(data, at + 1)
    _, at = varints.read_one(data, at)
    size, at = varints.read_one(data, at)
    return int.from_bytes(data[at + 2 : at + 4].tobytes(), "big") if size >= 4 else None


def decode(data: Bytes, group: Sequence[Batch]) -> list[Rows]:
    """The records of some batches, in order."""
    try:
        return _decode(data, group)
    except (IndexError, ValueError, OSError, pa.ArrowException) as error:
        raise Corrupt(f"The records from offset {group[0].offset} on cannot be read: {error}") from error


def together(found: Sequence[Batch]) -> Iterator[list[Batch]]:
    """Batches in groups that are best decoded at once."""
    group: list[Batch] = []
    size = 0
    for batch in found:
        length = batch.last_byte - batch.first_byte
        if group and size + length > BYTES_AT_ONCE:
            yield group
            group, size = [], 0
        group.append(batch)
        size += length
    if group:
        yield group


def _decode(data: Bytes, group: Sequence[Batch]) -> list[Rows]:
    records, places = _plain(data, group)
    begins = [starts(records, first, last, batch.records) for batch, (first, last) in zip(group, places, strict=True)]
    at = np.concatenate(begins) if len(begins) > 1 else begins[0]
    ends = np.concatenate([at[1:], np.array([places[-1][1]], np.int64)])
    for number, rows in enumerate(np.cumsum([batch.records for batch in group]).tolist()):
        ends[rows - 1] = places[number][1]
    time, at = varints.read(records, varints.read(records, at)[1] + 1)
    delta, at = varints.read(records, at)
    key, key_at = varints.read(records, at)
    value, value_at = varints.read(records, key_at + np.maximum(key, 0))
    headers, at = varints.read(records, value_at + np.maximum(value, 0))
    _check(at, ends, headers)
    table = pa.Table.from_arrays(
        [
            _cells(records, key_at, key),
            _cells(records, value_at, value),
            _header_cells(records, at, headers),
            pa.array(_times(group, time)),
        ],
        schema=RAW_SCHEMA,
    )
    return _without_gaps(delta + _each([batch.offset for batch in group], group), table)


def _plain(data: Bytes, group: Sequence[Batch]) -> tuple[Bytes, list[tuple[int, int]]]:
    """Bytes that are not compressed, and where in them the records of each batch lie."""
    if not any(batch.attributes & CODEC for batch in group):
        return data, [(batch.first_byte, batch.last_byte) for batch in group]
    parts: list[Any] = []
    for batch in group:
        part = data.data[batch.first_byte : batch.last_byte]
        codec = batch.attributes & CODEC
        parts.append(decompress(codec, part) if codec else part)
    edges = np.cumsum([0, *(len(memoryview(part)) for part in parts)]).tolist()
    joined = parts[0] if len(parts) == 1 else b"".join(parts)
    return np.frombuffer(joined, np.uint8), list(pairwise(edges))


def _check(at: Numbers, ends: Numbers, headers: Numbers) -> None:
    """Records must end where they say they do."""
    if len(headers) and int(headers.min()) < 0:
        raise Malformed("a record has less than no headers")
    wrong = np.where(headers == 0, at != ends, at > ends)
    if wrong.any():
        raise Malformed(f"record {int(np.argmax(wrong))} does not end where it should")


def _each(values: Sequence[int], group: Sequence[Batch]) -> Numbers:
    """A value of each batch, for each of its records; one is enough where there is one batch."""
    found = np.array(values, np.int64)
    return found if len(group) == 1 else np.repeat(found, [batch.records for batch in group])


def _times(group: Sequence[Batch], deltas: Numbers) -> Numbers:
    """Milliseconds: the producer's, or the broker's for the whole batch."""
    if not any(batch.attributes & LOG_APPEND_TIME for batch in group):
        return deltas + _each([batch.base_time for batch in group], group)
    base = [batch.max_time if batch.attributes & LOG_APPEND_TIME else batch.base_time for batch in group]
    counts = [0 if batch.attributes & LOG_APPEND_TIME else 1 for batch in group]
    return deltas * _each(counts, group) + _each(base, group)


def _cells(data: Bytes, at: Numbers, sizes: Numbers) -> pa.Array:
    """Cells that lie here and there. The data is a column already, if what lies between them counts as cells, too."""
    missing = sizes < 0
    some_missing = bool(missing.any())
    if some_missing and missing.all():
        return pa.nulls(len(sizes), pa.binary())
    edges = np.empty(2 * len(at), np.int32)
    edges[0::2] = at
    edges[1::2] = at + np.maximum(sizes, 0) if some_missing else at + sizes
    everything = pa.BinaryArray.from_buffers(
        pa.binary(), 2 * len(at) - 1, [None, pa.py_buffer(edges), pa.py_buffer(data)]
    )
    wanted = np.arange(0, 2 * len(at), 2, dtype=np.int32)
    return everything.take(pa.array(wanted, mask=missing if some_missing else None))


def _header_cells(data: Bytes, at: Numbers, counts: Numbers) -> pa.Array:
    if not counts.any():
        return pa.nulls(len(counts), _HEADERS)
    cells = [_headers(data, place, count) for place, count in zip(at.tolist(), counts.tolist(), strict=True)]
    return pa.array(cells, _HEADERS)


def _headers(data: Bytes, at: int, count: int) -> list[dict[str, Any]] | None:
    found = []
    for _ in range(count):
        size, at = varints.read_one(data, at)
        key = data[at : at + size].tobytes().decode("utf-8", "replace")
        size, at = varints.read_one(data, at + size)
        found.append({"key": key, "value": None if size < 0 else data[at : at + size].tobytes()})
        at += max(size, 0)
    return found or None


def _without_gaps(offsets: Numbers, table: pa.Table) -> list[Rows]:
    if int(offsets[-1] - offsets[0]) == len(offsets) - 1:
        return [Rows(int(offsets[0]), table)]
    edges = [0, *(np.flatnonzero(np.diff(offsets) != 1) + 1).tolist(), len(offsets)]
    return [Rows(int(offsets[start]), table.slice(start, end - start)) for start, end in pairwise(edges)]
