"""Between the schemas of records and the types of Arrow: for connectors that move whole tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from .errors import DataError
from .logical import (
    DATE,
    DATE_NAME,
    DECIMAL_NAME,
    TIME,
    TIME_NAME,
    TIMESTAMP,
    TIMESTAMP_NAME,
    decimal_schema,
    from_millis,
    time_from_millis,
    to_millis,
)
from .record import Field, FrozenKey, Schema, SchemaType

MAX_DECIMAL_DIGITS = 38

_SIMPLE = {
    SchemaType.INT8: pa.int8(),
    SchemaType.INT16: pa.int16(),
    SchemaType.INT32: pa.int32(),
    SchemaType.INT64: pa.int64(),
    SchemaType.FLOAT32: pa.float32(),
    SchemaType.FLOAT64: pa.float64(),
    SchemaType.BOOLEAN: pa.bool_(),
    SchemaType.STRING: pa.string(),
    SchemaType.BYTES: pa.binary(),
}
_BY_ARROW: tuple[tuple[Callable[[pa.DataType], bool], Schema], ...] = (
    (pa.types.is_null, Schema(SchemaType.STRING)),
    (pa.types.is_boolean, Schema(SchemaType.BOOLEAN)),
    (pa.types.is_int8, Schema(SchemaType.INT8)),
    (lambda kind: kind in (pa.int16(), pa.uint8()), Schema(SchemaType.INT16)),
    (lambda kind: kind in (pa.int32(), pa.uint16()), Schema(SchemaType.INT32)),
    (pa.types.is_integer, Schema(SchemaType.INT64)),
    (lambda kind: kind in (pa.float16(), pa.float32()), Schema(SchemaType.FLOAT32)),
    (pa.types.is_floating, Schema(SchemaType.FLOAT64)),
    (lambda kind: kind in (pa.string(), pa.large_string(), pa.string_view()), Schema(SchemaType.STRING)),
    (lambda kind: kind in (pa.binary(), pa.large_binary(), pa.binary_view()), Schema(SchemaType.BYTES)),
    (pa.types.is_fixed_size_binary, Schema(SchemaType.BYTES)),
    (pa.types.is_date, DATE),
    (pa.types.is_time, TIME),
    (pa.types.is_timestamp, TIMESTAMP),
)


def arrow_type(schema: Schema) -> pa.DataType:
    """The Arrow type for values of a schema. Times of day become milliseconds since midnight."""
    if schema.name == DECIMAL_NAME:
        return pa.decimal128(MAX_DECIMAL_DIGITS, int((schema.parameters or {}).get("scale", "0")))
    if schema.name == DATE_NAME:
        return pa.date32()
    if schema.name == TIMESTAMP_NAME:
        return pa.timestamp("ms", "UTC")
    if schema.type is SchemaType.STRUCT:
        return pa.struct([pa.field(f.name, arrow_type(f.schema)) for f in schema.fields])
    if schema.type is SchemaType.ARRAY and schema.value_schema is not None:
        return pa.list_(arrow_type(schema.value_schema))
    if schema.type is SchemaType.MAP and schema.key_schema is not None and schema.value_schema is not None:
        return pa.map_(arrow_type(schema.key_schema), arrow_type(schema.value_schema))
    return _SIMPLE[schema.type]


def arrow_value(value: Any, schema: Schema) -> Any:
    """A value in the form that ``pa.array`` takes for :func:`arrow_type`."""
    if value is None:
        return None
    if schema.name == TIME_NAME:
        return to_millis(value)
    if schema.name == TIMESTAMP_NAME:
        return pa.scalar(to_millis(value), pa.timestamp("ms", "UTC"))
    if schema.type is SchemaType.STRUCT:
        return {f.name: arrow_value(value.get(f.name), f.schema) for f in schema.fields}
    if schema.type is SchemaType.ARRAY and schema.value_schema is not None:
        return [arrow_value(item, schema.value_schema) for item in value]
    if schema.type is SchemaType.MAP and schema.key_schema is not None and schema.value_schema is not None:
        keys, values = schema.key_schema, schema.value_schema
        return [(arrow_value(k, keys), arrow_value(v, values)) for k, v in value.items()]
    return value


def plain_value(value: Any, schema: Schema) -> Any:
    """The value of a record for one that Arrow gave for :func:`arrow_type`: the reverse of :func:`arrow_value`."""
    if value is None:
        return None
    if schema.name == TIME_NAME:
        return time_from_millis(value) if isinstance(value, int) else value
    if schema.name == TIMESTAMP_NAME:
        return from_millis(to_millis(value))
    if schema.type is SchemaType.STRUCT:
        return {f.name: plain_value(value.get(f.name), f.schema) for f in schema.fields}
    if schema.type is SchemaType.ARRAY and schema.value_schema is not None:
        return [plain_value(item, schema.value_schema) for item in value]
    if schema.type is SchemaType.MAP and schema.key_schema is not None and schema.value_schema is not None:
        keys, values = schema.key_schema, schema.value_schema
        pairs = value.items() if isinstance(value, dict) else value
        return {FrozenKey.of(plain_value(k, keys)): plain_value(v, values) for k, v in pairs}
    return value


def differs_in_arrow(schema: Schema) -> bool:
    """Whether Arrow gives values of a schema in another form than records hold: times of day and maps."""
    if schema.name == TIME_NAME or schema.type is SchemaType.MAP:
        return True
    inner = [field.schema for field in schema.fields]
    return any(map(differs_in_arrow, inner if schema.value_schema is None else [*inner, schema.value_schema]))


def schema_of(kind: pa.DataType, name: str = "") -> Schema:
    """The (optional) schema for values of an Arrow type. ``DataError`` for a type that records cannot hold."""
    return _required_schema_of(kind, name).with_(optional=True)


def _required_schema_of(kind: pa.DataType, name: str) -> Schema:
    if pa.types.is_dictionary(kind):
        return _required_schema_of(kind.value_type, name)
    if pa.types.is_decimal(kind):
        return decimal_schema(kind.scale)
    if pa.types.is_struct(kind):
        fields = tuple(Field(f.name, schema_of(f.type, f.name)) for f in kind)
        return Schema(SchemaType.STRUCT, fields=fields)
    if pa.types.is_map(kind):
        return Schema(SchemaType.MAP, key_schema=schema_of(kind.key_type), value_schema=schema_of(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return Schema(SchemaType.ARRAY, value_schema=schema_of(kind.value_type, name))
    for fits, schema in _BY_ARROW:
        if fits(kind):
            return schema
    raise DataError(f"Column {name or '?'} is of type {kind}, which records cannot hold; cast or drop it")
