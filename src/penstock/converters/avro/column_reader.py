"""Many messages of one schema at once: a cursor in each, all moved together field by field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.api.logical import DATE_NAME, TIMESTAMP_NAME
from penstock.api.record import Schema, SchemaType

from ..registry.converter import PREFIX_BYTES
from .column_writer import Unfit, leaf_types
from .schema import AvroType
from .to_connect import optional_branch

Numbers = npt.NDArray[Any]
ReadColumn = Callable[["Cursors"], pa.Array]

_ROOM = 16
"""Zero bytes after the last message, so that no look at a number or a float goes beyond the end."""

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_DAY = 86_400_000
_RANGES = {
    (SchemaType.INT8, None): (-(1 << 7), (1 << 7) - 1),
    (SchemaType.INT16, None): (-(1 << 15), (1 << 15) - 1),
    (SchemaType.INT32, None): (-(1 << 31), (1 << 31) - 1),
    (SchemaType.INT32, DATE_NAME): (_FIRST_DAY, _LAST_DAY),
    (SchemaType.INT64, TIMESTAMP_NAME): (_FIRST_DAY * _DAY, (_LAST_DAY + 1) * _DAY - 1),
}
"""What the narrower types and Python's dates hold; other values are left to the way value by value."""


class Cursors:
    """Where each message is being read; ``bad`` marks those that must be read one by one."""

    def __init__(self, content: Numbers, at: Numbers, end: Numbers) -> None:
        self.content = content
        self.at = at
        self.end = end
        self.bad = at > end

    @classmethod
    def over(cls, data: pa.Array, rows: Numbers, skip: int) -> Cursors:
        """At byte ``skip`` of some rows of a binary array without nulls there."""
        _, places, buffer = data.buffers()
        offsets = np.frombuffer(places, np.int32)[data.offset : data.offset + len(data) + 1].astype(np.int64)
        first = int(offsets[0])
        content = np.frombuffer(buffer, np.uint8)[first : int(offsets[-1])]
        padded = np.concatenate([content, np.zeros(_ROOM, np.uint8)])
        return cls(padded, offsets[rows] - first + skip, offsets[rows + 1] - first)

    def some(self, rows: Numbers) -> Cursors:
        """A copy for some of the messages."""
        return Cursors(self.content, self.at[rows], self.end[rows])

    def take_back(self, rows: Numbers, inner: Cursors) -> None:
        """Go on where a copy for some of the messages ended."""
        self.at[rows] = inner.at
        self.bad[rows] |= inner.bad

    def move(self, lengths: Numbers | int) -> None:
        """Forward; who would leave its message stays at its end and is bad."""
        self.at = self.at + lengths
        beyond = self.at > self.end
        self.bad |= beyond
        self.at = np.where(beyond, self.end, self.at)

    def longs(self) -> Numbers:
        """A variable-length number of each message."""
        content, at = self.content, self.at.copy()
        byte = content[at]
        rest = (byte & 127).astype(np.uint64)
        at += 1
        more, shift = np.flatnonzero(byte > 127), 7
        while more.size and shift < 70:
            byte = content[np.minimum(at[more], len(content) - 1)]
            rest[more] |= (byte & 127).astype(np.uint64) << np.uint64(shift)
            at[more] += 1
            shift += 7
            more = more[byte > 127]
        self.bad[more] = True
        self.move(at - self.at)
        found: Numbers = (rest >> np.uint64(1)).astype(np.int64) ^ -(rest & np.uint64(1)).astype(np.int64)
        return found

    def blocks(self, width: int) -> Numbers:
        """So many bytes of each message, as the rows of a table."""
        found = self.content[self.at[:, None] + np.arange(width)]
        self.move(width)
        return found


def messages_by_prefix(data: pa.Array) -> list[tuple[bytes, Numbers]]:
    """The rows of each schema: what their messages begin with, and where they are. Nulls and stubs are in none."""
    if not pa.types.is_binary(data.type):
        return []
    _, places, buffer = data.buffers()
    offsets = np.frombuffer(places, np.int32)[data.offset : data.offset + len(data) + 1].astype(np.int64)
    rows = np.flatnonzero((np.diff(offsets) >= PREFIX_BYTES) & data.is_valid().to_numpy(zero_copy_only=False))
    if not rows.size or buffer is None:
        return []
    heads = np.frombuffer(buffer, np.uint8)[offsets[rows][:, None] + np.arange(PREFIX_BYTES)]
    numbers = heads.astype(np.int64) @ (1 << 8 * np.arange(PREFIX_BYTES - 1, -1, -1))
    return [
        (int(number).to_bytes(PREFIX_BYTES, "big"), rows[numbers == number]) for number in np.unique(numbers).tolist()
    ]


