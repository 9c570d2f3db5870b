"""The shapes that a converter has met, and which rows of a column have one of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.batch import Column, Part

from .shapes import NoShape, Shape
from .texts import Rows, Texts

MAX_SHAPES = 16
FEWEST_ROWS = 32
"""Columns are not worth their trouble for fewer rows."""

_NEW_SHAPES_AT_ONCE = 4
_WORTH_A_SHAPE = 50
"""A new shape has to fit one in so many rows."""

_LONGEST_REST = 64
_LONG_ENDING = 64


class ShapeBook:
    """Learns shapes from the rows that no known one fits, and forgets those that are of no more use.

    Where most rows have no shape, it rests for some calls, longer and longer, before it tries again.
    """

    def __init__(self) -> None:
        self._shapes: list[Shape] = []
        self._ending: tuple[Shape, bytes] | None = None
        self._rest = 0
        self._next_rest = 1

    def read(self, data: pa.Array) -> list[Part]:
        """The rows of a binary array that are objects of some shape."""
        if len(data) < FEWEST_ROWS:
            return []
        if self._rest:
            self._rest -= 1
            return []
        parts = self._read(data)
        if 2 * sum(len(part.rows) for part in parts) >= len(data):
            self._next_rest = 1
        else:
            self._rest = self._next_rest
            self._next_rest = min(2 * self._next_rest, _LONGEST_REST)
        return parts

    def _read(self, data: pa.Array) -> list[Part]:
        parts, left = self._read_ending_alike(data)
        if not len(left):
            return parts
        rest = data.take(pa.array(left)) if parts else data
        parts += [Part(left[part.rows], part.column) for part in self._read_rest(rest)]
        self._ending = self._long_ending()
        return parts

    def _read_ending_alike(self, data: pa.Array) -> tuple[list[Part], Rows]:
        """The rows that end as those before did, and the others. What is cut off need not be looked at again."""
        if self._ending is None:
            return [], np.arange(len(data))
        shape, ending = self._ending
        alike = pc.ends_with(data, ending).fill_null(False).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(alike)
        if not len(rows):
            return [], np.arange(len(data))
        chosen = data if len(rows) == len(data) else data.take(pa.array(rows))
        texts = Texts(pc.binary_slice(chosen, 0, -len(ending)))
        found, _ = _read_shape(shape, texts, texts.plain_rows)
        parts = [Part(rows[part.rows], part.column) for part in found]
        missing = np.ones(len(data), bool)
        for part in parts:
            missing[part.rows] = False
        return parts, np.flatnonzero(missing)

    def _long_ending(self) -> tuple[Shape, bytes] | None:
        narrow = self._shapes[0].narrow if self._shapes else None
        if narrow is None or len(narrow.between[-1]) < _LONG_ENDING:
            return None
        return narrow.without_end()

    def _read_rest(self, data: pa.Array) -> list[Part]:
        texts = Texts(data)
        left = texts.plain_rows
        parts: list[Part] = []
        for shape in list(self._shapes):
            if not len(left):
                return parts
            found, left = _read_shape(shape, texts, left)
            self._move(shape, bool(found))
            parts += found
        fewest = max(FEWEST_ROWS, len(data) // _WORTH_A_SHAPE)
        for _ in range(_NEW_SHAPES_AT_ONCE):
            if len(left) < fewest:
                break
            sample, left = left[:1], left[1:]
            try:
                shape = Shape.of(texts.row(int(sample[0])))
            except NoShape:
                continue
            found, rest = _read_shape(shape, texts, np.concatenate((sample, left)))
            if sum(len(part.rows) for part in found) >= fewest:
                parts, left = parts + found, rest
                self._shapes = [shape, *self._shapes][:MAX_SHAPES]
        return parts

    def _move(self, shape: Shape, useful: bool) -> None:
        """The shape used last comes first, the others are forgotten one day."""
        if useful and self._shapes[0] is not shape:
            self._shapes.remove(shape)
            self._shapes.insert(0, shape)


def _read_shape(shape: Shape, texts: Texts, rows: Rows) -> tuple[list[Part], Rows]:
    """What the shape fits, and the rows it does not."""
    found = [Part(fitting, Column(structs)) for fitting, structs in shape.read(texts, rows)]
    if not found:
        return [], rows
    if len(found) == 1 and len(found[0].rows) == len(rows):
        return found, rows[:0]
    return found, np.setdiff1d(rows, np.concatenate([part.rows for part in found]), assume_unique=True)
