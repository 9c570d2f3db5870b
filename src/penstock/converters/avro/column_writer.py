"""Whole columns to Avro's binary form with vectorised kernels: first how long each part is, then all bytes in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.batch import Column
from penstock.api.logical import DATE_NAME, TIMESTAMP_NAME
from penstock.api.record import Schema, SchemaType

from . import names
from .schema import AvroType
from .styles import AvroStyle

Numbers = npt.NDArray[Any]
Fill = Callable[[Numbers, Numbers], None]
"""Puts a part's bytes into the output at the given positions."""

ARROW_TYPES: dict[tuple[SchemaType, str | None], tuple[str, pa.DataType]] = {
    (SchemaType.INT8, None): ("int", pa.int8()),
    (SchemaType.INT16, None): ("int", pa.int16()),
    (SchemaType.INT32, None): ("int", pa.int32()),
    (SchemaType.INT64, None): ("long", pa.int64()),
    (SchemaType.FLOAT32, None): ("float", pa.float32()),
    (SchemaType.FLOAT64, None): ("double", pa.float64()),
    (SchemaType.BOOLEAN, None): ("boolean", pa.bool_()),
    (SchemaType.STRING, None): ("string", pa.string()),
    (SchemaType.BYTES, None): ("bytes", pa.binary()),
    (SchemaType.INT32, DATE_NAME): ("int", pa.date32()),
    (SchemaType.INT64, TIMESTAMP_NAME): ("long", pa.timestamp("ms", "UTC")),
}
"""Schema type and logical name → Avro type, Arrow type, for everything that can be a column here."""

_BYTE_LIMITS = np.array([1 << 7 * count for count in range(1, 10)], dtype=np.uint64)
_LARGEST = (1 << 31) - 1


class Unfit(Exception):
    """This column, or a value in it, must go the other way."""


def leaf_types(schema: Schema) -> tuple[str, pa.DataType] | None:
    """The Avro and the Arrow type of values that hold no others, if they can be columns."""
    logical = schema.name if schema.name is not None and schema.name.startswith("org.apache.kafka.") else None
    return ARROW_TYPES.get((schema.type, logical))


def write_column(column: Column, node: AvroType, style: AvroStyle, prefix: bytes) -> pa.Array | None:
    """Every value after ``prefix``, or ``None`` when the column must go value by value."""
    if column.schema is None or column.array.null_count or node.kind == "bytes":
        return None
    rows = _Rows(len(column.array), style)
    try:
        rows.constant(prefix)
        rows.value(node, column.schema, column.array, None)
    except Unfit:
        return None
    return rows.finished()


