"""Encode and decode is the identity, for every converter over made-up schemas and values, by row and by column.

Avro and JSON Schema, which need a registry, have the same in files of their own.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api import Column, DataError
from penstock.api.arrow import arrow_type, arrow_value
from penstock.api.batch import Part
from penstock.api.converter import Converter, HeaderConverter
from penstock.api.record import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    OPTIONAL_BOOLEAN,
    OPTIONAL_BYTES,
    OPTIONAL_FLOAT32,
    OPTIONAL_FLOAT64,
    OPTIONAL_INT16,
    OPTIONAL_INT32,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    Schema,
    SchemaType,
)
from penstock.converters import (
    CONVERTERS,
    BooleanConverter,
    ByteArrayConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    JsonConverter,
    LongConverter,
    ShortConverter,
    SimpleHeaderConverter,
    StringConverter,
)
from tests.support.connect_values import TEXT, schemas, values

MANY = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))

SCALARS: list[tuple[type[Converter], Schema, Schema, st.SearchStrategy[Any]]] = [
    (BooleanConverter, BOOLEAN, OPTIONAL_BOOLEAN, st.booleans()),
    (ByteArrayConverter, BYTES, OPTIONAL_BYTES, st.binary()),
    (DoubleConverter, FLOAT64, OPTIONAL_FLOAT64, st.floats()),
    (FloatConverter, FLOAT32, OPTIONAL_FLOAT32, st.floats(width=32)),
    (IntegerConverter, INT32, OPTIONAL_INT32, st.integers(-(2**31), 2**31 - 1)),
    (LongConverter, INT64, OPTIONAL_INT64, st.integers(-(2**63), 2**63 - 1)),
    (ShortConverter, INT16, OPTIONAL_INT16, st.integers(-(2**15), 2**15 - 1)),
    (StringConverter, STRING, OPTIONAL_STRING, st.text(st.characters(exclude_categories=["Cs"]))),
]


NAMES = [entry[0].__name__ for entry in SCALARS]
HEADERS = [pytest.param(*entry, id=entry[0].__name__) for entry in SCALARS if issubclass(entry[0], HeaderConverter)]


def made(kind: type[Converter], **options: str) -> Converter:
    converter = kind()
    converter.configure_for({key.replace("_", "."): value for key, value in options.items()}, is_key=False)
    return converter


def same(one: Any, other: Any) -> bool:
    """Equal, with NaN equal to itself and zeros told apart."""
    if isinstance(one, float) and isinstance(other, float):
        return struct.pack(">d", one) == struct.pack(">d", other) or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and one == other


def test_every_converter_is_tested_here_or_in_a_file_of_its_own() -> None:
    elsewhere = {"AvroConverter", "JsonSchemaConverter"}
    here = {entry[0].__name__ for entry in SCALARS} | {"JsonConverter", "SimpleHeaderConverter"}
    assert {converter.__name__ for converter in CONVERTERS} <= here | elsewhere


@pytest.mark.parametrize(("kind", "required", "optional", "strategy"), SCALARS, ids=NAMES)
@MANY
@given(data=st.data())
def test_scalars(
    kind: type[Converter], required: Schema, optional: Schema, strategy: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    converter = made(kind)
    items = data.draw(st.lists(st.none() | strategy, max_size=5))
    encoded = [converter.from_data("t", optional, item) for item in items]
    decoded = [converter.to_data("t", item) for item in encoded]
    assert [schema for schema, _ in decoded] == [optional] * len(items)
    for before, (_, after) in zip(items, decoded, strict=True):
        assert same(before, after)
    full = [item for item in items if item is not None]
    assert [converter.from_data("t", required, item) for item in full] == [item for item in encoded if item is not None]


@pytest.mark.parametrize(("kind", "required", "optional", "strategy"), SCALARS, ids=NAMES)
@MANY
@given(data=st.data())
def test_columns_of_scalars_are_the_same_as_rows(
    kind: type[Converter], required: Schema, optional: Schema, strategy: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    converter = made(kind)
    items = data.draw(st.lists(st.none() | strategy, max_size=5))
    rows = [converter.from_data("t", optional, item) for item in items]
    column = converter.encode("t", Column(pa.array(items, arrow_type(optional)), optional))
    if column is not None:
        assert column.to_pylist() == rows
    found = converter.decode("t", pa.array(rows, pa.binary()))
    if found is not None:
        assert found.schema == optional
        for before, after in zip(items, found.values(), strict=True):
            assert same(before, after)


def as_json_reads(schema: Schema | None, value: Any) -> Any:
    """What Kafka Connect's JSON gives back: a null with a default is its default, a null among text keys is a text."""
    if schema is None or (value is None and schema.default_value is None):
        return value
    value = schema.default_value if value is None else value
    if schema.type is SchemaType.STRUCT:
        return {f.name: as_json_reads(f.schema, value.get(f.name)) for f in schema.fields}
    if schema.type is SchemaType.ARRAY:
        return [as_json_reads(schema.value_schema, item) for item in value]
    if schema.type is SchemaType.MAP:
        nothing = "null" if schema.key_schema is not None and schema.key_schema.type is SchemaType.STRING else None
        items = {key: as_json_reads(schema.value_schema, item) for key, item in value.items()}
        return {nothing if key is None else key: item for key, item in items.items()}
    return value


