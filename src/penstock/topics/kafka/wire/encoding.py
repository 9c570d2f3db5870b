"""Tables into record batches, as a producer sends them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import varints
from .checksums import crc32c
from .compression import NONE, compressor
from .decoding import CRC_FROM, HEADER, MAGIC, SIZE_BYTES, TRANSACTIONAL
from .varints import Numbers

_NO_HEADERS = b"\0"
_OVERHEAD_BYTES = 24
"""More than what a record takes beside key, value and headers, if they are not very large."""

_BYTES_AT_ONCE, _ROWS_AT_ONCE = 4 << 20, 8192
"""Batches of about so many bytes or rows are built together: most of the work is the same however few the rows are, and
what is done for more of them does not fit into the caches of a CPU."""


class TooLarge(Exception):
    """A record that does not fit into a batch."""


@dataclass(frozen=True)
class Packed:
    """Records in the form they are sent in. What names the producer is added when they are."""

    records: Sequence[Any]
    codec: int
    count: int
    first_time: int
    newest_time: int

    def parts(self, producer: int, epoch: int, sequence: int, transactional: bool) -> list[Any]:
        """The batch: its header and the records."""
        attributes = self.codec | (TRANSACTIONAL if transactional else 0)
        fields = (attributes, self.count - 1, self.first_time, self.newest_time, producer, epoch, sequence, self.count)
        size = HEADER.size - SIZE_BYTES + sum(len(part) for part in self.records)
        crc = 0
        for part in (HEADER.pack(0, size, -1, MAGIC, 0, *fields)[CRC_FROM:], *self.records):
            crc = crc32c(np.frombuffer(part, np.uint8), crc)
        return [HEADER.pack(0, size, -1, MAGIC, crc, *fields), *self.records]


def pack(table: pa.Table, most_bytes: int, largest: int, codec: int = NONE) -> Iterator[Packed]:
    """Rows of ``RAW_SCHEMA`` as batches of up to ``most_bytes``, before compression.

    ``largest`` is the most that key and value of a record may take; :class:`TooLarge` is raised before anything else.
    """
    key, value, headers, times = (_one_array(table.column(name)) for name in ("key", "value", "headers", "timestamp"))
    keys, values = _lengths(key), _lengths(value)
    sizes = np.maximum(keys, 0) + np.maximum(values, 0)
    if len(sizes) and int(sizes.max()) > largest:
        raise TooLarge(f"a record of {int(sizes.max())} bytes")
    packed_headers = _packed_headers(headers)
    if packed_headers is not None:
        sizes = sizes + _lengths(packed_headers)
    rows = _Rows(key, value, keys, values, packed_headers, _times(times))
    starts = _starts(sizes + _OVERHEAD_BYTES, most_bytes)
    at_once = max(1, min(_BYTES_AT_ONCE // most_bytes, _ROWS_AT_ONCE * len(starts) // max(1, len(table))))
    for place in range(0, len(starts), at_once):
        some = starts[place : place + at_once]
        end = starts[place + at_once] if place + at_once < len(starts) else len(table)
        yield from rows.between(some[0], end).packed(np.array(some, np.int64) - some[0], codec)


@dataclass(frozen=True)
class _Rows:
    """Records by their columns. Lengths are -1 for null, as Kafka has it."""

    key: pa.Array
    value: pa.Array
    key_lengths: Numbers
    value_lengths: Numbers
    headers: pa.Array | None
    """How many there are, and each of them; ``None`` when no record has any."""
    times: Numbers

    def between(self, start: int, end: int) -> _Rows:
        return _Rows(
            self.key.slice(start, end - start),
            self.value.slice(start, end - start),
            self.key_lengths[start:end],
            self.value_lengths[start:end],
            None if self.headers is None else self.headers.slice(start, end - start),
            self.times[start:end],
        )

    def packed(self, starts: Numbers, codec: int) -> Iterator[Packed]:
        """As batches, of which each begins at one of some rows: the first, and others after it."""
        counts = np.diff(starts, append=len(self.times))
        first_times, newest_times = self.times[starts], np.maximum.reduceat(self.times, starts)
        for number, records in enumerate(self._batches(starts, np.repeat(starts, counts))):
            if codec != NONE:
                records = [compressor(codec)(b"".join(records))]
            times = int(first_times[number]), int(newest_times[number])
            yield Packed(records, codec, int(counts[number]), *times)

    def _batches(self, starts: Numbers, starts_of_rows: Numbers) -> Iterator[list[Any]]:
        """The records of each batch, one after the other.

        What lies before a key or value is a column as well, and Arrow joins the columns cell by cell. A record without
        headers ends with a zero, which is written before the next one, so that there is a column less.
        """
        zeros = 0 if self.headers is not None else 1
        joined = pc.binary_join_element_wise(*self._columns(starts_of_rows, zeros), b"")
        edges = np.frombuffer(joined.buffers()[1], np.int32)
        data, ends = joined.buffers()[2], edges[np.append(starts[1:], len(joined))].tolist()
        begin = zeros
        for end in ends[:-1]:
            yield [data[begin : end + zeros]]
            begin = end + zeros
        yield [data[begin : ends[-1]], *[_NO_HEADERS] * zeros]

    def _columns(self, starts_of_rows: Numbers, zeros: int) -> list[pa.Array]:
        keys, values = self.key_lengths, self.value_lengths
        numbers = np.arange(len(keys), dtype=np.int64) - starts_of_rows
        fields = [self.times - self.times[starts_of_rows], numbers, keys]
        sizes = [varints.sizes(field) for field in fields]
        value_sizes = varints.sizes(values)
        total = 1 + sum(sizes) + np.maximum(keys, 0) + value_sizes + np.maximum(values, 0)
        total = total + (_lengths(self.headers) if self.headers is not None else 1)
        front = [(total, varints.sizes(total)), None, *zip(fields, sizes, strict=True)]
        no_keys = int(keys.max()) <= 0
        if no_keys:
            front.append((values, value_sizes))
        columns = [_column(front, zeros)]
        if not no_keys:
            columns += [_filled(self.key), _column([(values, value_sizes)], 0)]
        columns.append(_filled(self.value))
        return columns if self.headers is None else [*columns, self.headers]


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    """In one piece."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.nulls(0, column.type)])


