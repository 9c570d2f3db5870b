"""AvroConverter: bytes by the Avro specification, schemas as Kafka Connect's converter writes and reads them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from penstock.api.errors import DataError
from penstock.api.logical import DATE, TIME, TIMESTAMP, decimal_schema
from penstock.api.record import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    OPTIONAL_BYTES,
    OPTIONAL_INT32,
    OPTIONAL_STRING,
    STRING,
    Int32,
    Millis,
    Schema,
    array_schema,
    map_schema,
    struct_schema,
)
from penstock.converters.avro import AvroConverter
from penstock.converters.avro.from_connect import avro_text
from penstock.converters.avro.styles import AvroStyle
from tests.support.registry import RegistryServer

ORDER = struct_schema(
    ("id", INT64), ("item", STRING), ("price", FLOAT64), ("note", OPTIONAL_STRING), ("paid", BOOLEAN), name="shop.Order"
)
ORDER_JSON = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "item", "type": "string"},
        {"name": "price", "type": "double"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "paid", "type": "boolean"},
    ],
    "connect.name": "shop.Order",
}


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        server.registry.level = "NONE"
        yield server


def converter(registry: RegistryServer, is_key: bool = False, **settings: str) -> AvroConverter:
    made = AvroConverter()
    keys = {name.replace("_", "."): value for name, value in settings.items()}
    made.configure_for({"schema.registry.url": registry.url, **keys}, is_key)
    return made


def written(registry: RegistryServer, schema: Schema | None, value: Any, **settings: str) -> bytes:
    """The message without its prefix."""
    data = converter(registry, **settings).from_data("t", schema, value)
    assert data is not None
    return data[5:]


def registered(registry: RegistryServer, schema: Schema, value: Any, **settings: str) -> Any:
    """The schema that writing a value registers."""
    converter(registry, **settings).from_data("t", schema, value)
    return json.loads(registry.registry.subjects["t-value"][-1].body["schema"])


def read(registry: RegistryServer, avro: Any, payload: bytes, **settings: str) -> tuple[Schema, Any]:
    """The schema and the value of a payload somebody wrote with a schema of theirs."""
    number = registry.registry.register("t-value", {"schema": json.dumps(avro)})
    schema, value = converter(registry, **settings).to_data("t", b"\x00" + number.to_bytes(4, "big") + payload)
    assert schema is not None
    return schema, value


def test_a_struct_is_written_by_the_specification_after_the_schema_id(registry: RegistryServer) -> None:
    value = {"id": 3, "item": "foo", "price": 1.5, "note": "a", "paid": True}
    data = converter(registry).from_data("orders", ORDER, value)
    expected = "00000000010606666f6f000000000000f83f02026101"
    assert data == bytes.fromhex(expected)
    assert registry.registry.subjects["orders-value"][0].body == {
        "schema": json.dumps(ORDER_JSON, separators=(",", ":"))
    }


def test_the_id_is_four_bytes_big_endian(registry: RegistryServer) -> None:
    registry.registry.ids = {str(number): number for number in range(1, 0x0203)}
    data = converter(registry).from_data("orders", STRING, "x")
    assert data == bytes.fromhex("00000002030278")


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (INT64, 0, "00"),
        (INT64, -1, "01"),
        (INT64, 64, "8001"),
        (INT64, -65, "8101"),
        (INT64, -(2**63), "ffffffffffffffffff01"),
        (INT64, 2**63 - 1, "feffffffffffffffff01"),
        (INT32, 2**31 - 1, "feffffff0f"),
        (INT16, -2, "03"),
        (INT8, 127, "fe01"),
        (FLOAT32, 0.5, "0000003f"),
        (FLOAT32, 1e300, "0000807f"),
        (FLOAT64, -2.0, "00000000000000c0"),
        (BOOLEAN, False, "00"),
        (STRING, "é", "04c3a9"),
        (STRING, "x" * 64, "8001" + "78" * 64),
        (BYTES, b"\x01\x02", "0102"),
        (OPTIONAL_BYTES, b"\x01\x02", "02040102"),
        (OPTIONAL_INT32, 4, "0208"),
        (OPTIONAL_INT32.with_(default=7), 4, "0008"),
        (array_schema(INT64), [3, 27], "04063600"),
        (array_schema(INT64), [], "00"),
        (map_schema(STRING, INT32), {"a": 1}, "0202610200"),
        (map_schema(INT32, STRING), {1: "a"}, "0202026100"),
        (DATE, dt.date(1970, 1, 2), "02"),
        (TIME, dt.time(0, 0, 0, 64_000), "8001"),
        (TIMESTAMP, dt.datetime(1970, 1, 1, 0, 0, 0, 1000, tzinfo=dt.UTC), "02"),
        (TIMESTAMP, Millis(-1), "01"),
        (decimal_schema(2), Decimal("1.25"), "7d"),
        (decimal_schema(2, optional=True), Decimal("-1.28"), "020280"),
    ],
)
def test_values_are_written_by_the_specification(
    registry: RegistryServer, schema: Schema, value: Any, expected: str
) -> None:
    assert written(registry, schema, value).hex() == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (INT8, {"type": "int", "connect.type": "int8"}),
        (
            INT16.with_(doc="d", version=2),
            {"type": "int", "connect.doc": "d", "connect.version": 2, "connect.type": "int16"},
        ),
        (STRING.with_(name="n"), {"type": "string", "connect.name": "n"}),
        (STRING, "string"),
        (OPTIONAL_STRING.with_(default="x"), [{"type": "string", "connect.default": "x"}, "null"]),
        (
            decimal_schema(2),
            {
                "type": "bytes",
                "scale": 2,
                "precision": 64,
                "connect.version": 1,
                "connect.parameters": {"scale": "2"},
                "connect.name": "org.apache.kafka.connect.data.Decimal",
                "logicalType": "decimal",
            },
        ),
        (
            DATE,
            {
                "type": "int",
                "connect.version": 1,
                "connect.name": "org.apache.kafka.connect.data.Date",
                "logicalType": "date",
            },
        ),
        (
            map_schema(INT32, STRING),
            {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "MapEntry",
                    "namespace": "io.confluent.connect.avro",
                    "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}],
                },
            },
        ),
        (
            struct_schema(("a", struct_schema(("x", INT32))), ("b", struct_schema(("y", INT32)))),
            {
                "type": "record",
                "name": "ConnectDefault",
                "namespace": "io.confluent.connect.avro",
                "fields": [
                    {
                        "name": "a",
                        "type": {
                            "type": "record",
                            "name": "ConnectDefault2",
                            "fields": [{"name": "x", "type": "int"}],
                        },
                    },
                    {
                        "name": "b",
                        "type": {
                            "type": "record",
                            "name": "ConnectDefault3",
                            "fields": [{"name": "y", "type": "int"}],
                        },
                    },
                ],
            },
        ),
    ],
)
def test_connect_schemas_become_the_avro_schemas_of_kafka_connect(schema: Schema, expected: Any) -> None:
    assert json.loads(avro_text(schema, AvroStyle())) == expected


def test_a_struct_used_twice_is_defined_once(registry: RegistryServer) -> None:
    place = struct_schema(("city", STRING), name="shop.Place")
    schema = struct_schema(("home", place), ("work", place.with_(optional=True)), name="shop.Person")
    value = {"home": {"city": "a"}, "work": None}
    fields = registered(registry, schema, value)["fields"]
    assert fields[0]["type"]["name"] == "Place"
    assert fields[1]["type"] == ["null", "Place"]
    both = converter(registry)
    assert both.to_data("t", both.from_data("t", schema, value)) == (schema.with_(version=1), value)


def test_one_name_for_two_different_structs_is_refused(registry: RegistryServer) -> None:
    one, other = struct_schema(("x", INT32), name="n.N"), struct_schema(("y", INT32), name="n.N")
    with pytest.raises(DataError, match=r"Can't redefine: n\.N") as caught:
        converter(registry).from_data("t", struct_schema(("a", one), ("b", other)), {"a": {"x": 1}, "b": {"y": 1}})
    assert caught.value.exception == "org.apache.avro.SchemaParseException"


def test_maps_with_different_keys_can_be_in_one_struct(registry: RegistryServer) -> None:
    schema = struct_schema(("a", map_schema(INT32, STRING)), ("b", map_schema(INT64, STRING)), version=1)
    both, value = converter(registry), {"a": {1: "x"}, "b": {2: "y"}}
    assert both.to_data("t", both.from_data("t", schema, value)) == (schema, value)


def test_defaults_are_written_for_nulls_unless_told_otherwise(registry: RegistryServer) -> None:
    schema = struct_schema(("a", OPTIONAL_STRING.with_(default="x")))
    assert written(registry, schema, {"a": None}).hex() == "000278"
    assert written(registry, schema, {"a": None}, ignore_default_for_nullables="true").hex() == "02"


def test_without_metadata_nothing_of_connect_is_in_the_schema(registry: RegistryServer) -> None:
    schema = struct_schema(("a", INT8.with_(doc="d", version=3)), name="n.N", doc="d", parameters={"p": "q"})
    found = registered(registry, schema, {"a": 1}, connect_meta_data="false")
    assert found == {"type": "record", "name": "N", "namespace": "n", "fields": [{"name": "a", "type": "int"}]}


def test_names_that_avro_refuses_are_refused_or_scrubbed(registry: RegistryServer) -> None:
    schema = struct_schema(("a-b", INT32), ("1c", INT32), name="my-shop.Or der")
    value = {"a-b": 1, "1c": 2}
    with pytest.raises(DataError, match=r"Illegal character in: Or der .*scrub\.invalid\.names=true"):
        converter(registry).from_data("t", schema, value)
    found = registered(registry, schema, value, scrub_invalid_names="true")
    assert (found["namespace"], found["name"]) == ("my_shop", "Or_der")
    assert [field["name"] for field in found["fields"]] == ["a_b", "x1c"]
    assert written(registry, schema, value, scrub_invalid_names="true").hex() == "0204"


def test_optional_string_keys_make_an_avro_map_only_when_allowed(registry: RegistryServer) -> None:
    schema = map_schema(OPTIONAL_STRING, INT32)
    assert registered(registry, schema, {"a": 1})["type"] == "array"
    with RegistryServer() as other:
        assert registered(other, schema, {"a": 1}, allow_optional_map_keys="true") == {"type": "map", "values": "int"}


def test_enums_are_read_as_strings_and_written_as_enums_with_enhanced_support(registry: RegistryServer) -> None:
    avro = {"type": "enum", "name": "n.Color", "symbols": ["RED", "BLUE"], "doc": "d", "default": "RED"}
    schema, value = read(registry, avro, b"\x02")
    assert value == "BLUE"
    assert schema == Schema(
        STRING.type,
        name="n.Color",
        version=1,
        parameters={
            "io.confluent.connect.avro.enum.doc.Color": "d",
            "io.confluent.connect.avro.enum.default.Color": "RED",
            "io.confluent.connect.avro.Enum": "n.Color",
            "io.confluent.connect.avro.Enum.RED": "RED",
            "io.confluent.connect.avro.Enum.BLUE": "BLUE",
        },
    )
    with RegistryServer() as other:
        assert registered(other, schema, "BLUE")["type"] == "string"
    with RegistryServer() as other:
        found = registered(other, schema, "BLUE", enhanced_avro_schema_support="true")
        assert {key: found[key] for key in ("type", "name", "namespace", "symbols", "doc", "default")} == {
            "type": "enum", "name": "Color", "namespace": "n", "symbols": ["RED", "BLUE"], "doc": "d", "default": "RED",
        }  # fmt: skip
        assert written(other, schema, "BLUE", enhanced_avro_schema_support="true") == b"\x02"
        with pytest.raises(DataError, match=r"'GREEN' is no symbol of the Avro enum n\.Color"):
            written(other, schema, "GREEN", enhanced_avro_schema_support="true")


def test_fixed_is_read_as_bytes_and_written_as_fixed_again(registry: RegistryServer) -> None:
    avro = {"type": "fixed", "name": "n.Hash", "size": 2}
    schema, value = read(registry, avro, b"\x01\x02")
    assert (value, schema.name, schema.parameters) == (b"\x01\x02", "n.Hash", {"connect.fixed.size": "2"})
    assert written(registry, schema, b"\x01\x02") == b"\x01\x02"
    with pytest.raises(DataError, match="a fixed of 2 bytes: 3 bytes"):
        written(registry, schema, b"\x01\x02\x03")


def test_a_decimal_in_a_fixed_is_filled_up_with_its_sign(registry: RegistryServer) -> None:
    avro = {"type": "fixed", "name": "n.Price", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}
    schema, value = read(registry, avro, bytes.fromhex("ffffff80"))
    assert value == Decimal("-1.28")
    assert schema.parameters == {"scale": "2", "connect.decimal.precision": "9", "connect.fixed.size": "4"}
    assert written(registry, schema, Decimal("-1.28")).hex() == "ffffff80"
    assert written(registry, schema, Decimal("1.25")).hex() == "0000007d"


def test_unions_are_structs_with_a_field_a_branch(registry: RegistryServer) -> None:
    record = {"type": "record", "name": "n.R", "fields": [{"name": "x", "type": "int"}]}
    schema, value = read(registry, ["null", "string", record], bytes.fromhex("0406"))
    assert (schema.name, schema.optional) == ("io.confluent.connect.avro.Union", True)
    assert [field.name for field in schema.fields] == ["string", "R"]
    assert value == {"R": {"x": 3}}
    assert written(registry, schema, {"string": "a"}).hex() == "020261"
    enhanced, _ = read(registry, ["null", "string", record], b"\x00", enhanced_avro_schema_support="true")
    assert [field.name for field in enhanced.fields] == ["string", "n.R"]


def test_a_union_of_one_type_is_that_type(registry: RegistryServer) -> None:
    assert read(registry, {"type": "array", "items": ["string"]}, bytes.fromhex("0200026100")) == (
        array_schema(STRING, version=1),
        ["a"],
    )
    schema, value = read(registry, ["string"], bytes.fromhex("000261"), flatten_singleton_unions="false")
    assert schema.name == "io.confluent.connect.avro.Union"
    assert value == {"string": "a"}


def test_docs_and_defaults_of_foreign_schemas_are_kept(registry: RegistryServer) -> None:
    avro = {
        "type": "record",
        "name": "n.R",
        "doc": "about R",
        "fields": [{"name": "x", "type": "int", "default": 5, "doc": "about x"}, {"name": "y", "type": "string"}],
    }
    schema, value = read(registry, avro, bytes.fromhex("020261"))
    assert value == {"x": 1, "y": "a"}
    assert schema == struct_schema(
        ("x", INT32.with_(default=5, parameters={"io.confluent.connect.avro.field.default": "true"})),
        ("y", STRING),
        name="n.R",
        version=1,
        parameters={
            "io.confluent.connect.avro.record.doc": "about R",
            "io.confluent.connect.avro.field.doc.x": "about x",
        },
    )
    assert registered(registry, schema, value)["fields"][0] == {
        "name": "x", "type": "int", "doc": "about x", "default": 5,
    }  # fmt: skip


def test_a_default_that_does_not_fit_is_left_out(registry: RegistryServer) -> None:
    avro = {"type": "record", "name": "n.R", "fields": [{"name": "x", "type": "int", "default": "five"}]}
    schema, value = read(registry, avro, b"\x02")
    assert (schema.fields[0].schema.default_value, value) == (None, {"x": 1})


def test_logical_types_that_connect_has_not_are_read_as_what_they_are_made_of(registry: RegistryServer) -> None:
    schema, value = read(registry, {"type": "long", "logicalType": "timestamp-micros"}, b"\x02")
    assert (schema, value) == (INT64.with_(version=1), 1)


def test_arrays_in_several_blocks_and_with_sizes_are_read(registry: RegistryServer) -> None:
    blocks = bytes.fromhex("020601023600")
    assert read(registry, {"type": "array", "items": "long"}, blocks)[1] == [3, 27]


def test_records_that_contain_themselves_are_refused(registry: RegistryServer) -> None:
    avro = {"type": "record", "name": "n.List", "fields": [{"name": "next", "type": ["null", "n.List"]}]}
    with pytest.raises(DataError, match=r"The Avro record n\.List contains itself"):
        read(registry, avro, b"\x00")


def test_the_version_in_the_registry_is_the_schema_s_unless_it_has_one(registry: RegistryServer) -> None:
    registry.registry.level = "NONE"
    registry.registry.register("t-value", {"schema": '"int"'})
    assert read(registry, "string", b"\x00")[0].version == 2
    assert read(registry, {"type": "string", "connect.version": 7}, b"\x00")[0].version == 7


def test_a_schema_registered_only_elsewhere_has_no_version(registry: RegistryServer) -> None:
    number = registry.registry.register("other-value", {"schema": '"string"'})
    assert converter(registry).to_data("t", b"\x00" + number.to_bytes(4, "big") + b"\x02a") == (STRING, "a")


def test_nulls_are_tombstones_where_they_are_allowed(registry: RegistryServer) -> None:
    both = converter(registry)
    assert both.from_data("t", None, None) is None
    assert both.from_data("t", OPTIONAL_STRING, None) is None
    assert both.to_data("t", None) == (None, None)
    with pytest.raises(DataError, match="Found null value for non-optional schema"):
        both.from_data("t", STRING, None)
    assert registry.registry.requests == []


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (INT32, "x", "Invalid type for INT32: class java.lang.String"),
        (INT32, 2**31, r"Invalid type for INT32: class java.lang.Long \(2147483648 does not fit\)"),
        (INT32, True, "Invalid type for INT32: class java.lang.Boolean"),
        (INT64, Int32(1), "Invalid type for INT64: class java.lang.Integer"),
        (STRING, 1, "Invalid type for STRING: class java.lang.Long"),
        (BOOLEAN, 1, "Invalid type for BOOLEAN: class java.lang.Long"),
        (FLOAT64, 1, "Invalid type for FLOAT64: class java.lang.Long"),
        (BYTES, "x", "Invalid type for BYTES: class java.lang.String"),
        (DATE, 1, "Invalid type for Date, expected Date but was class java.lang.Integer"),
        (decimal_schema(2), 1, "Invalid type for Decimal, expected BigDecimal but was class java.lang.Long"),
        (decimal_schema(2), Decimal("1.5"), "Decimal value has mismatching scale"),
        (array_schema(INT32), [1, None], "Found null value for non-optional schema"),
        (ORDER, {"id": 1}, "Found null value for non-optional schema"),
        (ORDER, "x", "Invalid type for STRUCT: class java.lang.String"),
        (None, b"x", r"Unknown Java type for schemaless data: class \[B"),
    ],
)
def test_a_value_of_the_wrong_class_is_a_data_error(
    registry: RegistryServer, schema: Schema | None, value: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        written(registry, schema, value)
    assert caught.value.exception == "org.apache.kafka.connect.errors.DataException"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a message of 0 bytes is too short for a schema id"),
        (b"\x01\x00\x00\x00\x01\x00", "Unknown magic byte!"),
        (b"\x00\x00\x00\x00\x63\x00", "Schema 99 not found; error code: 40403"),
        (b"\x00\x00\x00\x00\x01\x06fo", "it ends too early"),
        (b"\x00\x00\x00\x00\x01\x01", "it ends too early"),
        (b"\x00\x00\x00\x00\x01" + b"\xff" * 12, "it ends too early"),
        (b"\x00\x00\x00\x00\x01", "it ends too early"),
    ],
)
def test_bytes_that_cannot_be_read_are_data_errors(registry: RegistryServer, data: bytes, message: str) -> None:
    registry.registry.register("t-value", {"schema": '"string"'})
    with pytest.raises(DataError, match=f"^Failed to deserialize data for topic t to Avro: .*{message}") as caught:
        converter(registry).to_data("t", data)
    assert caught.value.exception == "org.apache.kafka.connect.errors.DataException"


def test_a_branch_that_does_not_exist_is_a_data_error(registry: RegistryServer) -> None:
    with pytest.raises(DataError, match="chooses branch 3 of a union"):
        read(registry, ["null", "string"], b"\x06")


def test_schemas_in_other_schemas_are_found_by_their_references(registry: RegistryServer) -> None:
    place = {"type": "record", "name": "n.Place", "fields": [{"name": "city", "type": "string"}]}
    registry.registry.register("place", {"schema": json.dumps(place)})
    person = {"type": "record", "name": "n.Person", "fields": [{"name": "home", "type": "n.Place"}]}
    body = {
        "schema": json.dumps(person),
        "references": [{"name": "n.Place", "subject": "place", "version": 1}],
    }
    number = registry.registry.register("t-value", body)
    _, value = converter(registry).to_data("t", b"\x00" + number.to_bytes(4, "big") + b"\x02a")
    assert value == {"home": {"city": "a"}}


def test_keys_have_a_subject_of_their_own(registry: RegistryServer) -> None:
    converter(registry, is_key=True).from_data("t", STRING, "k")
    assert list(registry.registry.subjects) == ["t-key"]
