"""Our converters and a registry that somebody else wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api.errors import DataError
from penstock.api.record import FLOAT64, INT64, OPTIONAL_STRING, STRING, Schema, struct_schema
from penstock.converters.avro import AvroConverter
from penstock.converters.json_schema import JsonSchemaConverter
from penstock.converters.registry import RegistryConverter
from tests.support.apicurio import Apicurio
from tests.support.connect_values import as_read, as_read_without_nulls, schemas, values

pytestmark = [pytest.mark.integration, pytest.mark.slow]

V1 = struct_schema(("id", INT64), ("item", STRING), name="n.Order")
V2 = struct_schema(("id", INT64), ("item", STRING), ("note", OPTIONAL_STRING), name="n.Order")
BROKEN = struct_schema(("id", INT64), ("price", FLOAT64), name="n.Order")
BOTH = pytest.mark.parametrize("cls", [AvroConverter, JsonSchemaConverter])


@pytest.fixture(scope="module")
def apicurio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apicurio]:
    with Apicurio(tmp_path_factory.mktemp("apicurio")) as server:
        yield server


def converter(apicurio: Apicurio, cls: type[RegistryConverter], **more: str) -> Any:
    made = cls()
    settings = {name.replace("_", "."): value for name, value in more.items()}
    made.configure_for({"schema.registry.url": apicurio.url, **settings}, is_key=False)
    return made


def set_level(apicurio: Apicurio, subject: str, level: str) -> None:
    answer = httpx2.put(f"{apicurio.url}/config/{subject}", json={"compatibility": level})
    assert answer.status_code == 200, answer.text


@BOTH
def test_schemas_are_registered_found_again_and_given_versions(
    apicurio: Apicurio, cls: type[RegistryConverter]
) -> None:
    topic = f"versions-{cls.__name__}"
    both = converter(apicurio, cls)
    for version, schema in enumerate([V1, V2], start=1):
        value = {"id": version, "item": "a"}
        data = both.from_data(topic, schema, value)
        found, decoded = both.to_data(topic, data)
        assert found == schema.with_(version=version)
        assert {name: inner for name, inner in decoded.items() if inner is not None} == value
        assert converter(apicurio, cls, auto_register_schemas="false").from_data(topic, schema, value) == data
    latest = converter(apicurio, cls, auto_register_schemas="false", use_latest_version="true")
    assert latest.from_data(topic, V1, {"id": 1, "item": "a"})[:5] == data[:5]


def test_an_incompatible_schema_is_refused(apicurio: Apicurio) -> None:
    both = converter(apicurio, AvroConverter)
    both.from_data("guarded", V1, {"id": 1, "item": "a"})
    set_level(apicurio, "guarded-value", "BACKWARD")
    assert both.from_data("guarded", V2, {"id": 1, "item": "a"}) is not None
    with pytest.raises(DataError, match=r"Failed to serialize Avro data from topic guarded: .*; error code: 409"):
        both.from_data("guarded", BROKEN, {"id": 1, "price": 1.0})


@BOTH
def test_what_the_registry_does_not_know_is_an_error_of_the_record(
    apicurio: Apicurio, cls: type[RegistryConverter]
) -> None:
    with pytest.raises(DataError, match="error code: 40403"):
        converter(apicurio, cls).to_data("t", b"\x00\x00\x0f\x00\x00x")
    with pytest.raises(DataError, match="error code: 404"):
        converter(apicurio, cls, auto_register_schemas="false").from_data("never", V1, {"id": 1, "item": "a"})


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), schemas())
def test_java_accepts_every_avro_schema_that_we_make(apicurio: Apicurio, data: st.DataObject, schema: Schema) -> None:
    value = data.draw(values(schema.with_(optional=False)))
    both = converter(apicurio, AvroConverter)
    found, decoded = both.to_data("any-avro", both.from_data("any-avro", schema, value))
    assert found.with_(version=schema.version) == schema
    assert decoded == as_read(schema, value)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), schemas())
def test_java_accepts_every_json_schema_of_an_object_that_we_make(
    apicurio: Apicurio, data: st.DataObject, schema: Schema
) -> None:
    outer = struct_schema(("v", schema), version=1)
    value = data.draw(values(outer))
    both = converter(apicurio, JsonSchemaConverter)
    found, decoded = both.to_data("any-json", both.from_data("any-json", outer, value))
    assert found == outer
    assert decoded == as_read_without_nulls(outer, value)


def test_references_are_followed(apicurio: Apicurio) -> None:
    place = {"type": "record", "name": "Place", "namespace": "n", "fields": [{"name": "city", "type": "string"}]}
    person = {"type": "record", "name": "Person", "namespace": "n", "fields": [{"name": "home", "type": "n.Place"}]}
    httpx2.post(f"{apicurio.url}/subjects/n.Place/versions", json={"schema": json.dumps(place)}).raise_for_status()
    references = [{"name": "n.Place", "subject": "n.Place", "version": 1}]
    body = {"schema": json.dumps(person), "references": references}
    answer = httpx2.post(f"{apicurio.url}/subjects/people-value/versions", json=body).raise_for_status()
    data = b"\x00" + int(answer.json()["id"]).to_bytes(4, "big") + b"\x02a"
    assert converter(apicurio, AvroConverter).to_data("people", data)[1] == {"home": {"city": "a"}}
