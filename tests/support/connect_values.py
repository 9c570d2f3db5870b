"""Connect schemas and values made up by hypothesis."""

from __future__ import annotations

import datetime as dt
from itertools import count
from typing import Any

from hypothesis import strategies as st

from penstock.api.logical import (
    DATE,
    DATE_NAME,
    DECIMAL_NAME,
    TIME,
    TIME_NAME,
    TIMESTAMP,
    TIMESTAMP_NAME,
    decimal_of,
    decimal_schema,
    schema_scale,
)
from penstock.api.record import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Field,
    FrozenKey,
    Schema,
    SchemaType,
    get_field,
)

BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
SIMPLE = [INT8, INT16, INT32, INT64, FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES]
LOGICAL = [DATE, TIME, TIMESTAMP, decimal_schema(0), decimal_schema(3)]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
FIELD_NAMES = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,5}", fullmatch=True)
_numbers = count()


def leaf(schema: Schema) -> st.SearchStrategy[Any]:
    """Values of a schema that holds no other."""
    if schema.name == DECIMAL_NAME:
        scale = schema_scale(schema)
        return st.integers(-(10**30), 10**30).map(lambda digits: decimal_of(digits, scale))
    if schema.name == DATE_NAME:
        return st.dates()
    if schema.name == TIME_NAME:
        return st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))
    if schema.name == TIMESTAMP_NAME:
        moments = st.datetimes(timezones=st.just(dt.UTC))
        return moments.map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))
    if schema.type in BITS:
        half = 1 << (BITS[schema.type] - 1)
        return st.integers(-half, half - 1)
    if schema.type in (SchemaType.FLOAT32, SchemaType.FLOAT64):
        width = 32 if schema.type is SchemaType.FLOAT32 else 64
        return st.floats(allow_nan=False, allow_infinity=False, width=width).map(lambda x: x + 0.0 if x else 0.0)
    return {SchemaType.BOOLEAN: st.booleans(), SchemaType.STRING: TEXT}.get(schema.type, st.binary(max_size=8))


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Values of a schema."""
    found = _required_values(schema)
    return st.none() | found if schema.optional else found


def _required_values(schema: Schema) -> st.SearchStrategy[Any]:
    inner = schema.value_schema
    if schema.type is SchemaType.STRUCT:
        return st.fixed_dictionaries({f.name: values(f.schema) for f in schema.fields})
    if schema.type is SchemaType.ARRAY and inner is not None:
        return st.lists(values(inner), max_size=3)
    if schema.type is SchemaType.MAP and inner is not None and schema.key_schema is not None:
        return st.dictionaries(values(schema.key_schema).map(FrozenKey.of), values(inner), max_size=3)
    return leaf(schema)


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Schema:
    """Schemas with all their attributes, structs with names of their own or none."""
    kind = draw(st.sampled_from(["simple", "simple", "logical", "struct", "array", "map"] if depth else ["simple"]))
    if kind == "logical":
        schema = draw(st.sampled_from(LOGICAL))
    elif kind == "struct":
        names = draw(st.lists(FIELD_NAMES, unique_by=str.lower, max_size=4))
        schema = Schema(SchemaType.STRUCT, fields=tuple(Field(name, draw(schemas(depth - 1))) for name in names))
    elif kind == "array":
        schema = Schema(SchemaType.ARRAY, value_schema=draw(schemas(depth - 1)))
    elif kind == "map":
        keys = draw(st.sampled_from([STRING, STRING, INT32, STRING.with_(optional=True), DATE]))
        schema = Schema(SchemaType.MAP, key_schema=keys, value_schema=draw(schemas(depth - 1)))
    else:
        schema = draw(st.sampled_from(SIMPLE))
    return draw(decorated(schema))


@st.composite
def decorated(draw: st.DrawFn, schema: Schema) -> Schema:
    """A schema with some of the attributes it may have."""
    schema = schema.with_(optional=draw(st.booleans()), doc=draw(st.none() | TEXT))
    if schema.name is None:
        schema = schema.with_(
            name=f"made.up.N{next(_numbers)}" if draw(st.booleans()) else None,
            version=draw(st.none() | st.integers(1, 9)),
            parameters=draw(st.none() | st.dictionaries(st.sampled_from(["p", "q", "r.s"]), TEXT, min_size=1)),
        )
    if draw(st.integers(0, 3)) == 0 and _may_have_default(schema):
        schema = schema.with_(default=draw(_required_values(schema)))
    return schema


def _may_have_default(schema: Schema) -> bool:
    """Not a struct, and no nulls inside."""
    inner = [s for s in (schema.key_schema, schema.value_schema) if s is not None]
    return schema.type is not SchemaType.STRUCT and all(not s.optional and _may_have_default(s) for s in inner)


def as_read(schema: Schema | None, value: Any) -> Any:
    """What a converter gives back for a value where structs have defaults instead of nulls."""
    if value is None or schema is None:
        return value
    if schema.type is SchemaType.STRUCT:
        return {f.name: as_read(f.schema, get_field(value, f)) for f in schema.fields}
    if schema.type is SchemaType.ARRAY:
        return [as_read(schema.value_schema, item) for item in value]
    if schema.type is SchemaType.MAP:
        return {key: as_read(schema.value_schema, item) for key, item in value.items()}
    return value


def as_read_without_nulls(schema: Schema | None, value: Any) -> Any:
    """What a converter gives back that puts defaults in place of all nulls and leaves null fields out."""
    if schema is None or (value is None and schema.default_value is None):
        return value
    value = schema.default_value if value is None else value
    if schema.type is SchemaType.STRUCT:
        found = {f.name: as_read_without_nulls(f.schema, value.get(f.name)) for f in schema.fields}
        return {name: inner for name, inner in found.items() if inner is not None}
    if schema.type is SchemaType.ARRAY:
        return [as_read_without_nulls(schema.value_schema, item) for item in value]
    if schema.type is SchemaType.MAP:
        keys, items = schema.key_schema, schema.value_schema
        return {as_read_without_nulls(keys, k): as_read_without_nulls(items, v) for k, v in value.items()}
    return value
