"""Whole columns as Avro and back: the same bytes and values as one by one, and nobody pays for a bad message."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api.arrow import arrow_type
from penstock.api.batch import Column
from penstock.api.errors import DataError
from penstock.api.logical import DATE, TIME, TIMESTAMP, decimal_schema
from penstock.api.record import BYTES, INT32, INT64, OPTIONAL_STRING, STRING, Schema, array_schema, struct_schema
from penstock.converters.avro import AvroConverter
from tests.support.connect_values import FIELD_NAMES, SIMPLE, values
from tests.support.registry import RegistryServer

LENIENT = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
ORDER = struct_schema(("id", INT64), ("item", STRING), ("note", OPTIONAL_STRING), name="n.Order")


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        server.registry.level = "NONE"
        yield server


def converter(registry: RegistryServer, **more: str) -> AvroConverter:
    made = AvroConverter()
    settings = {name.replace("_", "."): value for name, value in more.items()}
    made.configure_for({"schema.registry.url": registry.url, **settings}, is_key=False)
    return made


@st.composite
def structs(draw: st.DrawFn, depth: int = 1) -> Schema:
    """Structs of all that columns can hold."""
    names = draw(st.lists(FIELD_NAMES, unique_by=str.lower, min_size=1, max_size=4))
    fields = []
    for name in names:
        inner = draw(structs(depth - 1)) if depth and draw(st.booleans()) else draw(st.sampled_from(LEAVES))
        fields.append((name, inner.with_(optional=draw(st.booleans()))))
    return struct_schema(*fields, version=1)


LEAVES = [*SIMPLE, DATE, TIMESTAMP]


@LENIENT
@given(st.data(), structs())
def test_columns_and_single_values_are_the_same(registry: RegistryServer, data: st.DataObject, schema: Schema) -> None:
    rows = data.draw(st.lists(values(schema), min_size=1, max_size=5))
    both, kind = converter(registry), arrow_type(schema)
    array = pa.concat_arrays([pa.array([rows[0]], kind), pa.array(rows, kind)]).slice(1)
    expected = [both.from_data("t", schema, row) for row in rows]
    encoded = both.encode("t", Column(array, schema))
    assert encoded is not None
    assert encoded.to_pylist() == expected
    decoded = both.decode("t", pa.concat_arrays([encoded, encoded]).slice(len(rows)))
    assert decoded is not None
    assert decoded.schema == schema
    assert decoded.array.type == kind
    assert decoded.values() == rows == [both.to_data("t", message)[1] for message in expected]


@LENIENT
@given(st.data(), structs())
def test_a_damaged_message_is_left_to_go_alone(registry: RegistryServer, data: st.DataObject, schema: Schema) -> None:
    both = converter(registry)
    good = [both.from_data("t", schema, row) for row in data.draw(st.lists(values(schema), min_size=2, max_size=4))]
    messages: list[bytes | None] = []
    for message in good:
        assert message is not None
        cut = data.draw(st.integers(0, len(message)))
        tail = data.draw(st.binary(max_size=12))
        messages.append(data.draw(st.sampled_from([message, message[:cut], message[:cut] + tail, None])))
    found: dict[int, Any] = {}
    for part in both.decode_parts("t", pa.array(messages, pa.binary())):
        found.update(zip(part.rows.tolist(), part.column.values(), strict=True))
    for row, message in enumerate(messages):
        if row in found:
            assert shown(both.to_data("t", message)[1]) == shown(found[row])
        elif message in good:
            pytest.fail(f"{message!r} could have been read")


def shown(value: Any) -> str:
    """A text that is the same for values that are, NaN included."""
    return repr(value).replace("zoneinfo.ZoneInfo(key='UTC')", "datetime.timezone.utc")


def test_messages_of_several_schemas_are_read_in_parts(registry: RegistryServer) -> None:
    both, other = converter(registry), struct_schema(("x", INT32), name="n.Other", version=1)
    order = ORDER.with_(version=2)
    messages = [
        both.from_data("mixed", order, {"id": 1, "item": "a", "note": None}),
        both.from_data("mixed", other, {"x": 5}),
        b"\x01garbage",
        None,
        b"\x00\x7f\xff\xff\xff\x00",
        both.from_data("mixed", order, {"id": 2, "item": "b", "note": "c"}),
    ]
    parts = both.decode_parts("mixed", pa.array(messages, pa.binary()))
    assert {tuple(part.rows.tolist()): part.column.schema for part in parts} == {(0, 5): order, (1,): other}
    assert [part.column.values() for part in parts if len(part.rows) == 1] == [[{"x": 5}]]
    assert both.decode("mixed", pa.array(messages, pa.binary())) is None


@pytest.mark.parametrize(
    ("schema", "rows"),
    [
        (ORDER, [{"id": 1, "item": None, "note": None}]),
        (ORDER, [None]),
        (struct_schema(("a", OPTIONAL_STRING.with_(default="x"))), [{"a": None}]),
        (struct_schema(("a", array_schema(INT32))), [{"a": [1]}]),
        (BYTES, [b"x"]),
    ],
)
def test_what_columns_cannot_hold_goes_one_by_one(registry: RegistryServer, schema: Schema, rows: list[Any]) -> None:
    assert converter(registry).encode("t", Column(pa.array(rows, arrow_type(schema)), schema)) is None


@pytest.mark.parametrize("inner", [TIME, decimal_schema(2)])
def test_types_without_a_kernel_go_one_by_one(registry: RegistryServer, inner: Schema) -> None:
    both, schema = converter(registry), struct_schema(("a", inner))
    value = {"a": both.to_data("u", both.from_data("u", schema, {"a": _example(inner)}))[1]["a"]}
    message = both.from_data("u", schema, value)
    assert both.decode("u", pa.array([message])) is None
    assert both.to_data("u", message)[1] == value


def _example(schema: Schema) -> Any:
    return dt.time(1) if schema is TIME else Decimal("1.25")


def test_columns_follow_the_latest_schema(registry: RegistryServer) -> None:
    old, new = struct_schema(("a", INT64), name="n.L"), struct_schema(("a", INT64), ("b", OPTIONAL_STRING), name="n.L")
    message = converter(registry).from_data("latest", old, {"a": 1})
    converter(registry).from_data("latest", new, {"a": 1})
    latest = converter(registry, use_latest_version="true", auto_register_schemas="false")
    assert latest.decode_parts("latest", pa.array([message])) == []
    assert latest.encode("latest", Column(pa.array([{"a": 1}]), old)) is None
    assert latest.from_data("latest", old, {"a": 1}) is not None


def test_a_column_whose_schema_is_refused_goes_one_by_one_and_each_record_tells(registry: RegistryServer) -> None:
    registry.registry.levels["guarded-value"] = "BACKWARD"
    both = converter(registry)
    both.from_data("guarded", STRING, "x")
    assert both.encode("guarded", Column(pa.array([1]), INT64)) is None
    with pytest.raises(DataError, match="error code: 409"):
        both.from_data("guarded", INT64, 1)
