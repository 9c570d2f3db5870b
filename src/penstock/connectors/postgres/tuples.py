"""New rows of many messages at once: cells are found with numpy instead of a loop over bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_TUPLE = 8
"""Where the first cell begins: after the kind, the table's oid, ``N`` and the number of columns."""

_TEXT, _UNCHANGED = ord("t"), ord("u")
_LONG = 32
"""Cells longer than this on average are cheaper to cut out one by one."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Texts:
    """A column of texts, null where there is none; ``unchanged`` tells which of these the stream does not know."""

    array: pa.Array
    unchanged: npt.NDArray[np.bool_] | None


def cells(messages: Sequence[bytes], columns: int) -> list[Texts]:
    """The columns of messages that carry nothing but a new row: inserts, and updates without the old row."""
    data = b"".join(messages)
    buffer = np.frombuffer(data, np.uint8)
    lengths = np.fromiter(map(len, messages), np.int64, len(messages))
    at = np.cumsum(lengths) - lengths + _TUPLE
    found = []
    for _ in range(columns):
        kinds = buffer[at]
        is_text = kinds == _TEXT
        sizes = _sizes(buffer, at, is_text)
        begins = at + np.where(is_text, 5, 1)
        at = begins + sizes
        unchanged = kinds == _UNCHANGED
        array = _array(data, buffer, begins, sizes, is_text)
        found.append(Texts(array, unchanged if unchanged.any() else None))
    return found


def _sizes(buffer: npt.NDArray[np.uint8], at: Numbers, is_text: npt.NDArray[np.bool_]) -> Numbers:
    sizes: Numbers = np.zeros(len(at), np.int64)
    places = at[is_text]
    for byte in range(1, 5):
        sizes[is_text] = (sizes[is_text] << 8) | buffer[places + byte]
    return sizes


def _array(
    data: bytes, buffer: npt.NDArray[np.uint8], begins: Numbers, sizes: Numbers, is_text: npt.NDArray[np.bool_]
) -> pa.Array:
    count, total = len(sizes), int(sizes.sum())
    if total > _LONG * count:
        cut = zip(begins.tolist(), (begins + sizes).tolist(), is_text.tolist(), strict=True)
        return pa.array([data[begin:end] if known else None for begin, end, known in cut], pa.binary()).cast(
            pa.string()
        )
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    places = np.arange(total, dtype=np.int64) + np.repeat(begins - offsets[:-1], sizes)
    values = pa.py_buffer(buffer[places].tobytes())
    valid = None if is_text.all() else pa.array(is_text).buffers()[1]
    array = pa.Array.from_buffers(pa.binary(), count, [valid, pa.py_buffer(offsets.tobytes()), values])
    return array.cast(pa.string())
