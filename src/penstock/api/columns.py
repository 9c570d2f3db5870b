"""Columns of values as Java prints them: :func:`~penstock.api.text.java_text`, a whole column at a time.

Arrow is always told the type of a constant: where it has to guess, it looks for pandas every time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .batch import Column
from .record import Schema, SchemaType
from .text import java_double, java_text

_NULL = "null"
_SMALLEST_PLAIN, _FIRST_WITH_EXPONENT = 1e-3, 1e7


def java_texts(column: Column, end: str = "") -> pa.Array:
    """The text of each value and ``end``, as a string array without nulls: ``null`` for null."""
    array, schema = column.array, column.schema
    if pa.types.is_struct(array.type) and len(array.type):
        parts = _map_parts(array) if schema is None else _struct_parts(array, schema)
        if parts is not None:
            *others, closing = parts
            joined = join([*others, f"{closing}{end}"])
            return pc.if_else(array.is_valid(), joined, _typed(f"{_NULL}{end}", joined)) if array.null_count else joined
    texts = _scalar_texts(array, schema)
    if texts is None:
        texts = pa.array([java_text(value, schema) for value in column.values()], pa.string())
    if texts.null_count:
        texts = texts.fill_null(_typed(_NULL, texts))
    return join([texts, end]) if end else texts


def join(parts: list[pa.Array | str]) -> pa.Array:
    """Arrays of strings and constants, joined value by value; null where one of them is."""
    wide = any(pa.types.is_large_string(part.type) for part in parts if not isinstance(part, str))
    kind = pa.large_string() if wide else pa.string()
    typed = [pa.scalar(part, kind) if isinstance(part, str) else part.cast(kind) for part in parts]
    return pc.binary_join_element_wise(*typed, pa.scalar("", kind))


def content(array: pa.Array) -> memoryview:
    """The bytes of all values of a string or binary array, one after the other, without a copy."""
    _, offsets, data = array.buffers()
    if data is None or not len(array):
        return memoryview(b"")
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    bounds = np.frombuffer(offsets, np.int64 if wide else np.int32)
    return memoryview(data)[int(bounds[array.offset]) : int(bounds[array.offset + len(array)])]


def java_doubles(array: pa.Array, other: Callable[[float], str] = java_double) -> pa.Array:
    """64-bit floats as Java prints them; those that are not plain decimals are printed by ``other``. Nulls stay."""
    valid = array.is_valid() if array.null_count else None
    numbers = array if valid is None else array.fill_null(pa.scalar(0.5, pa.float64()))
    values = numbers.to_numpy(zero_copy_only=False)
    size = np.abs(values)
    plain = ((size >= _SMALLEST_PLAIN) & (size < _FIRST_WITH_EXPONENT)) | (size == 0.0)
    texts = numbers.cast(pa.string())
    whole = plain & (np.trunc(values) == values)
    if whole.any():
        texts = pc.if_else(pa.array(whole), join([texts, ".0"]), texts)
    if not plain.all():
        replaced = pa.array([other(value) for value in values[~plain].tolist()], pa.string())
        texts = pc.replace_with_mask(texts, pa.array(~plain), replaced)
    return texts if valid is None else pc.if_else(valid, texts, pa.scalar(None, pa.string()))


def _scalar_texts(array: pa.Array, schema: Schema | None) -> pa.Array | None:
    """Texts of simple values, null for null; ``None`` when they must go one by one."""
    kind = array.type
    if schema is not None and schema.name is not None:
        return None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return array
    if pa.types.is_boolean(kind) or pa.types.is_signed_integer(kind) or pa.types.is_null(kind):
        return array.cast(pa.string())
    if pa.types.is_float64(kind) and (schema is None or schema.type is SchemaType.FLOAT64):
        return java_doubles(array)
    return None


def _map_parts(array: pa.StructArray) -> list[pa.Array | str]:
    parts: list[pa.Array | str] = []
    for at, member in enumerate(array.type):
        parts += [f"{', ' if at else '{'}{member.name}=", java_texts(Column(array.field(at)))]
    return [*parts, "}"]


def _struct_parts(array: pa.StructArray, schema: Schema) -> list[pa.Array | str] | None:
    """``None`` when the schema has other fields."""
    if schema.type is not SchemaType.STRUCT or [f.name for f in schema.fields] != [f.name for f in array.type]:
        return None
    parts: list[pa.Array | str] = []
    for at, member in enumerate(schema.fields):
        values = array.field(at)
        texts = java_texts(Column(values, member.schema))
        if values.null_count:
            shown = join([f",{member.name}=", texts])
            parts.append(pc.if_else(values.is_valid(), shown, _typed("", shown)))
        else:
            parts += [f",{member.name}=", texts]
    if array.field(0).null_count == 0:
        return [f"Struct{{{parts[0][1:]}", *parts[1:], "}"]
    return ["Struct{", pc.utf8_slice_codeunits(join(parts), 1), "}"]


def _typed(text: str, texts: pa.Array) -> pa.Scalar:
    return pa.scalar(text, texts.type)
