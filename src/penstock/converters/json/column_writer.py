"""Whole columns as JSON text, the same as :mod:`.encoding` writes value by value."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.batch import Column
from penstock.api.columns import java_doubles, join
from penstock.api.logical import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from penstock.api.record import Schema, SchemaType

from .columns import quoted
from .encoding import Style, plain_text, quote, writer_for

_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
_LOGICAL = (DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME)
"""Schemas with a way of their own to write values; all other names say nothing about it."""


class NullRefused(Exception):
    """A null where the schema allows none: to be reported value by value."""


def json_texts(array: pa.Array, schema: Schema | None, style: Style) -> pa.Array:
    """The JSON text of each value, as a string array without nulls. Raises what a bad value raises by itself."""
    texts = _texts(array, schema, style)
    return pa.repeat(pa.scalar(texts, pa.string()), len(array)) if isinstance(texts, str) else texts


def _texts(array: pa.Array, schema: Schema | None, style: Style) -> pa.Array | str:
    """The same; where all values have one text, that text, for it is joined with its neighbours only once."""
    if len(array) and array.null_count == len(array):
        return _null_text(schema, style)
    if _is_constant(array):
        return str(json_texts(array.slice(0, 1), schema, style)[0].as_py())
    texts = _plain(array, style) if schema is None else _typed(array, schema, style)
    if texts is None:
        write = writer_for(schema, style)
        return pa.array([write(value) for value in Column(array, schema).values()], pa.string())
    if isinstance(texts, str) or not texts.null_count:
        return texts
    return texts.fill_null(pa.scalar(_null_text(schema, style), texts.type))


def _is_constant(array: pa.Array) -> bool:
    """Whether a column of simple values has the same one in each of two or more rows."""
    kind, count = array.type, len(array)
    if count < 2 or array.null_count or not (pa.types.is_string(kind) or pa.types.is_signed_integer(kind)):
        return False
    first = array[0]
    return bool(array[count // 2] == first and array[count - 1] == first and pc.all(pc.equal(array, first)).as_py())


def _null_text(schema: Schema | None, style: Style) -> str:
    if schema is not None and schema.default_value is not None and style.replace_null:
        return writer_for(schema, style)(schema.default_value)
    if schema is not None and not schema.optional:
        raise NullRefused
    return "null"


def _plain(array: pa.Array, style: Style) -> pa.Array | str | None:
    """Values without a schema; ``None`` when they must go one by one."""
    kind = array.type
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.string())
    if pa.types.is_struct(kind) and len(kind):
        members = [(member.name, _texts(array.field(at), None, style)) for at, member in enumerate(kind)]
        return _joined(array, members)
    return _scalar(array)


def _typed(array: pa.Array, schema: Schema, style: Style) -> pa.Array | str | None:
    """Values of a schema; ``None`` when they must go one by one."""
    kind = array.type
    if schema.name == TIMESTAMP_NAME and schema.type is SchemaType.INT64 and kind == pa.timestamp("ms", "UTC"):
        return array.cast(pa.int64()).cast(pa.string())
    if schema.type is SchemaType.STRUCT and pa.types.is_struct(kind) and schema.fields:
        return _joined(array, [(f.name, _member(array, f.name, f.schema, style)) for f in schema.fields])
    if schema.name not in _LOGICAL and _holds(kind, schema.type):
        return _scalar(array)
    return None


def _member(array: pa.StructArray, name: str, schema: Schema, style: Style) -> pa.Array | str:
    at = array.type.get_field_index(name)
    return _null_text(schema, style) if at < 0 else _texts(array.field(at), schema, style)


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


def _joined(array: pa.StructArray, members: list[tuple[str, pa.Array | str]]) -> pa.Array | str:
    parts: list[pa.Array | str] = ["{"]
    for at, (name, texts) in enumerate(members):
        label = f"{',' if at else ''}{quote(name)}:"
        parts[-1:] = _adjoined(parts[-1], label)
        parts[-1:] = _adjoined(parts[-1], texts)
    parts[-1:] = _adjoined(parts[-1], "}")
    joined = parts[0] if len(parts) == 1 else join(parts)
    if not array.null_count:
        return joined
    whole = pa.scalar(joined, pa.string()) if isinstance(joined, str) else joined
    return pc.if_else(array.is_valid(), whole, pa.scalar(None, whole.type))


def _adjoined(last: pa.Array | str, more: pa.Array | str) -> list[pa.Array | str]:
    """Two neighbours, as one where both are the same in every row."""
    return [last + more] if isinstance(last, str) and isinstance(more, str) else [last, more]
