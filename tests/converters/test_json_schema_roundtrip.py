"""Encode and decode is the identity; and a JSON Schema validator agrees with what we write."""

from __future__ import annotations

import json
from collections.abc import Iterator

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api.record import Schema
from penstock.converters.json_schema import JsonSchemaConverter
from penstock.converters.json_schema.from_connect import json_schema_text
from penstock.converters.json_schema.names import JsonStyle
from tests.support.connect_values import as_read_without_nulls, schemas, values
from tests.support.registry import RegistryServer

LENIENT = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        server.registry.level = "NONE"
        yield server


def converter(registry: RegistryServer, **more: str) -> JsonSchemaConverter:
    made = JsonSchemaConverter()
    made.configure_for({"schema.registry.url": registry.url} | more, is_key=False)
    return made


@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
@LENIENT
@given(st.data(), schemas())
def test_a_value_and_its_schema_come_back_as_they_were(
    registry: RegistryServer, decimals: str, data: st.DataObject, schema: Schema
) -> None:
    both = converter(registry, **{"decimal.format": decimals})
    value = data.draw(values(schema))
    encoded = both.from_data("t", schema, value)
    found, decoded = both.to_data("t", encoded)
    assert encoded is not None
    assert found is not None
    assert found.with_(version=schema.version) == schema
    assert decoded == as_read_without_nulls(schema, value)


@LENIENT
@given(st.data(), schemas())
def test_the_registered_schema_accepts_what_is_written(
    registry: RegistryServer, data: st.DataObject, schema: Schema
) -> None:
    encoded = converter(registry).from_data("t", schema, data.draw(values(schema)))
    assert encoded is not None
    checker = jsonschema_rs.validator_for(json.loads(json_schema_text(schema, JsonStyle())))
    checker.validate(json.loads(encoded[5:]))
