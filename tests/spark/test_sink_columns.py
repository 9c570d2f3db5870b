"""What decides whether a sink's records travel as columns, and how columns and single records stay in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from penstock.api import Batch, DataError, Record, Transform
from penstock.converters import JsonConverter
from penstock.spark import pieces, sink
from penstock.spark.splits import PluginRef, TransformRef
from penstock.topics.interface import TopicPartition
from penstock.transforms.insert_field import InsertFieldValue

from .chain_cases import TRANSFORMS, KeepingMixed, json_spec
from .pumping import Keeping, MemoryTopics, here, put_all

INSERT = TransformRef(
    "i", PluginRef(f"{TRANSFORMS}insert_field:InsertFieldValue", {"static.field": "s", "static.value": "v"})
)
ROUTE = TransformRef("r", PluginRef(f"{TRANSFORMS}routers:RegexRouter", {"regex": ".*", "replacement": "elsewhere"}))


class Reporting(KeepingMixed):
    """Refuses the record with id 3, which comes in a batch."""

    def put_mixed(self, items: Iterable[Record | Batch]) -> Mapping[str, Any] | None:
        state = super().put_mixed(items)
        for record in Keeping.kept:
            if record.value["id"] == 3:
                self.context.report(record, DataError("not this one"))
        return state


class Remembering(Transform):
    """Keeps what it was given, as it was given."""

    given: list[tuple[Record, Any]] = []

    def apply(self, record: Record) -> Record | None:
        Remembering.given.append((record, record.value))
        return record


class Shouting(InsertFieldValue):
    """Changes the plain way only."""

    def change(self, schema: Any, value: Any, record: Record) -> tuple[Any, Any]:
        schema, value = super().change(schema, value, record)
        return schema, {name.upper(): item for name, item in value.items()}


class Doubling(JsonConverter):
    """Reads twice as much, value by value."""

    def to_data(self, topic: str, data: bytes | None) -> tuple[Any, Any]:
        schema, value = super().to_data(topic, data)
        return schema, {**value, "id": 2 * value["id"]}


def _rows(count: int, odd: Mapping[int, bytes] | None = None) -> list[dict[str, Any]]:
    return [{"value": (odd or {}).get(at, b'{"id":%d,"name":"n%d"}' % (at, at))} for at in range(count)]


def _put(task: type[Any], rows: list[dict[str, Any]], transforms: list[TransformRef], key: str) -> MemoryTopics:
    topics = MemoryTopics()
    KeepingMixed.in_columns = 0
    receipt = put_all(topics, [topics.store("t", rows)], json_spec(task, transforms, key=key))
    assert receipt.failure is None, receipt.failure
    return topics


def test_bad_and_odd_records_leave_the_others_in_columns_and_all_in_order() -> None:
    odd = {7: b"broken", 20: b'{"id":20,"name":"tab\\t"}', 31: b'{"id":31}', 32: b'{"id":32}', 60: b"{"}
    topics = _put(KeepingMixed, _rows(100, odd), [INSERT], "odd")
    assert [record.value["id"] for record in Keeping.kept] == [at for at in range(100) if at not in (7, 60)]
    assert Keeping.kept[19].value == {"id": 20, "name": "tab\t", "s": "v"}
    assert KeepingMixed.in_columns == 95
    offsets = [{h["key"]: h["value"] for h in row["headers"]} for row in topics.written[TopicPartition("dlq", 0)]]
    assert [headers["__connect.errors.offset"] for headers in offsets] == [b"7", b"60"]


def test_records_that_would_tear_columns_to_pieces_go_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, "_MAX_RUNS", 5)
    odd = {at: b'{"id":%d,"list":[1]}' % at for at in range(0, 100, 9)}
    _put(KeepingMixed, _rows(100, odd), [INSERT], "torn")
    assert [record.value["id"] for record in Keeping.kept] == list(range(100))
    assert KeepingMixed.in_columns == 0


def test_objects_that_differ_in_nulls_share_columns() -> None:
    odd = {at: b'{"id":%d,"name":null}' % at for at in range(0, 100, 3)}
    _put(KeepingMixed, _rows(100, odd), [], "nulls")
    assert [record.value["name"] for record in Keeping.kept[:3]] == [None, "n1", "n2"]
    assert KeepingMixed.in_columns == 100


def test_a_record_of_a_batch_that_was_routed_is_found_again_when_it_fails() -> None:
    topics = _put(Reporting, _rows(40), [ROUTE], "routed")
    assert KeepingMixed.in_columns == 40
    assert {record.topic for record in Keeping.kept} == {"elsewhere"}
    (letter,) = topics.written[TopicPartition("dlq", 0)]
    headers = {header["key"]: header["value"] for header in letter["headers"]}
    assert letter["value"] == b'{"id":3,"name":"n3"}'
    assert (headers["__connect.errors.topic"], headers["__connect.errors.offset"]) == (b"t", b"3")
    assert headers["__connect.errors.stage"] == b"TASK_PUT"


def test_records_with_headers_go_one_by_one_among_the_others() -> None:
    rows = _rows(50)
    rows[10]["headers"] = [{"key": "h", "value": b"x"}]
    _put(KeepingMixed, rows, [INSERT], "headers")
    assert [record.value["id"] for record in Keeping.kept] == list(range(50))
    assert [header.key for header in Keeping.kept[10].headers] == ["h"]
    assert KeepingMixed.in_columns == 49


@pytest.mark.parametrize("transform", [Remembering, Shouting])
def test_transforms_that_know_only_single_records_get_single_records(transform: type[Transform]) -> None:
    settings = {"static.field": "s", "static.value": "v"} if transform is Shouting else {}
    _put(KeepingMixed, _rows(40), [TransformRef("x", PluginRef(here(transform), settings))], transform.__name__)
    assert KeepingMixed.in_columns == 0
    assert Keeping.kept[1].value == ({"ID": 1, "NAME": "n1", "S": "v"} if settings else {"id": 1, "name": "n1"})


def test_converters_that_know_only_single_values_get_single_values() -> None:
    topics = MemoryTopics()
    KeepingMixed.in_columns = 0
    spec = json_spec(KeepingMixed, [INSERT], key="doubling")
    doubling = PluginRef(here(Doubling), {"schemas.enable": "false"})
    put_all(topics, [topics.store("t", _rows(40))], type(spec)(**{**vars(spec), "value_converter": doubling}))
    assert [record.value["id"] for record in Keeping.kept] == list(range(0, 80, 2))
    assert KeepingMixed.in_columns == 0


def test_what_a_transform_was_given_does_not_change_behind_its_back() -> None:
    Remembering.given = []
    remember = TransformRef("x", PluginRef(here(Remembering)))
    _put(Keeping, _rows(3), [INSERT, remember, INSERT, ROUTE], "remember")
    assert [record.value is value for record, value in Remembering.given] == [True] * 3
    assert {record.topic for record, _ in Remembering.given} == {"t"}


def test_pieces_after_a_torn_one_are_not_read_as_columns_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, "_MAX_RUNS", 5)
    monkeypatch.setattr(pieces, "_ROWS_A_PIECE", 100)
    odd = {at: b'{"id":%d,"list":[1]}' % at for at in range(0, 100, 9)}
    _put(KeepingMixed, _rows(700, odd), [INSERT], "torn once")
    assert [record.value["id"] for record in Keeping.kept] == list(range(700))
    assert KeepingMixed.in_columns == 400
