"""Many JSON texts looked at as one array of bytes: where rows begin, where quotes are, which rows are out of line."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Rows = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_QUOTE, _BACKSLASH, _SPACE, _FIRST_BEYOND_ASCII = 0x22, 0x5C, 0x20, 0x80
_WORD = 8
_LONG = 3 * _WORD
_MASKS = [np.uint64((1 << (8 * length)) - 1) for length in range(_WORD + 1)]


class Texts:
    """The values of a binary array. Row ``i`` is ``data[bounds[i] : bounds[i + 1]]``."""

    def __init__(self, array: pa.Array) -> None:
        self._array = array
        wide = pa.types.is_large_binary(array.type)
        _, offsets, content = array.buffers()
        bounds = np.frombuffer(offsets, np.int64 if wide else np.int32)[array.offset : array.offset + len(array) + 1]
        first, last = int(bounds[0]), int(bounds[-1])
        self.bounds: Rows = bounds.astype(np.int64) - first
        self._padded = np.zeros(last - first + _WORD, np.uint8)
        if content is not None:
            self._padded[: last - first] = np.frombuffer(content, np.uint8)[first:last]
        self.data: Bytes = self._padded[: last - first]

    def __len__(self) -> int:
        return len(self._array)

    def row(self, row: int) -> bytes:
        """The bytes of one row."""
        return self.data[self.bounds[row] : self.bounds[row + 1]].tobytes()

    @cached_property
    def plain_rows(self) -> Rows:
        """The rows that are valid UTF-8 without backslashes or control characters."""
        usable = np.ones(len(self), bool)
        if self._array.null_count:
            usable &= self._array.is_valid().to_numpy(zero_copy_only=False)
        if not len(self.data):
            return np.empty(0, np.int64)
        if self.data.min() < _SPACE:
            self._exclude(usable, self.data < _SPACE)
        if (odd := self.data == _BACKSLASH).any():
            self._exclude(usable, odd)
        if self.data.max() >= _FIRST_BEYOND_ASCII and not self._is_utf8():
            self._exclude(usable, self.data >= _FIRST_BEYOND_ASCII)
        return np.flatnonzero(usable)

    @cached_property
    def quotes(self) -> Rows:
        """Where all quotes are."""
        return np.flatnonzero(self.data == _QUOTE)

    @cached_property
    def first_quotes(self) -> Rows:
        """For each row, and for the end, how many quotes come before it."""
        return np.searchsorted(self.quotes, self.bounds)

    def quotes_of(self, rows: Rows, count: int) -> Rows | None:
        """A line of ``count`` quote positions for each row; ``None`` when a row has another number of quotes."""
        if len(rows) == len(self) and len(self.quotes) == len(self) * count:
            lines = self.quotes.reshape(len(self), count)
            aligned = (lines[:, 0] >= self.bounds[:-1]).all() and (lines[:, -1] < self.bounds[1:]).all()
            return np.asarray(lines) if aligned else None
        first = self.first_quotes
        if (first[rows + 1] - first[rows] != count).any():
            return None
        return np.asarray(self.quotes[first[rows][:, np.newaxis] + np.arange(count)])

    def with_quotes(self, rows: Rows, count: int) -> Rows:
        """Those of the rows that have so many quotes."""
        first = self.first_quotes
        return np.asarray(rows[first[rows + 1] - first[rows] == count])

    def equal_at(self, starts: Rows, expected: bytes) -> npt.NDArray[np.bool_]:
        """Whether the expected bytes stand at each of the positions, none of which is negative."""
        length = len(expected)
        result = starts <= len(self.data) - length
        if not result.all():
            starts = np.where(result, starts, 0)
            if len(self.data) < length:
                return result
        if length < _WORD:
            result &= (self._words[starts] & _MASKS[length]) == np.uint64(int.from_bytes(expected, "little"))
            return result
        if length > _LONG:
            return result & self._equal_pieces(starts, expected)
        for at in [*range(0, length - _WORD, _WORD), length - _WORD]:
            word = np.uint64(int.from_bytes(expected[at : at + _WORD], "little"))
            result &= self._words[starts + at] == word
        return result

    def _equal_pieces(self, starts: Rows, expected: bytes) -> npt.NDArray[np.bool_]:
        """The same for many bytes, which are cut out to be compared as a whole."""
        length = len(expected)
        every: npt.NDArray[Any] = np.ndarray((len(self.data) - length + 1,), f"V{length}", self._padded, 0, (1,))
        kind = pa.binary(length)
        pieces = pa.Array.from_buffers(kind, len(starts), [None, pa.py_buffer(every[starts].view(np.uint8))])
        return np.asarray(pc.equal(pieces, pa.scalar(expected, kind)).to_numpy(zero_copy_only=False))

    def strings(self, starts: Rows, ends: Rows) -> list[pa.Array]:
        """Pieces of rows as string arrays, one array for each column of ``starts`` and ``ends``.

        The pieces of a row, and those of one row and the next, come one after the other. Nothing is checked.
        """
        size, columns = starts.shape
        edges = np.empty((size, 2 * columns), np.int64)
        edges[:, 0::2], edges[:, 1::2] = starts, ends
        wide = len(self.data) >= 1 << 31
        offsets = np.append(edges.reshape(-1), len(self.data)).astype(np.int64 if wide else np.int32)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._padded)]
        pieces = pa.Array.from_buffers(pa.large_string() if wide else pa.string(), 2 * columns * size, buffers)
        return [pieces.take(pa.array(np.arange(2 * at, 2 * columns * size, 2 * columns))) for at in range(columns)]

    @cached_property
    def _words(self) -> npt.NDArray[np.uint64]:
        """The eight bytes from each position on, as a number."""
        shape, strides = (len(self.data) + 1,), (1,)
        words: npt.NDArray[Any] = np.ndarray(shape, np.dtype("<u8"), self._padded, 0, strides)
        return words

    def _exclude(self, usable: npt.NDArray[np.bool_], odd: npt.NDArray[np.bool_]) -> None:
        usable[np.searchsorted(self.bounds, np.flatnonzero(odd), "right") - 1] = False

    def _is_utf8(self) -> bool:
        try:
            self._array.cast(pa.large_string() if pa.types.is_large_binary(self._array.type) else pa.string())
        except pa.ArrowInvalid:
            return False
        return True
