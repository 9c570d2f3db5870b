"""Objects that look alike, read as columns.

A shape is learnt from one text: what stands between its values (names, colons, commas, blanks), and which values are
strings. Another text that has the same bytes in between, and in place of each value a value that needs no second look,
is an object with the same names in the same order. Whatever is not of a known shape is left to be read by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .texts import Rows, Texts
from .tokens import Kind, kinds_of, typed_as, typed_column

MAX_MEMBERS = 200
MAX_LEVELS = 20

_SAMPLES = 16
_WORTH_SAMPLES = 20 * _SAMPLES
"""Fewer rows are read sooner than looked at twice."""

_BLANK = re.compile(rb"[ \t\r\n]*")
_NAME = re.compile(rb'"([^"\\\x00-\x1f]*)"[ \t\r\n]*:[ \t\r\n]*')
_STRING = re.compile(rb'"[^"\\\x00-\x1f]*"')
_BARE = re.compile(rb"[-+.0-9A-Za-z]+")

Tree = dict[str, "int | pa.Scalar | Tree"]
"""The names of an object with the numbers of their values, a value that is always the same, or the objects in it."""


class NoShape(Exception):
    """The text is no object, or one whose members cannot be told apart by their quotes."""


@dataclass(slots=True)
class Shape:
    """What texts of one shape have in common. ``between`` are the bytes before, between and after the values.

    Values that are the same in all of many texts are taken for a part of what is in between: most of what tells where
    a record comes from is.
    """

    tree: Tree
    between: list[bytes]
    is_string: list[bool]
    quotes: int = field(init=False)
    narrow: Shape | None = field(init=False, default=None)
    """This shape with what was the same in the texts that were read last, if much was."""

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
        self.narrow = self._narrowed(texts, rows, lines)
        for shape in (self,) if self.narrow is None else (self.narrow, self):
            starts, ends, fits = shape._values(texts, rows, lines)
            if fits.all():
                yield from shape._structs(rows, texts.strings(starts, ends))
                return
            if fits.any():
                yield from shape._structs(rows[fits], texts.strings(starts[fits], ends[fits]))
            rows, lines = rows[~fits], lines[~fits]

    def without_end(self) -> tuple[Shape, bytes]:
        """The shape of texts that were cut off after their last value and one byte, and what was cut off."""
        *between, last = self.between
        return Shape(self.tree, [*between, last[:1]], self.is_string), last[1:]

    def _narrowed(self, texts: Texts, rows: Rows, lines: Rows) -> Shape | None:
        """This shape with the values that are the same in samples of the rows; ``None`` where hardly any are."""
        if len(rows) < _WORTH_SAMPLES:
            return None
        some = np.linspace(0, len(rows) - 1, _SAMPLES).astype(np.int64)
        starts, ends, fits = self._values(texts, rows[some], lines[some])
        if not fits.all():
            return None
        known: dict[int, tuple[bytes, pa.Scalar]] = {}
        for at, is_string in enumerate(self.is_string):
            found = {texts.data[start:end].tobytes() for start, end in zip(starts[:, at], ends[:, at], strict=True)}
            text = found.pop()
            if not found and (value := _constant(text, is_string)) is not None:
                known[at] = text, value
        return self._with(known) if 2 <= len(known) < len(self.is_string) else None

    def _with(self, known: Mapping[int, tuple[bytes, pa.Scalar]]) -> Shape:
        """This shape where some values are known: they become part of what is in between."""
        between, numbers = [self.between[0]], dict[int, int]()
        for at, part in enumerate(self.between[1:]):
            if at in known:
                between[-1] += known[at][0] + part
            else:
                numbers[at] = len(numbers)
                between.append(part)

        def narrowed(tree: Tree) -> Tree:
            return {name: narrowed(m) if isinstance(m, dict) else leaf(m) for name, m in tree.items()}

        def leaf(member: int | pa.Scalar) -> int | pa.Scalar:
            return numbers[member] if member in numbers else known[member][1]

        return Shape(narrowed(self.tree), between, [self.is_string[at] for at in numbers])

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
            yield rows, self._struct(self.tree, columns, len(rows))
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
            yield rows[chosen], self._struct(self.tree, part, len(chosen))

    def _struct(self, tree: Tree, columns: list[pa.Array | None], size: int) -> pa.StructArray:
        members = []
        for member in tree.values():
            if isinstance(member, dict):
                members.append(self._struct(member, columns, size))
            else:
                members.append(columns[member] if isinstance(member, int) else pa.repeat(member, size))
        return pa.StructArray.from_arrays(members, names=list(tree))


def _constant(text: bytes, is_string: bool) -> pa.Scalar | None:
    """The value that a text stands for; ``None`` when it needs a second look."""
    token = pa.array([text.decode()], pa.string())
    column = token if is_string else typed_column(token)
    return None if column is None else column[0]


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
