"""Whole columns as JSON text, the same as :mod:`.encoding` writes value by value."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.batch import Column
from penstock.api.columns import java_doubles, join
from penstock.api.logical import TIMESTAMP_NAME
from penstock.api.record import Schema, SchemaType

from .columns import quoted
from .encoding import Style, plain_text, quote, writer_for

_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}


class NullRefused(Exception):
    """A null where the schema allows none: to be reported value by value."""


def json_texts(array: pa.Array, schema: Schema | None, style: Style) -> pa.Array:
    """The JSON text of each value, as a string array without nulls. Raises what a bad value raises by itself."""
    texts = _plain(array, style) if schema is None else _typed(array, schema, style)
    if texts is None:
        write = writer_for(schema, style)
        return pa.array([write(value) for value in Column(array, schema).values()], pa.string())
    return texts.fill_null(pa.scalar(_null_text(schema, style), texts.type)) if texts.null_count else texts


def _null_text(schema: Schema | None, style: Style) -> str:
    if schema is not None and schema.default_value is not None and style.replace_null:
        return writer_for(schema, style)(schema.default_value)
    if schema is not None and not schema.optional:
        raise NullRefused
    return "null"


def _plain(array: pa.Array, style: Style) -> pa.Array | None:
    """Values without a schema; ``None`` when they must go one by one."""
    kind = array.type
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.string())
    if pa.types.is_struct(kind) and len(kind):
        members = [(member.name, json_texts(array.field(at), None, style)) for at, member in enumerate(kind)]
        return _joined(array, members)
    return _scalar(array)


def _typed(array: pa.Array, schema: Schema, style: Style) -> pa.Array | None:
    """Values of a schema; ``None`` when they must go one by one."""
    kind = array.type
    if schema.name == TIMESTAMP_NAME and schema.type is SchemaType.INT64 and kind == pa.timestamp("ms", "UTC"):
        return array.cast(pa.int64()).cast(pa.string())
    if schema.type is SchemaType.STRUCT and pa.types.is_struct(kind) and schema.fields:
        return _joined(array, [(f.name, _member(array, f.name, f.schema, style)) for f in schema.fields])
    if schema.name is None and _holds(kind, schema.type):
        return _scalar(array)
    return None


def _member(array: pa.StructArray, name: str, schema: Schema, style: Style) -> pa.Array:
    at = array.type.get_field_index(name)
    if at < 0:
        return pa.repeat(pa.scalar(_null_text(schema, style), pa.string()), len(array))
    return json_texts(array.field(at), schema, style)


def _holds(kind: pa.DataType, schema: SchemaType) -> bool:
    if schema in _BITS:
        return bool(pa.types.is_signed_integer(kind)) and kind.bit_width <= _BITS[schema]
    if schema is SchemaType.STRING:
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
    return (schema is SchemaType.BOOLEAN and kind == pa.bool_()) or (
        schema is SchemaType.FLOAT64 and kind == pa.float64()
    )


def _scalar(array: pa.Array) -> pa.Array | None:
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return quoted(array)
    if pa.types.is_boolean(kind) or pa.types.is_signed_integer(kind):
        return array.cast(pa.string())
    return java_doubles(array, plain_text) if pa.types.is_float64(kind) else None


def _joined(array: pa.StructArray, members: list[tuple[str, pa.Array]]) -> pa.Array:
    parts: list[pa.Array | str] = []
    for name, texts in members:
        parts += [f"{',' if parts else '{'}{quote(name)}:", texts]
    joined = join([*parts, "}"])
    return pc.if_else(array.is_valid(), joined, pa.scalar(None, joined.type)) if array.null_count else joined
