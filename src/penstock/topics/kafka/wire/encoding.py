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
    columns = [_one_array(table.column(name)) for name in ("key", "value", "headers", "timestamp")]
    keys, values = _lengths(columns[0]), _lengths(columns[1])
    sizes = np.maximum(keys, 0) + np.maximum(values, 0)
    if len(sizes) and int(sizes.max()) > largest:
        raise TooLarge(f"a record of {int(sizes.max())} bytes")
    headers = _packed_headers(columns[2])
    if headers is not None:
        sizes = sizes + _lengths(headers)
    for start, end in _cuts(sizes + _OVERHEAD_BYTES, most_bytes):
        cells = [column.slice(start, end - start) for column in (columns[0], columns[1])]
        some = None if headers is None else headers.slice(start, end - start)
        times = _times(columns[3].slice(start, end - start))
        records = _records(cells, (keys[start:end], values[start:end]), some, times)
        if codec != NONE:
            records = [compressor(codec)(b"".join(records))]
        yield Packed(records, codec, end - start, int(times[0]), int(times.max()))


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    """In one piece."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.nulls(0, column.type)])


def _lengths(cells: pa.Array) -> Numbers:
    """-1 for null, as Kafka has it."""
    if cells.null_count == len(cells):
        return np.full(len(cells), -1, np.int64)
    found: Numbers = pc.fill_null(pc.binary_length(cells), -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _cuts(sizes: Numbers, most: int) -> Iterator[tuple[int, int]]:
    """Rows that together are not too large; a larger one is alone."""
    ends = np.cumsum(sizes)
    start, before = 0, 0
    while start < len(ends):
        end = max(start + 1, int(np.searchsorted(ends, before + most, "right")))
        yield start, end
        start, before = end, int(ends[end - 1])


def _times(column: pa.Array) -> Numbers:
    if column.null_count:
        column = column.fill_null(time.time_ns() // 1_000_000)
    found: Numbers = column.to_numpy()
    return found


def _records(
    cells: Sequence[pa.Array], lengths: tuple[Numbers, Numbers], headers: pa.Array | None, times: Numbers
) -> list[Any]:
    """One record after the other.

    What lies before a key or value is a column as well, and Arrow joins the columns cell by cell. A record without
    headers ends with a zero, which is written before the next one, so that there is a column less.
    """
    keys, values = lengths
    counts = np.arange(len(times), dtype=np.int64)
    fields = [times - times[0], counts, keys]
    sizes = [varints.sizes(field) for field in fields]
    value_sizes = varints.sizes(values)
    total = 1 + sum(sizes) + np.maximum(keys, 0) + value_sizes + np.maximum(values, 0)
    total = total + (_lengths(headers) if headers is not None else 1)
    no_keys = int(keys.max()) <= 0
    front = [(total, varints.sizes(total)), None, *zip(fields, sizes, strict=True)]
    if no_keys:
        front.append((values, value_sizes))
    columns = [_column(front, 0 if headers is not None else 1)]
    if not no_keys:
        columns += [_filled(cells[0]), _column([(values, value_sizes)], 0)]
    columns.append(_filled(cells[1]))
    if headers is not None:
        columns.append(headers)
    joined = pc.binary_join_element_wise(*columns, b"")
    data = joined.buffers()[2][: int(np.frombuffer(joined.buffers()[1], np.int32)[len(joined)])]
    return [data] if headers is not None else [data[1:], _NO_HEADERS]


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
