"""Readers and writers with another schema than the message's: use.latest.version, use.schema.id, compatibility."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.api.errors import DataError
from penstock.api.record import FLOAT64, INT32, INT64, OPTIONAL_STRING, STRING, struct_schema
from penstock.converters.avro import AvroConverter
from penstock.converters.avro.reading import avro_reader
from penstock.converters.avro.resolution import problems
from penstock.converters.avro.schema import parse_schema
from penstock.converters.avro.styles import AvroStyle
from penstock.converters.avro.to_connect import connect_schema
from tests.support.registry import RegistryServer

STYLE = AvroStyle()


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        yield server


def converter(registry: RegistryServer, **more: str) -> AvroConverter:
    made = AvroConverter()
    settings = {name.replace("_", "."): value for name, value in more.items()}
    made.configure_for({"schema.registry.url": registry.url, **settings}, is_key=False)
    return made


def record(*fields: tuple[Any, ...], name: str = "n.R", **more: Any) -> dict[str, Any]:
    """An Avro record of (name, type) or (name, type, default)."""
    members = [dict(zip(("name", "type", "default"), field, strict=False)) for field in fields]
    return {"type": "record", "name": name, "fields": members, **more}


def resolved(writer: Any, reader: Any, payload: bytes) -> Any:
    """What a payload of one schema is in another."""
    written, wanted = parse_schema(json.dumps(writer)), parse_schema(json.dumps(reader))
    return avro_reader(written, wanted, connect_schema(wanted, STYLE), STYLE)(payload)


@pytest.mark.parametrize(
    ("writer", "reader", "payload", "expected"),
    [
        (record(("a", "int")), record(("a", "int"), ("b", "string", "x")), "02", {"a": 1, "b": "x"}),
        (record(("a", "int"), ("b", "string")), record(("a", "int")), "02" "0261", {"a": 1}),
        (record(("b", "string"), ("a", "int")), record(("a", "long"), ("b", "bytes")), "0261" "02",
         {"a": 1, "b": b"a"}),
        (record(("a", "int")), record(("a", "double")), "02", {"a": 1.0}),
        (record(("a", "long")), record(("a", "float")), "02", {"a": 1.0}),
        (record(("a", "float")), record(("a", "double")), "0000003f", {"a": 0.5}),
        (record(("a", "int")), record(("a", ["null", "long"], None)), "02", {"a": 1}),
        (record(("a", ["null", "int"])), record(("a", "int")), "02" "02", {"a": 1}),
        (record(("a", ["int", "string"])), record(("a", ["null", "string", "long"])), "00" "02", {"a": {"long": 1}}),
        (record(("a", "int")), record(("b", "int"), name="n.R") | {"fields": [
            {"name": "b", "type": "int", "aliases": ["a"]}]}, "02", {"b": 1}),
        (record(("a", "int"), name="o.Old"), record(("a", "int"), name="n.New", aliases=["o.Old"]), "02", {"a": 1}),
        (record(("a", {"type": "array", "items": "int"})), record(("a", {"type": "array", "items": "long"})),
         "02" "02" "00", {"a": [1]}),
        (record(("a", {"type": "map", "values": "int"})), record(("a", {"type": "map", "values": "double"})),
         "02" "026b" "02" "00", {"a": {"k": 1.0}}),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]},
         {"type": "enum", "name": "E", "symbols": ["B", "C"], "default": "C"}, "00", "C"),
        (record(("a", record(("x", "int"), ("y", "string"), name="n.I"))),
         record(("a", record(("y", "string"), name="n.I"))), "02" "0261", {"a": {"y": "a"}}),
        (record(("a", {"type": "array", "items": record(("x", "int"), name="n.I")}), ("b", "int")),
         record(("b", "int")), "02" "02" "00" "06", {"b": 3}),
    ],
)  # fmt: skip
def test_a_message_is_read_into_another_schema(writer: Any, reader: Any, payload: str, expected: Any) -> None:
    data = bytes.fromhex(payload)
    assert resolved(writer, reader, data) == expected
    plain = fastavro.schemaless_reader(io.BytesIO(data), fastavro.parse_schema(writer), fastavro.parse_schema(reader))
    assert plain == (expected if expected != {"a": {"long": 1}} else {"a": 1})


@pytest.mark.parametrize(
    ("writer", "reader", "message"),
    [
        (record(("a", "int")), record(("a", "int"), ("b", "int")), "a field b without a default"),
        (record(("a", "string")), record(("a", "int")), "type string cannot be read as int"),
        (record(("a", "int"), name="n.A"), record(("a", "int"), name="n.B"), "n.A cannot be read as n.B"),
        ("int", ["null", "string"], "type int cannot be read as union"),
    ],
)
def test_schemas_that_do_not_fit_are_refused(writer: Any, reader: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        resolved(writer, reader, b"\x00")
    assert problems(parse_schema(json.dumps(reader)), parse_schema(json.dumps(writer)))


def test_a_branch_that_the_reader_lacks_fails_only_where_it_is_met() -> None:
    assert resolved(["null", "int"], ["null", "int"], b"\x00") is None
    assert resolved(["int", "string"], "int", b"\x00\x02") == 1
    with pytest.raises(DataError, match="type string cannot be read as int"):
        resolved(["int", "string"], "int", b"\x02\x0261")


SIMPLE = ["int", "long", "float", "double", "string", "bytes", "boolean"]
WRITTEN = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(SIMPLE))
WANTED = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([*SIMPLE, ["null", "int"], ["string"]]))


@settings(max_examples=200, deadline=None)
@given(WRITTEN, WANTED)
def test_the_compatibility_check_agrees_with_what_can_be_read(one: dict[str, Any], other: dict[str, Any]) -> None:
    writer, reader = (parse_schema(json.dumps(record(*fields.items()))) for fields in (one, other))
    try:
        avro_reader(writer, reader, connect_schema(reader, STYLE), STYLE)
        readable = True
    except DataError:
        readable = False
    assert readable == (not problems(reader, writer))


V1 = struct_schema(("id", INT64), ("item", STRING), name="n.Order")
V2 = struct_schema(("id", INT64), ("item", STRING), ("note", OPTIONAL_STRING), name="n.Order")


def test_a_sink_reads_old_messages_into_the_latest_schema(registry: RegistryServer) -> None:
    writer = converter(registry)
    old = writer.from_data("t", V1, {"id": 1, "item": "a"})
    new = writer.from_data("t", V2, {"id": 2, "item": "b", "note": "c"})
    latest = converter(registry, use_latest_version="true")
    assert latest.to_data("t", old)[1] == {"id": 1, "item": "a", "note": None}
    assert latest.to_data("t", new)[1] == {"id": 2, "item": "b", "note": "c"}
    assert latest.to_data("t", old)[0] == latest.to_data("t", new)[0].with_(version=1)  # type: ignore[union-attr]
    assert converter(registry).to_data("t", old)[1] == {"id": 1, "item": "a"}


def test_a_source_writes_with_the_latest_schema(registry: RegistryServer) -> None:
    converter(registry).from_data("t", V2, {"id": 1, "item": "a"})
    requests = len(registry.registry.subjects["t-value"])
    data = converter(registry, auto_register_schemas="false", use_latest_version="true").from_data(
        "t", V1, {"id": 2, "item": "b"}
    )
    assert data == bytes.fromhex("000000000104026200")
    assert len(registry.registry.subjects["t-value"]) == requests


def test_the_latest_schema_must_fit_unless_told_otherwise(registry: RegistryServer) -> None:
    latest = record(("id", "long"), ("item", "string"), ("price", "double"), name="n.Order")
    registry.registry.register("t-value", {"schema": json.dumps(latest)})
    settings = {"auto_register_schemas": "false", "use_latest_version": "true"}
    with pytest.raises(
        DataError, match=r"Incompatible schema of type 'AVRO'\. Set latest\.compatibility\.strict=false"
    ):
        converter(registry, **settings).from_data("t", V1, {"id": 2, "item": "b"})
    lax = converter(registry, latest_compatibility_strict="false", **settings)
    with pytest.raises(DataError, match="a field price without a default"):
        lax.from_data("t", V1, {"id": 2, "item": "b"})
    wider = struct_schema(("id", INT32), ("item", STRING), ("price", FLOAT64), ("more", STRING), name="n.Order")
    data = lax.from_data("t", wider, {"id": 2, "item": "b", "price": 0.0, "more": "x"})
    assert data == bytes.fromhex("0000000001040262" + "00" * 8)


def test_the_latest_schema_is_asked_for_again_after_its_time(registry: RegistryServer) -> None:
    converter(registry).from_data("t", V1, {"id": 1, "item": "a"})
    settings = {"auto_register_schemas": "false", "use_latest_version": "true"}
    forever, never = (converter(registry, latest_cache_ttl_sec=seconds, **settings) for seconds in ("-1", "0"))
    value = {"id": 1, "item": "a"}
    assert forever.from_data("t", V1, value) == never.from_data("t", V1, value) == bytes.fromhex("0000000001020261")
    converter(registry).from_data("t", V2, value)
    assert forever.from_data("t", V1, value) == bytes.fromhex("0000000001020261")
    assert never.from_data("t", V1, value) == bytes.fromhex("000000000202026100")


def test_a_schema_can_be_chosen_by_its_id(registry: RegistryServer) -> None:
    writer = converter(registry)
    writer.from_data("t", V1, {"id": 1, "item": "a"})
    writer.from_data("t", V2, {"id": 1, "item": "a"})
    chosen = converter(registry, auto_register_schemas="false", use_schema_id="1")
    assert chosen.from_data("t", V2, {"id": 1, "item": "a"}) == bytes.fromhex("0000000001020261")
    other = struct_schema(("id", STRING), name="n.Order")
    with pytest.raises(DataError, match=r"Set id\.compatibility\.strict=false"):
        chosen.from_data("t", other, {"id": "x"})


def test_a_schema_that_must_be_there_already_is_only_looked_up(registry: RegistryServer) -> None:
    strict = converter(registry, auto_register_schemas="false")
    with pytest.raises(DataError, match=r"Subject 't-value' not found\.; error code: 40401"):
        strict.from_data("t", V1, {"id": 1, "item": "a"})
    data = converter(registry).from_data("t", V1, {"id": 1, "item": "a"})
    assert converter(registry, auto_register_schemas="false").from_data("t", V1, {"id": 1, "item": "a"}) == data


def test_an_incompatible_schema_is_refused_in_the_registry_s_words(registry: RegistryServer) -> None:
    writer = converter(registry)
    writer.from_data("t", V1, {"id": 1, "item": "a"})
    broken = struct_schema(("id", INT64), ("price", FLOAT64), name="n.Order")
    expected = (
        r"^Failed to serialize Avro data from topic t: Schema being registered is incompatible with an earlier schema"
        r' for subject "t-value", details: .*price.*; error code: 409$'
    )
    for _ in range(2):
        with pytest.raises(DataError, match=expected) as caught:
            writer.from_data("t", broken, {"id": 1, "price": 1.0})
        assert caught.value.exception == "org.apache.kafka.connect.errors.DataException"
    assert len([path for method, path in registry.registry.requests if path.startswith("/subjects/t-value/")]) == 2
    assert writer.from_data("t", V1, {"id": 1, "item": "a"}) is not None
