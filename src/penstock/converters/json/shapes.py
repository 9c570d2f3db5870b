"""Objects that look alike, read as columns.

A shape is learnt from one text: what stands between its values (names, colons, commas, blanks), and which values are
strings. Another text that has the same bytes in between, and in place of each value a value that needs no second look,
is an object with the same names in the same order. Whatever is not of a known shape is left to be read by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .texts import Rows, Texts
from .tokens import Kind, kinds_of, typed_as, typed_column

MAX_MEMBERS = 200
MAX_LEVELS = 20

_BLANK = re.compile(rb"[ \t\r\n]*")
_NAME = re.compile(rb'"([^"\\\x00-\x1f]*)"[ \t\r\n]*:[ \t\r\n]*')
_STRING = re.compile(rb'"[^"\\\x00-\x1f]*"')
_BARE = re.compile(rb"[-+.0-9A-Za-z]+")

Tree = dict[str, "int | Tree"]
"""The names of an object with the numbers of their values, or the objects in it."""


class NoShape(Exception):
    """The text is no object, or one whose members cannot be told apart by their quotes."""


@dataclass(slots=True)
class Shape:
    """What texts of one shape have in common. ``between`` are the bytes before, between and after the values."""

    tree: Tree
    between: list[bytes]
    is_string: list[bool]
    quotes: int = field(init=False)

    def __post_init__(self) -> None:
        self.quotes = sum(part.count(b'"') for part in self.between)

    @classmethod
    def of(cls, text: bytes) -> Shape:
        """The shape of one text without backslashes. Raises :class:`NoShape`."""
        learner = _Learner(text)
        tree = learner.learn()
        shape = cls(tree, learner.between, learner.is_string)
        if not all(b'"' in part for part in shape.between[:-1]):
            raise NoShape
        return shape

    def read(self, texts: Texts, rows: Rows) -> Iterator[tuple[Rows, pa.Array]]:
        """The structs of those of the rows that have this shape, and the rows; one array for each mix of types."""
        lines = texts.quotes_of(rows, self.quotes)
        if lines is None:
            rows = texts.with_quotes(rows, self.quotes)
            lines = texts.quotes_of(rows, self.quotes)
        if lines is None or not len(rows):
            return
        starts, ends, fits = self._values(texts, rows, lines)
        if not fits.all():
            rows, starts, ends = rows[fits], starts[fits], ends[fits]
        if len(rows):
            yield from self._structs(rows, texts.strings(starts, ends))

    def _values(self, texts: Texts, rows: Rows, lines: Rows) -> tuple[Rows, Rows, npt.NDArray[np.bool_]]:
        """Where the values of the rows begin and end, and whether the bytes in between are those of the shape."""
        count = len(self.is_string)
        begin, end = texts.bounds[rows], texts.bounds[rows + 1]
        last = end - len(self.between[-1])
        starts, ends = np.empty((len(rows), count), np.int64), np.empty((len(rows), count), np.int64)
        fits = last >= begin
        quotes = 0
        for at, part in enumerate(self.between):
            if at == 0:
                position = begin
            elif at == count:
                position = last
            else:
                position = lines[:, quotes] - part.index(b'"')
            quotes += part.count(b'"')
            if at:
                ends[:, at - 1] = position
                fits &= position >= starts[:, at - 1] + (not self.is_string[at - 1])
            fits &= texts.equal_at(position if fits.all() else np.where(fits, position, begin), part)
            if at < count:
                starts[:, at] = position + len(part)
        return starts, ends, fits

    def _structs(self, rows: Rows, strings: list[pa.Array]) -> Iterator[tuple[Rows, pa.Array]]:
        columns: list[pa.Array | None] = [
            text if is_string else typed_column(text) for text, is_string in zip(strings, self.is_string, strict=True)
        ]
        mixed = [at for at, column in enumerate(columns) if column is None]
        if not mixed:
            yield rows, self._struct(self.tree, columns)
            return
        kinds = np.stack([kinds_of(strings[at]) for at in mixed], axis=1)
        for mix in np.unique(kinds, axis=0):
            if Kind.ODD in mix:
                continue
            chosen = np.flatnonzero((kinds == mix).all(axis=1))
            whole = [text if column is None else column for text, column in zip(strings, columns, strict=True)]
            part = [column.take(pa.array(chosen)) for column in whole]
            for at, kind in zip(mixed, mix, strict=True):
                part[at] = typed_as(Kind(kind), part[at])
            yield rows[chosen], self._struct(self.tree, part)

    def _struct(self, tree: Tree, columns: list[pa.Array | None]) -> pa.StructArray:
        members = [columns[m] if isinstance(m, int) else self._struct(m, columns) for m in tree.values()]
        return pa.StructArray.from_arrays(members, names=list(tree))


class _Learner:
    """Takes one text apart."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._at = 0
        self._from = 0
        self.between: list[bytes] = []
        self.is_string: list[bool] = []

    def learn(self) -> Tree:
        self._skip(_BLANK)
        tree = self._object(levels=1)
        self._skip(_BLANK)
        if self._at != len(self._text) or not self.is_string:
            raise NoShape
        self.between.append(self._text[self._from :])
        return tree

    def _object(self, levels: int) -> Tree:
        if not self._take(b"{") or levels > MAX_LEVELS:
            raise NoShape
        members: Tree = {}
        while True:
            self._skip(_BLANK)
            name = self._skip(_NAME)[1].decode()
            if name in members:
                raise NoShape
            members[name] = self._object(levels + 1) if self._text.startswith(b"{", self._at) else self._value()
            self._skip(_BLANK)
            if self._take(b"}"):
                return members
            if not self._take(b","):
                raise NoShape

    def _value(self) -> int:
        is_string = self._text.startswith(b'"', self._at)
        found = self._skip(_STRING if is_string else _BARE)
        start, end = found.span()
        self.between.append(self._text[self._from : start + is_string])
        self._from = end - is_string
        self.is_string.append(is_string)
        if len(self.is_string) > MAX_MEMBERS:
            raise NoShape
        return len(self.is_string) - 1

    def _skip(self, pattern: re.Pattern[bytes]) -> re.Match[bytes]:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise NoShape
        self._at = found.end()
        return found

    def _take(self, character: bytes) -> bool:
        if self._text.startswith(character, self._at):
            self._at += 1
            return True
        return False