@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
@MANY
@given(data=st.data(), schema=schemas())
def test_json_with_schemas(decimals: str, data: st.DataObject, schema: Schema) -> None:
    converter = made(JsonConverter, decimal_format=decimals)
    value = data.draw(values(schema))
    found, decoded = converter.to_data("t", converter.from_data("t", schema, value))
    assert found == schema
    assert decoded == as_json_reads(schema, value)


@MANY
@given(data=st.data(), schema=schemas())
def test_json_columns_are_the_same_as_rows(data: st.DataObject, schema: Schema) -> None:
    items = data.draw(st.lists(values(schema), max_size=4))
    try:
        array = pa.array([arrow_value(item, schema) for item in items], arrow_type(schema))
    except (pa.ArrowException, KeyError):
        return
    for enabled in ("true", "false"):
        converter = made(JsonConverter, schemas_enable=enabled)
        rows = [converter.from_data("t", schema, item) for item in Column(array, schema).values()]
        column = converter.encode("t", Column(array, schema))
        if column is not None:
            assert column.to_pylist() == rows
        for part in _parts(converter, pa.array(rows, pa.binary())):
            expected = [converter.to_data("t", rows[row]) for row in part.rows.tolist()]
            assert [(part.column.schema, value) for value in part.column.values()] == expected


def _parts(converter: Converter, data: pa.Array) -> Sequence[Part]:
    """What can be read as columns; an error means that nothing can, as for whoever reads topics."""
    try:
        return converter.decode_parts("t", data)
    except DataError:
        return []


numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@MANY
@given(json_values)
def test_json_without_schemas(value: Any) -> None:
    converter = made(JsonConverter, schemas_enable="false")
    found, decoded = converter.to_data("t", converter.from_data("t", None, value))
    assert (found, decoded) == (None, value)


@pytest.mark.parametrize(("kind", "required", "optional", "strategy"), HEADERS)
@MANY
@given(data=st.data())
def test_headers_of_scalars(
    kind: type[Any], required: Schema, optional: Schema, strategy: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    converter = kind()
    converter.configure({"converter.type": "header"})
    value = data.draw(st.none() | strategy)
    schema, decoded = converter.to_header("t", "h", converter.from_header("t", "h", optional, value))
    assert schema == optional
    assert same(value, decoded)


unmistakable_texts = st.from_regex(r"[a-z]{1,8}( [a-z]{1,8})*", fullmatch=True).filter(
    lambda text: text not in ("null", "true", "false")
)
header_values = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | unmistakable_texts,
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@MANY
@given(st.none() | header_values)
def test_simple_headers(value: Any) -> None:
    """Identity for what a text can tell by itself: whole numbers, truth, words, and lists of them."""
    converter = SimpleHeaderConverter()
    converter.configure({"converter.type": "header"})
    _, decoded = converter.to_header("t", "h", converter.from_header("t", "h", None, value))
    assert decoded == value
