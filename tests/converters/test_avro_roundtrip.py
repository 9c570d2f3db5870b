"""Encode and decode is the identity, for schemas and values of every kind; and fastavro reads what we write."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api.record import FrozenKey, Schema, SchemaType, get_field
from penstock.converters.avro import AvroConverter
from penstock.converters.avro.from_connect import avro_text, has_string_keys
from penstock.converters.avro.styles import AvroStyle
from tests.support.connect_values import as_read, schemas, values
from tests.support.registry import RegistryServer

STYLE = AvroStyle()
LENIENT = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        server.registry.level = "NONE"
        yield server


@pytest.fixture(scope="module")
def converter(registry: RegistryServer) -> AvroConverter:
    made = AvroConverter()
    made.configure_for({"schema.registry.url": registry.url}, is_key=False)
    return made


def plain(schema: Schema | None, value: Any) -> Any:
    """The value as a plain Avro consumer sees it."""
    if value is None or schema is None:
        return value
    if schema.type is SchemaType.STRUCT:
        return {f.name: plain(f.schema, get_field(value, f)) for f in schema.fields}
    if schema.type is SchemaType.ARRAY:
        return [plain(schema.value_schema, item) for item in value]
    if schema.type is SchemaType.MAP:
        entries = [
            (k.value if isinstance(k, FrozenKey) else k, plain(schema.value_schema, v)) for k, v in value.items()
        ]
        return dict(entries) if has_string_keys(schema, STYLE) else [{"key": k, "value": v} for k, v in entries]
    return value


@LENIENT
@given(st.data(), schemas())
def test_a_value_and_its_schema_come_back_as_they_were(
    converter: AvroConverter, data: st.DataObject, schema: Schema
) -> None:
    value = data.draw(values(schema))
    encoded = converter.from_data("t", schema, value)
    found, decoded = converter.to_data("t", encoded)
    if encoded is None:
        assert (value, found, decoded) == (None, None, None)
        return
    assert found is not None
    assert found.with_(version=schema.version) == schema
    assert decoded == as_read(schema, value)


@LENIENT
@given(st.data(), schemas())
def test_fastavro_reads_what_we_write(converter: AvroConverter, data: st.DataObject, schema: Schema) -> None:
    schema = schema.with_(optional=False)
    value = data.draw(values(schema))
    encoded = converter.from_data("t", schema, value)
    assert encoded is not None
    parsed = fastavro.parse_schema(json.loads(avro_text(schema, STYLE)))
    if schema.type is SchemaType.BYTES:
        encoded = encoded[:5] + bytes([*_long(len(encoded) - 5)]) + encoded[5:]
    assert fastavro.schemaless_reader(io.BytesIO(encoded[5:]), parsed, None) == plain(schema, value)


def _long(number: int) -> list[int]:
    return [2 * number] if number < 64 else [2 * number & 127 | 128, number >> 6]


@LENIENT
@given(st.data(), schemas())
def test_we_read_what_fastavro_writes(
    registry: RegistryServer, converter: AvroConverter, data: st.DataObject, schema: Schema
) -> None:
    schema = Schema(SchemaType.STRUCT).with_(fields=(), name=None) if schema.type is SchemaType.BYTES else schema
    value = data.draw(values(schema.with_(optional=False)))
    node = json.loads(avro_text(schema, STYLE))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(node), plain(schema, value))
    number = registry.registry.register("t-value", {"schema": json.dumps(node)})
    found, decoded = converter.to_data("t", b"\x00" + number.to_bytes(4, "big") + out.getvalue())
    assert found is not None
    assert found.with_(version=schema.version) == schema
    assert decoded == as_read(schema, value)


@LENIENT
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(0, 9), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_a_value_without_a_schema_comes_back_as_it_was(converter: AvroConverter, value: Any) -> None:
    encoded = converter.from_data("anything", None, value)
    assert converter.to_data("anything", encoded) == (None, value)
