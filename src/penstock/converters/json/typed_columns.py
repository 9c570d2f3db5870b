"""Columns of JSON objects as columns of a schema: the same values as :mod:`.decoding` reads one by one.

Only what needs no conversion of its own: a value of another JSON type than its schema says, a null that a default
replaces, a number out of range, and most logical types are left to be read one by one.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.logical import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from penstock.api.record import Schema, SchemaType

_ARROW = {
    SchemaType.INT8: pa.int8(),
    SchemaType.INT16: pa.int16(),
    SchemaType.INT32: pa.int32(),
    SchemaType.INT64: pa.int64(),
    SchemaType.FLOAT64: pa.float64(),
    SchemaType.BOOLEAN: pa.bool_(),
    SchemaType.STRING: pa.string(),
}
_READ_DIFFERENTLY = {DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME}
_EXACT_DOUBLES = 2**53


def typed_structs(array: pa.StructArray, schema: Schema, replace_null: bool) -> pa.StructArray | None:
    """The structs of a schema, or ``None`` when they must be read one by one."""
    if schema.type is not SchemaType.STRUCT or schema.name in _READ_DIFFERENTLY or not schema.fields:
        return None
    members = []
    for field in schema.fields:
        at = array.type.get_field_index(field.name)
        found = pa.nulls(len(array)) if at < 0 else array.field(at)
        member = _typed(found, field.schema, replace_null)
        if member is None:
            return None
        members.append(member)
    return pa.StructArray.from_arrays(members, names=[field.name for field in schema.fields])


def _typed(array: pa.Array, schema: Schema, replace_null: bool) -> pa.Array | None:
    wanted = _ARROW.get(schema.type)
    if array.null_count and (not schema.optional or (replace_null and schema.default_value is not None)):
        return None
    if schema.name in _READ_DIFFERENTLY:
        return None
    if pa.types.is_struct(array.type):
        return typed_structs(array, schema, replace_null)
    if schema.type is SchemaType.STRUCT and pa.types.is_null(array.type):
        kind = _struct_type(schema)
        return None if kind is None else pa.nulls(len(array), kind)
    if wanted is None or array.type == wanted or pa.types.is_null(array.type):
        return None if wanted is None else array.cast(wanted)
    if array.type != pa.int64() or not (pa.types.is_integer(wanted) or pa.types.is_floating(wanted)):
        return None
    limit = _EXACT_DOUBLES if pa.types.is_floating(wanted) else 1 << (wanted.bit_width - 1)
    found = pc.min_max(array).as_py()
    return array.cast(wanted) if -limit <= found["min"] and found["max"] < limit else None


def _struct_type(schema: Schema) -> pa.DataType | None:
    """The type that ``typed_structs`` gives for a schema; ``None`` when they must be read one by one."""
    if schema.type is not SchemaType.STRUCT:
        return None if schema.name in _READ_DIFFERENTLY else _ARROW.get(schema.type)
    members = [(field.name, _struct_type(field.schema)) for field in schema.fields]
    if schema.name in _READ_DIFFERENTLY or not members or any(kind is None for _, kind in members):
        return None
    return pa.struct(members)