def read_rows(data: pa.Array, rows: Numbers, read: ReadColumn) -> tuple[Numbers, pa.Array] | None:
    """The rows that could be read, and their values; ``None`` when there are none."""
    cursors = Cursors.over(data, rows, PREFIX_BYTES)
    values = read(cursors)
    good = np.flatnonzero(~cursors.bad)
    if not good.size:
        return None
    return (rows, values) if good.size == rows.size else (rows[good], values.take(pa.array(good)))


def column_reader(node: AvroType, schema: Schema | None) -> ReadColumn | None:
    """A function that reads what is under many cursors, or ``None`` for types that are read one by one."""
    if schema is None or schema.optional or node.kind == "bytes":
        return None
    try:
        return _reader(node, schema)
    except Unfit:
        return None


def _reader(node: AvroType, schema: Schema) -> ReadColumn:
    if node.kind == "union":
        branch = optional_branch(node)
        if branch is None:
            raise Unfit
        null = next(number for number, inner in enumerate(node.branches) if inner.kind == "null")
        return _optional_reader(_reader(branch, schema.with_(optional=False)), null)
    if node.kind == "record":
        return _struct_reader(node, schema)
    types = leaf_types(schema)
    if types is None or types[0] != node.kind:
        raise Unfit
    if node.kind in ("string", "bytes"):
        return lambda cursors: _texts(cursors, types[1])
    if node.kind in ("int", "long"):
        return _integer_reader(schema, types[1])
    if node.kind == "boolean":
        return lambda cursors: pa.array(cursors.blocks(1)[:, 0] == 1)
    width = 4 if node.kind == "float" else 8
    return lambda cursors: pa.array(cursors.blocks(width).view(f"<f{width}")[:, 0])


def _struct_reader(node: AvroType, schema: Schema) -> ReadColumn:
    names = [slot.name for slot in node.fields]
    if not names or names != [member.name for member in schema.fields]:
        raise Unfit
    readers = [_reader(slot.type, schema.by_name[slot.name].schema) for slot in node.fields]

    def read(cursors: Cursors) -> pa.Array:
        return pa.StructArray.from_arrays([inner(cursors) for inner in readers], names)

    return read


def _optional_reader(inner: ReadColumn, null: int) -> ReadColumn:
    def read(cursors: Cursors) -> pa.Array:
        branch = cursors.blocks(1)[:, 0]
        present = branch == 2 * (1 - null)
        cursors.bad |= ~present & (branch != 2 * null)
        if present.all():
            return inner(cursors)
        rows = np.flatnonzero(present)
        some = cursors.some(rows)
        values = inner(some)
        cursors.take_back(rows, some)
        return values.take(pa.array(np.cumsum(present) - 1, mask=~present))

    return read


def _integer_reader(schema: Schema, kind: pa.DataType) -> ReadColumn:
    logical = schema.name if schema.name in (DATE_NAME, TIMESTAMP_NAME) else None
    limits = _RANGES.get((schema.type, logical))
    plain = {SchemaType.INT8: np.int8, SchemaType.INT16: np.int16, SchemaType.INT32: np.int32}.get(
        schema.type, np.int64
    )

    def read(cursors: Cursors) -> pa.Array:
        values = cursors.longs()
        if limits is not None:
            outside = (values < limits[0]) | (values > limits[1])
            if outside.any():
                cursors.bad |= outside
                values = np.where(outside, 0, values)
        array = pa.array(values.astype(plain))
        return array if array.type == kind else array.view(kind)

    return read


def _texts(cursors: Cursors, kind: pa.DataType) -> pa.Array:
    lengths = cursors.longs()
    impossible = (lengths < 0) | (lengths > cursors.end - cursors.at)
    cursors.bad |= impossible
    lengths = np.where(impossible, 0, lengths)
    starts = cursors.at
    cursors.move(lengths)
    try:
        return _array(cursors.content, starts, lengths, kind)
    except pa.ArrowInvalid:
        spans = zip(starts.tolist(), lengths.tolist(), strict=True)
        broken = np.array([not _is_text(cursors.content[at : at + length].tobytes()) for at, length in spans])
        cursors.bad |= broken
        return _array(cursors.content, starts, np.where(broken, 0, lengths), kind)


def _array(content: Numbers, starts: Numbers, lengths: Numbers, kind: pa.DataType) -> pa.Array:
    """Spans of bytes as an array; raises ``ArrowInvalid`` when a text is none."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    chosen = content[np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])]
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(chosen)]
    array = pa.Array.from_buffers(kind, len(lengths), buffers)
    array.validate(full=True)
    return array


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
