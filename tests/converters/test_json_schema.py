"""JsonSchemaConverter: JSON as Kafka Connect's converter writes it, and JSON Schemas of all sorts read."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from penstock.api.errors import ConfigError, DataError
from penstock.api.logical import DATE, decimal_schema
from penstock.api.record import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    Schema,
    array_schema,
    map_schema,
    struct_schema,
)
from penstock.converters.json_schema import JsonSchemaConverter
from penstock.converters.json_schema.compatibility import json_problems
from tests.support.registry import RegistryServer

ORDER = struct_schema(("id", INT64), ("note", OPTIONAL_STRING), name="shop.Order")


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        server.registry.level = "NONE"
        yield server


def converter(registry: RegistryServer, **settings: str) -> JsonSchemaConverter:
    made = JsonSchemaConverter()
    keys = {name.replace("_", "."): value for name, value in settings.items()}
    made.configure_for({"schema.registry.url": registry.url, **keys}, is_key=False)
    return made


def written(registry: RegistryServer, schema: Schema | None, value: Any, **settings: str) -> str:
    data = converter(registry, **settings).from_data("t", schema, value)
    assert data is not None
    return data[5:].decode()


def registered(registry: RegistryServer, schema: Schema, value: Any, **settings: str) -> Any:
    converter(registry, **settings).from_data("t", schema, value)
    body = registry.registry.subjects["t-value"][-1].body
    assert body["schemaType"] == "JSON"
    return json.loads(body["schema"])


def read(registry: RegistryServer, node: Any, payload: str, **settings: str) -> tuple[Schema, Any]:
    body = {"schema": json.dumps(node), "schemaType": "JSON"}
    number = registry.registry.register("t-value", body)
    schema, value = converter(registry, **settings).to_data("t", b"\x00" + number.to_bytes(4, "big") + payload.encode())
    assert schema is not None
    return schema, value


def test_a_struct_is_json_after_the_schema_id(registry: RegistryServer) -> None:
    both = converter(registry)
    data = both.from_data("orders", ORDER, {"id": 3, "note": None})
    assert data == b'\x00\x00\x00\x00\x01{"id":3,"note":null}'
    assert json.loads(registry.registry.subjects["orders-value"][0].body["schema"]) == {
        "type": "object",
        "title": "shop.Order",
        "properties": {
            "id": {"type": "integer", "connect.type": "int64", "connect.index": 0},
            "note": {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 1},
        },
    }
    assert both.to_data("orders", data) == (ORDER.with_(version=1), {"id": 3})


@pytest.mark.parametrize(
    ("schema", "value", "text", "node"),
    [
        (INT8, 1, "1", {"type": "integer", "connect.type": "int8"}),
        (FLOAT32, 0.1, "0.1", {"type": "number", "connect.type": "float32"}),
        (BOOLEAN, True, "true", {"type": "boolean"}),
        (BYTES, b"ab", '"YWI="', {"type": "string", "connect.type": "bytes"}),
        (array_schema(INT32), [1], "[1]", {"type": "array", "items": {"type": "integer", "connect.type": "int32"}}),
        (
            map_schema(STRING, BOOLEAN),
            {"a": True},
            '{"a":true}',
            {"type": "object", "additionalProperties": {"type": "boolean"}, "connect.type": "map"},
        ),
        (
            map_schema(BOOLEAN, BOOLEAN),
            {True: False},
            '[{"key":true,"value":false}]',
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "key": {"type": "boolean", "connect.index": 0},
                        "value": {"type": "boolean", "connect.index": 1},
                    },
                },
                "connect.type": "map",
            },
        ),
        (
            DATE,
            dt.date(1970, 1, 2),
            "1",
            {
                "type": "integer",
                "connect.type": "int32",
                "title": "org.apache.kafka.connect.data.Date",
                "connect.version": 1,
            },
        ),
        (
            STRING.with_(doc="d", parameters={"p": "q"}, default="x"),
            "y",
            '"y"',
            {"type": "string", "description": "d", "connect.parameters": {"p": "q"}, "default": "x"},
        ),
    ],
)
def test_values_and_schemas(registry: RegistryServer, schema: Schema, value: Any, text: str, node: Any) -> None:
    assert written(registry, schema, value) == text
    assert registered(registry, schema, value) == node


def test_decimals_are_base64_or_numbers(registry: RegistryServer) -> None:
    schema = decimal_schema(2)
    assert written(registry, schema, Decimal("1.50")) == '"AJY="'
    assert written(registry, schema, Decimal("1.50"), decimal_format="numeric") == "1.50"
    assert registered(registry, schema, Decimal("1.50"), decimal_format="NUMERIC")["type"] == "number"


def test_additional_properties_can_be_ruled_out(registry: RegistryServer) -> None:
    assert "additionalProperties" not in registered(registry, ORDER, {"id": 1})
    found = registered(registry, ORDER, {"id": 1}, object_additional_properties="false")
    assert found["additionalProperties"] is False


def test_nulls(registry: RegistryServer) -> None:
    both = converter(registry)
    assert both.from_data("t", None, None) is None
    assert both.from_data("t", STRING, None) is None
    assert both.to_data("t", None) == (None, None)
    assert written(registry, OPTIONAL_STRING, None) == "null"
    assert written(registry, struct_schema(("a", STRING)), {"a": None}) == "{}"
    with_default = struct_schema(("a", OPTIONAL_STRING.with_(default="x")))
    assert written(registry, with_default, {}) == '{"a":"x"}'
    assert written(registry, with_default, {}, ignore_default_for_nullables="true") == '{"a":null}'


def test_values_without_a_schema_are_refused(registry: RegistryServer) -> None:
    with pytest.raises(DataError, match="writes only values that have a schema; without one, use JsonConverter"):
        converter(registry).from_data("t", None, {"a": 1})


@pytest.mark.parametrize(
    ("node", "payload", "schema", "value"),
    [
        ({"type": "integer"}, "1", INT64, 1),
        ({"type": "number"}, "1", FLOAT64, 1.0),
        ({"type": ["string", "null"]}, "null", OPTIONAL_STRING, None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, '"x"', OPTIONAL_STRING, "x"),
        ({"oneOf": [{"type": "string"}]}, '"x"', STRING, "x"),
        ({"type": "string", "format": "date-time"}, '"x"', STRING, "x"),
        ({"enum": [1, 2], "type": "integer"}, "2", INT64, 2),
        ({"const": "x", "type": "string"}, '"x"', STRING, "x"),
        ({"type": "array", "items": {"type": "integer"}}, "[1]", array_schema(INT64), [1]),
        (
            {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "string"}}},
            '{"a":"x","c":1}',
            struct_schema(("b", INT64), ("a", STRING)),
            {"a": "x"},
        ),
        (
            {"type": "object", "properties": {"b": {"type": "integer", "connect.index": 1}, "a": {"type": "string"}}},
            "{}",
            struct_schema(("b", INT64), ("a", STRING)),
            {},
        ),
        (
            {
                "definitions": {"s": {"type": "string"}},
                "type": "object",
                "properties": {"a": {"$ref": "#/definitions/s"}},
            },
            '{"a":"x"}',
            struct_schema(("a", STRING)),
            {"a": "x"},
        ),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "integer"}}}]},
            '{"a":"x","b":1}',
            struct_schema(("a", STRING), ("b", INT64)),
            {"a": "x", "b": 1},
        ),
    ],
)
def test_foreign_schemas_are_read(
    registry: RegistryServer, node: Any, payload: str, schema: Schema, value: Any
) -> None:
    found, decoded = read(registry, node, payload)
    assert found.with_(version=None) == schema
    assert decoded == value


def test_choices_are_structs_with_a_field_a_type(registry: RegistryServer) -> None:
    node = {
        "oneOf": [
            {"type": "null"},
            {"type": "integer"},
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
        ]
    }
    schema, value = read(registry, node, '{"a":"x","b":"y"}')
    name = "io.confluent.connect.json.OneOf"
    assert (schema.name, schema.optional) == (name, True)
    assert value == {f"{name}.field.2": {"a": "x", "b": "y"}}
    assert read(registry, node, "3")[1] == {f"{name}.field.0": 3}
    assert read(registry, node, "null")[1] is None
    assert written(registry, schema, value) == '{"a":"x","b":"y"}'
    with pytest.raises(DataError, match="Did not find matching oneof field for data"):
        read(registry, node, "true")


def test_enums_are_strings_that_become_enums_again(registry: RegistryServer) -> None:
    schema, value = read(registry, {"type": "string", "enum": ["A", "B"]}, '"A"')
    prefix = "io.confluent.connect.json.Enum"
    assert schema.parameters == {prefix: "", f"{prefix}.A": "A", f"{prefix}.B": "B"}
    assert (value, registered(registry, schema, "A")["enum"]) == ("A", ["A", "B"])


def test_properties_that_are_not_required_are_optional_if_told_so(registry: RegistryServer) -> None:
    node = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    schema, _ = read(registry, node, '{"a":"x"}', use_optional_for_nonrequired="true")
    assert [field.schema.optional for field in schema.fields] == [False, True]


def test_references_to_other_schemas_are_followed(registry: RegistryServer) -> None:
    place = {"type": "object", "properties": {"city": {"type": "string"}}}
    registry.registry.register("place", {"schema": json.dumps(place), "schemaType": "JSON"})
    person = {"type": "object", "properties": {"home": {"$ref": "place.json"}}}
    body = {
        "schema": json.dumps(person),
        "schemaType": "JSON",
        "references": [{"name": "place.json", "subject": "place", "version": 1}],
    }
    number = registry.registry.register("t-value", body)
    data = b"\x00" + number.to_bytes(4, "big") + b'{"home":{"city":"a"}}'
    assert converter(registry, json_fail_invalid_schema="true").to_data("t", data)[1] == {"home": {"city": "a"}}


@pytest.mark.parametrize(
    ("node", "payload", "message"),
    [
        ({"type": "object", "properties": {"next": {"$ref": "#"}}}, "{}", "contains itself by #"),
        ({"type": "object", "properties": {"a": {"$ref": "#/x"}}}, "{}", "refers to #/x, which does not exist"),
        ({"type": "object", "properties": {"a": {"$ref": "x.json"}}}, "{}", "none of its references in the registry"),
        ({"type": "array"}, "[]", "Array schema did not specify the items type"),
        ({}, "1", "says nothing about its type"),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}},
            "1",
            "should be encoded as JSON objects, but found",
        ),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, '{"a":null}', "Invalid null value for required"),
        ({"type": "string"}, "{", "the message is not JSON"),
    ],
)
def test_what_cannot_be_read_is_a_data_error(registry: RegistryServer, node: Any, payload: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(registry, node, payload)
    assert caught.value.exception == "org.apache.kafka.connect.errors.DataException"


def test_an_avro_schema_is_not_taken_for_a_json_schema(registry: RegistryServer) -> None:
    number = registry.registry.register("t-value", {"schema": '"string"'})
    with pytest.raises(DataError, match=f"topic t: schema {number} is of type AVRO, not JSON"):
        converter(registry).to_data("t", b"\x00" + number.to_bytes(4, "big") + b'"x"')


def test_messages_are_validated_if_asked_for(registry: RegistryServer) -> None:
    node = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 5}}}
    assert read(registry, node, '{"a":1}')[1] == {"a": 1}
    assert read(registry, node, '{"a":6}', json_fail_invalid_schema="true")[1] == {"a": 6}
    with pytest.raises(DataError, match="Validation error in JSON, Error report: #/a: 1 is less than"):
        read(registry, node, '{"a":1}', json_fail_invalid_schema="true")
    settings = {"auto_register_schemas": "false", "use_latest_version": "true", "json_fail_invalid_schema": "true"}
    with pytest.raises(DataError, match="Validation error in JSON"):
        written(registry, struct_schema(("a", INT64)), {"a": 1}, **settings)


def test_a_validator_that_is_not_installed_is_named_with_the_way_to_get_it(
    registry: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    with pytest.raises(ConfigError, match=r"pip install 'penstock\[json-schema\]'"):
        converter(registry, json_fail_invalid_schema="true")


OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("reader", "writer", "fits"),
    [
        ({"type": "number"}, {"type": "integer"}, True),
        ({"type": "integer"}, {"type": "number"}, False),
        ({}, {"type": "number"}, True),
        ({"type": ["string", "null"]}, {"type": "string"}, True),
        ({"type": "string"}, {"type": ["string", "null"]}, False),
        ({"oneOf": [{"type": "null"}, {"type": "number"}]}, {"type": "integer"}, True),
        ({"enum": ["A", "B"]}, {"enum": ["A"]}, True),
        ({"enum": ["A"]}, {"enum": ["A", "B"]}, False),
        (OBJECT, {**OBJECT, "properties": {"b": {"type": "string"}}}, True),
        ({**OBJECT, "additionalProperties": False}, {**OBJECT, "properties": {"b": {"type": "string"}}}, False),
        ({**OBJECT, "required": ["a"]}, OBJECT, False),
        (OBJECT, {**OBJECT, "required": ["a"]}, True),
        ({**OBJECT, "properties": {"a": {"type": "string"}}}, OBJECT, False),
        ({"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {"type": "integer"}}, False),
    ],
)
def test_a_schema_accepts_all_that_another_describes_or_not(reader: Any, writer: Any, fits: bool) -> None:
    assert (json_problems(reader, writer) == []) is fits


def test_the_latest_schema_must_accept_what_is_written(registry: RegistryServer) -> None:
    node = {"type": "object", "properties": {"id": {"type": "string"}}}
    registry.registry.register("t-value", {"schema": json.dumps(node), "schemaType": "JSON"})
    settings = {"auto_register_schemas": "false", "use_latest_version": "true"}
    with pytest.raises(DataError, match=r"Incompatible schema of type 'JSON'.*#/properties/id"):
        written(registry, ORDER, {"id": 1}, **settings)
    assert (
        written(registry, ORDER, {"id": 1}, latest_compatibility_strict="false", **settings) == '{"id":1,"note":null}'
    )
