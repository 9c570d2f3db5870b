"""Columns of values as Java prints them: :func:`~penstock.api.text.java_text`, a whole column at a time."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from .batch import Column
from .record import Schema, SchemaType
from .text import java_double, java_text

_NULL = "null"
_SMALLEST_PLAIN, _FIRST_WITH_EXPONENT = 1e-3, 1e7


def java_texts(column: Column) -> pa.Array:
    """The text of each value as a string array without nulls: ``null`` for null."""
    array, schema = column.array, column.schema
    kind = array.type
    if schema is not None and schema.name is not None and schema.type is not SchemaType.STRUCT:
        return _one_by_one(array, schema)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return array.fill_null(_NULL) if array.null_count else array
    if pa.types.is_boolean(kind) or pa.types.is_signed_integer(kind):
        return array.cast(pa.string()).fill_null(_NULL)
    if pa.types.is_float64(kind) and (schema is None or schema.type is SchemaType.FLOAT64):
        return java_doubles(array).fill_null(_NULL)
    if pa.types.is_null(kind):
        return pa.repeat(_NULL, len(array))
    if pa.types.is_struct(kind) and len(kind):
        if schema is None:
            return _map_texts(array)
        if schema.type is SchemaType.STRUCT and [f.name for f in schema.fields] == [f.name for f in kind]:
            return _struct_texts(array, schema)
    return _one_by_one(array, schema)


def java_doubles(array: pa.Array, other: Callable[[float], str] = java_double) -> pa.Array:
    """64-bit floats as Java prints them; those that are not plain decimals are printed by ``other``. Nulls stay."""
    size = pc.abs(array)
    within = pc.and_(pc.greater_equal(size, _SMALLEST_PLAIN), pc.less(size, _FIRST_WITH_EXPONENT))
    plain = pc.or_(within, pc.equal(size, 0.0))
    texts = array.cast(pa.string())
    whole = pc.and_(plain, pc.invert(pc.match_substring(texts, ".")))
    if pc.any(whole).as_py():
        texts = pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
    odd = pc.fill_null(pc.invert(plain), False)
    if pc.any(odd).as_py():
        replaced = pa.array([other(value) for value in array.filter(odd).to_pylist()], pa.string())
        texts = pc.replace_with_mask(texts, odd, replaced)
    return texts


def _map_texts(array: pa.StructArray) -> pa.Array:
    parts: list[pa.Array | str] = []
    for at, member in enumerate(array.type):
        parts += [f"{', ' if at else '{'}{member.name}=", java_texts(Column(array.field(at)))]
    return _joined(array, [*parts, "}"])


def _struct_texts(array: pa.StructArray, schema: Schema) -> pa.Array:
    """Fields that are null are left out."""
    parts: list[pa.Array | str] = []
    may_begin = True
    for at, member in enumerate(schema.fields):
        values = array.field(at)
        texts = java_texts(Column(values, member.schema))
        if not values.null_count and not may_begin:
            parts += [f",{member.name}=", texts]
        elif not values.null_count and at == 0:
            parts += [f"{member.name}=", texts]
            may_begin = False
        else:
            return _one_by_one(array, schema)
    return _joined(array, ["Struct{", *parts, "}"])


def _joined(array: pa.StructArray, parts: list[pa.Array | str]) -> pa.Array:
    wide = any(pa.types.is_large_string(part.type) for part in parts if not isinstance(part, str))
    kind = pa.large_string() if wide else pa.string()
    typed = [pa.scalar(part, kind) if isinstance(part, str) else part.cast(kind) for part in parts]
    joined = pc.binary_join_element_wise(*typed, pa.scalar("", kind))
    return pc.if_else(array.is_valid(), joined, _NULL) if array.null_count else joined


def _one_by_one(array: pa.Array, schema: Schema | None) -> pa.Array:
    return pa.array([java_text(value, schema) for value in array.to_pylist()], pa.string())
