"""Rows of a binary COPY whose columns are texts, as Arrow columns.

Texts come as they are, with their lengths in front: neither the server nor we look at each character, as CSV asks for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .catalog import Column, quoted

_HEADER_BYTES = 19
_TRAILER = b"\xff\xff"
_FIELD_COUNT_BYTES, _LENGTH_BYTES = 2, 4

_TEXTS = (25, 1043)
"""``text``, ``varchar``."""

Numbers = npt.NDArray[np.int64]


def as_text(column: Column) -> str:
    """SQL for a column as the text that the server writes for it."""
    name, kind = quoted(column.name), column.type
    if kind.oid in _TEXTS:
        return name
    return f"pg_catalog.textin({kind.output}({name}))" if kind.output else f"{name}::text"


def columns_of(messages: Sequence[bytes], first: bool, count: int) -> list[pa.Array]:
    """The columns of some rows. Each message is a row; the ``first`` one of a COPY has its header before its row.

    Raises ``ValueError`` for what is not such a row.
    """
    ends = np.cumsum([len(message) for message in messages], dtype=np.int64)
    data = b"".join(messages)
    starts = np.concatenate([np.array([_HEADER_BYTES if first else 0], np.int64), ends[:-1]])
    if data.endswith(_TRAILER) and len(ends) and ends[-1] - starts[-1] == len(_TRAILER):
        starts, ends = starts[:-1], ends[:-1]
    texts = np.frombuffer(data, np.uint8)
    at = starts + _FIELD_COUNT_BYTES
    columns = []
    for _ in range(count):
        sizes = _int32(texts, at)
        begin = at + _LENGTH_BYTES
        at = begin + np.maximum(sizes, 0)
        columns.append(_cells(data, begin, at, sizes < 0))
    if (at != ends).any():
        raise ValueError(f"a row of {count} columns ends where it should not")
    return columns


def _int32(data: npt.NDArray[np.uint8], at: Numbers) -> Numbers:
    value = data[at].astype(np.int8).astype(np.int64) << 24
    for place, shift in ((1, 16), (2, 8), (3, 0)):
        value |= data[at + place].astype(np.int64) << shift
    return value


def _cells(data: bytes, begin: Numbers, end: Numbers, missing: npt.NDArray[np.bool_]) -> pa.Array:
    """Texts that lie here and there. All of the data is a column, if what lies between them counts as cells, too."""
    size = len(begin)
    if not size:
        return pa.nulls(0, pa.string())
    edges = np.empty(2 * size, np.int32)
    edges[0::2], edges[1::2] = begin, end
    everything = pa.StringArray.from_buffers(2 * size - 1, pa.py_buffer(edges), pa.py_buffer(data))
    wanted = np.arange(0, 2 * size, 2, dtype=np.int32)
    return everything.take(pa.array(wanted, mask=missing if missing.any() else None))
