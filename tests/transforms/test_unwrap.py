"""Change events become rows."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api import ConfigError, DataError, Record
from penstock.api.record import INT64, OPTIONAL_INT64, OPTIONAL_STRING, STRING, Header, struct_schema
from penstock.runtime.plugins import PluginKind, Plugins
from penstock.transforms.unwrap import Unwrap

MODE = "delete.tombstone.handling.mode"
ROW = struct_schema(("id", INT64), ("name", OPTIONAL_STRING), name="shop.orders.Value", optional=True)
SOURCE = struct_schema(("table", STRING), ("lsn", OPTIONAL_INT64), ("ts_ms", INT64))
EVENT = struct_schema(
    ("before", ROW), ("after", ROW), ("source", SOURCE), ("op", STRING), ("ts_ms", OPTIONAL_INT64), name="e.Envelope"
)


def unwrap(**settings: str) -> Unwrap:
    transform = Unwrap()
    transform.configure({key.replace("_", "."): value for key, value in settings.items()})
    return transform


def with_mode(mode: str, **settings: str) -> Unwrap:
    return unwrap(**{MODE: mode, **settings})


def event(op: str, before: Any = None, after: Any = None, *, schema: bool = True) -> Record:
    source = {"table": "orders", "lsn": 7, "ts_ms": 5}
    value = {"before": before, "after": after, "source": source, "op": op, "ts_ms": 9}
    return Record(value=value, key=1, topic="shop.orders", value_schema=EVENT if schema else None, timestamp=3)


@pytest.mark.parametrize("op", ["c", "u", "r"])
@pytest.mark.parametrize("schema", [True, False])
def test_a_row_comes_out_as_it_is_after_the_change(op: str, schema: bool) -> None:
    changed = unwrap().apply(event(op, None, {"id": 1, "name": "a"}, schema=schema))
    assert changed is not None
    assert (changed.value, changed.value_schema) == ({"id": 1, "name": "a"}, ROW if schema else None)
    assert (changed.key, changed.topic, changed.timestamp) == (1, "shop.orders", 3)


@pytest.mark.parametrize(
    ("mode", "delete", "tombstone"),
    [
        ("drop", None, None),
        ("tombstone", None, "kept"),
        ("rewrite", "row", None),
        ("rewrite-with-tombstone", "row", "kept"),
        ("delete-to-tombstone", "tombstone", None),
    ],
)
def test_deletes_and_tombstones_follow_the_mode(mode: str, delete: str | None, tombstone: str | None) -> None:
    transform = with_mode(mode)
    changed = transform.apply(event("d", {"id": 1, "name": "a"}))
    if delete is None:
        assert changed is None
    else:
        assert changed is not None
        expected = {"id": 1, "name": "a", "__deleted": "true"} if delete == "row" else None
        assert changed.value == expected
    bare = Record(key=1, topic="shop.orders")
    assert transform.apply(bare) is (bare if tombstone else None)


def test_rewriting_marks_every_row_and_its_schema() -> None:
    changed = with_mode("rewrite").apply(event("c", None, {"id": 1, "name": None}))
    assert changed is not None
    assert changed.value == {"id": 1, "name": None, "__deleted": "false"}
    assert changed.value_schema is not None
    assert changed.value_schema.by_name["__deleted"].schema == OPTIONAL_STRING
    assert changed.value_schema.name == "shop.orders.Value"


def test_a_delete_that_tells_nothing_of_the_row_becomes_a_tombstone() -> None:
    changed = with_mode("rewrite").apply(event("d"))
    assert changed is not None
    assert (changed.value, changed.key) == (None, 1)


@pytest.mark.parametrize("schema", [True, False])
def test_metadata_is_added_as_fields_and_headers(schema: bool) -> None:
    transform = unwrap(add_fields="op,table,source.ts_ms,lsn:position", add_headers="ts_ms", add_headers_prefix="h-")
    changed = transform.apply(event("u", None, {"id": 1, "name": "a"}, schema=schema))
    assert changed is not None
    assert changed.value == {
        "id": 1, "name": "a", "__op": "u", "__table": "orders", "__source_ts_ms": 5, "__position": 7,
    }  # fmt: skip
    assert list(changed.headers) == [Header("h-ts_ms", 9, OPTIONAL_INT64 if schema else None)]
    if schema:
        assert changed.value_schema is not None
        assert changed.value_schema.by_name["__table"].schema == OPTIONAL_STRING


def test_a_field_of_the_row_can_choose_the_topic() -> None:
    transform = unwrap(route_by_field="name")
    changed = transform.apply(event("c", None, {"id": 1, "name": "elsewhere"}))
    assert changed is not None
    assert changed.topic == "elsewhere"
    with pytest.raises(DataError, match="'name' of the row is to be its topic, but it is None"):
        transform.apply(event("c", None, {"id": 1, "name": None}))


@pytest.mark.parametrize("value", ["text", 5, {"op": "c"}, {"after": {}}, [1]])
def test_what_is_no_change_event_passes(value: Any) -> None:
    record = Record(value=value, topic="t")
    assert unwrap().apply(record) is record


@pytest.mark.parametrize("op", ["t", "m"])
def test_events_about_no_row_are_dropped(op: str) -> None:
    assert unwrap().apply(event(op)) is None


def test_an_insert_without_a_row_is_a_bad_record() -> None:
    with pytest.raises(DataError, match="operation 'c' but nothing in 'after'"):
        unwrap().apply(event("c"))


def test_metadata_that_is_not_there_is_named() -> None:
    with pytest.raises(DataError, match="no field 'scn' in its 'source', which '__scn' asks for"):
        unwrap(add_fields="scn").apply(event("c", None, {"id": 1, "name": "a"}))


def test_the_input_is_left_alone() -> None:
    record = event("u", None, {"id": 1, "name": "a"})
    with_mode("rewrite", add_fields="op").apply(record)
    assert record == event("u", None, {"id": 1, "name": "a"})


def test_wrong_settings_say_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"set delete\.tombstone\.handling\.mode instead"):
        unwrap(drop_tombstones="true")
    with pytest.raises(ConfigError, match=r"'source\.' does not name a field"):
        unwrap(add_fields="source.")


@pytest.mark.parametrize("name", ["Unwrap", "ExtractNewRecordState", "io.debezium.transforms.ExtractNewRecordState"])
def test_it_is_found_under_its_names(name: str) -> None:
    assert Plugins().find(name, PluginKind.TRANSFORMATION).load() is Unwrap