class _Rows:
    """Gathers parts from left to right."""

    def __init__(self, size: int, style: AvroStyle) -> None:
        self._size = size
        self._style = style
        self._parts: list[tuple[Numbers, Fill]] = []

    def constant(self, data: bytes) -> None:
        content = np.frombuffer(data, np.uint8)
        places = np.arange(len(data))
        self._parts.append((np.full(self._size, len(data)), lambda out, at: _put(out, at[:, None] + places, content)))

    def value(self, node: AvroType, schema: Schema, array: pa.Array, live: Numbers | None) -> None:
        """``live`` says for which rows there is anything to write; ``None`` for all."""
        if array.null_count and schema.default_value is not None:
            raise Unfit
        if node.kind == "union":
            self._optional(node, schema, array, live)
        elif array.null_count and not _all_live_valid(array, live):
            raise Unfit
        elif schema.type is SchemaType.STRUCT:
            self._struct(node, schema, array, live)
        else:
            self._leaf(node, schema, array, live)

    def _optional(self, node: AvroType, schema: Schema, array: pa.Array, live: Numbers | None) -> None:
        kinds = [branch.kind for branch in node.branches]
        if len(kinds) != 2 or "null" not in kinds or not schema.optional:
            raise Unfit
        null = kinds.index("null")
        valid = _valid(array)
        marks = np.where(valid, 2 * (1 - null), 2 * null).astype(np.uint8)
        lengths = np.ones(self._size, np.int64) if live is None else live.astype(np.int64)
        self._parts.append((lengths, _filler(marks, live)))
        self.value(
            node.branches[1 - null], schema.with_(optional=False), array, valid if live is None else valid & live
        )

    def _struct(self, node: AvroType, schema: Schema, array: pa.Array, live: Numbers | None) -> None:
        if (
            node.kind != "record"
            or self._style.scrub
            or schema.name == names.UNION
            or not pa.types.is_struct(array.type)
        ):
            raise Unfit
        present = {field.name: number for number, field in enumerate(array.type)}
        for slot in node.fields:
            member = schema.by_name.get(slot.name)
            if member is None or slot.name not in present:
                raise Unfit
            self.value(slot.type, member.schema, array.field(present[slot.name]), live)

    def _leaf(self, node: AvroType, schema: Schema, array: pa.Array, live: Numbers | None) -> None:
        types = leaf_types(schema)
        if types is None or types != (node.kind, array.type):
            raise Unfit
        kind = node.kind
        if kind in ("string", "bytes"):
            self._texts(array, live)
            return
        if kind in ("int", "long"):
            numbers = array.cast(pa.int32()) if array.type == pa.date32() else array
            values = numbers.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
            self._longs(values, live)
            return
        filled = array.fill_null(False if kind == "boolean" else 0)
        values = filled.to_numpy(zero_copy_only=False)
        width = {"boolean": 1, "float": 4, "double": 8}[kind]
        content = np.ascontiguousarray(values.astype(np.uint8 if kind == "boolean" else f"<f{width}"))
        content = content.view(np.uint8).reshape(self._size, width)
        lengths = np.full(self._size, width) if live is None else live * width
        self._parts.append((lengths, _filler(content, live)))

    def _longs(self, values: Numbers, live: Numbers | None) -> None:
        rest = (values.astype(np.uint64) << np.uint64(1)) ^ (values >> 63).astype(np.uint64)
        lengths = np.searchsorted(_BYTE_LIMITS, rest, side="right") + 1
        if live is not None:
            lengths = lengths * live

        def fill(out: Numbers, at: Numbers) -> None:
            for place in range(int(lengths.max(initial=0))):
                rows = np.flatnonzero(lengths > place)
                byte = (rest[rows] >> np.uint64(7 * place)).astype(np.uint8) & 127
                out[at[rows] + place] = byte | ((lengths[rows] > place + 1).astype(np.uint8) << 7)

        self._parts.append((lengths, fill))

    def _texts(self, array: pa.Array, live: Numbers | None) -> None:
        if array.null_count or live is not None:
            empty = "" if pa.types.is_string(array.type) else b""
            array = pc.if_else(pa.array(live), array, empty) if live is not None else array
            array = array.fill_null(empty)
        offsets, content = _buffers(array)
        lengths = np.diff(offsets)
        self._longs(lengths, live)
        starts = offsets[:-1]

        def fill(out: Numbers, at: Numbers) -> None:
            out[np.repeat(at - starts, lengths) + np.arange(len(content))] = content

        self._parts.append((lengths, fill))

    def finished(self) -> pa.Array | None:
        lengths: Numbers = sum((part for part, _ in self._parts), np.zeros(self._size, np.int64))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        if offsets[-1] > _LARGEST:
            return None
        out = np.empty(int(offsets[-1]), np.uint8)
        at = offsets[:-1].copy()
        for part, fill in self._parts:
            fill(out, at)
            at += part
        return pa.Array.from_buffers(
            pa.binary(), self._size, [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(out)]
        )


def _put(out: Numbers, at: Numbers, content: Numbers) -> None:
    out[at] = content


def _filler(content: Numbers, live: Numbers | None) -> Fill:
    """For a fixed number of bytes a row."""
    rows = content.reshape(len(content), -1)
    places = np.arange(rows.shape[1])

    def fill(out: Numbers, at: Numbers) -> None:
        if live is None:
            out[at[:, None] + places] = rows
        else:
            out[at[live][:, None] + places] = rows[live]

    return fill


def _valid(array: pa.Array) -> Numbers:
    found: Numbers = array.is_valid().to_numpy(zero_copy_only=False)
    return found


def _all_live_valid(array: pa.Array, live: Numbers | None) -> bool:
    return live is not None and bool(_valid(array)[live].all())


def _buffers(array: pa.Array) -> tuple[Numbers, Numbers]:
    """Offsets from 0, and the bytes they point into."""
    _, places, data = array.buffers()
    offsets = np.frombuffer(places, np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return offsets - offsets[0], content[offsets[0] : offsets[-1]]