def _lengths(cells: pa.Array) -> Numbers:
    """-1 for null."""
    if cells.null_count == len(cells):
        return np.full(len(cells), -1, np.int64)
    found: Numbers = pc.fill_null(pc.binary_length(cells), -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _starts(sizes: Numbers, most: int) -> list[int]:
    """The first rows of batches that are not too large; a row that is too large by itself is alone."""
    ends = np.cumsum(sizes)
    found, start, before = [], 0, 0
    while start < len(ends):
        found.append(start)
        start = max(start + 1, int(np.searchsorted(ends, before + most, "right")))
        before = int(ends[start - 1])
    return found


def _times(column: pa.Array) -> Numbers:
    if column.null_count:
        column = column.fill_null(time.time_ns() // 1_000_000)
    found: Numbers = column.to_numpy()
    return found


def _filled(cells: pa.Array) -> pa.Array:
    if cells.null_count == len(cells):
        return pa.repeat(pa.scalar(b"", pa.binary()), len(cells))
    return cells.fill_null(b"") if cells.null_count else cells


def _column(fields: Sequence[tuple[Numbers, Numbers] | None], zeros: int) -> pa.Array:
    """Numbers side by side as a column of bytes, after some zeros; ``None`` is one more zero."""
    sizes = sum(1 if field is None else field[1] for field in fields) + np.int64(zeros)
    ends = np.cumsum(sizes)
    edges = np.zeros(len(ends) + 1, np.int32)
    edges[1:] = ends
    data = np.zeros(int(ends[-1]), np.uint8)
    at = ends - sizes + zeros
    for field in fields:
        if field is None:
            at = at + 1
        else:
            varints.write(*field, data, at)
            at = at + field[1]
    return pa.BinaryArray.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(edges), pa.py_buffer(data)])


def _packed_headers(column: pa.Array) -> pa.Array | None:
    """How many there are, and each of them; ``None`` when no record has any."""
    if column.null_count == len(column) or not len(column.flatten()):
        return None
    return pa.array([_header_bytes(cell) for cell in column.to_pylist()], pa.binary())


def _header_bytes(cell: Sequence[dict[str, Any]] | None) -> bytes:
    found = [varints.write_one(len(cell or ()))]
    for header in cell or ():
        for part in (header["key"].encode(), header["value"]):
            found += [varints.write_one(-1)] if part is None else [varints.write_one(len(part)), part]
    return b"".join(found)
