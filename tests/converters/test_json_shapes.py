"""Objects of one shape are read as columns; whatever needs a second look is not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from penstock.api.batch import Part
from penstock.converters import JsonConverter
from penstock.converters.json.shapes import NoShape, Shape

COUNT = 120
ENVELOPE = {
    "type": "struct",
    "optional": False,
    "fields": [
        {"type": "int32", "optional": False, "field": "id"},
        {"type": "string", "optional": True, "field": "name"},
        {"type": "double", "optional": True, "field": "amount"},
    ],
}


def _parts(values: Sequence[bytes | None], schemas: str = "false") -> Sequence[Part]:
    converter = JsonConverter()
    converter.configure({"schemas.enable": schemas})
    return _read(converter, values)


def _read(converter: JsonConverter, values: Sequence[bytes | None]) -> Sequence[Part]:
    parts = converter.decode_parts("t", pa.array(values, pa.binary()))
    for part in parts:
        expected = [converter.to_data("t", values[row]) for row in part.rows]
        assert part.column.values() == [value for _, value in expected]
        assert {part.column.schema} == {schema for schema, _ in expected}
    return parts


def _rows_in(parts: Sequence[Part]) -> list[int]:
    return sorted(int(row) for part in parts for row in part.rows)


def _objects(**others: Any) -> list[bytes]:
    return [json.dumps({"id": at, "name": f"n{at}", **others}, separators=(",", ":")).encode() for at in range(COUNT)]


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_every_object_of_a_shape_is_in_columns(separators: tuple[str, str]) -> None:
    documents = [
        {"id": at - 20, "text": "ä" * (at % 9), "p": at * 0.25, "yes": at % 2 == 0, "no": None, "in": {"x": {"y": at}}}
        for at in range(COUNT)
    ]
    values = [json.dumps(document, separators=separators, ensure_ascii=False).encode() for document in documents]
    (part,) = _parts(values)
    assert part.column.values() == documents


def test_numbers_of_two_kinds_make_two_parts() -> None:
    values = [json.dumps({"amount": at if at % 4 else at + 0.5}).encode() for at in range(COUNT)]
    assert sorted(str(part.column.array.type) for part in _parts(values)) == [
        "struct<amount: double>",
        "struct<amount: int64>",
    ]
    assert _rows_in(_parts(values)) == list(range(COUNT))


@pytest.mark.parametrize(
    "odd",
    [
        None,
        b"",
        b'{"id":1,"name":"a"',
        b'{"id":1,"name":"a"} ',
        b'{"id":1,"name":"a"}}',
        b'{"id":01,"name":"a"}',
        b'{"id":-0,"name":"a"}',
        b'{"id":1e2,"name":"a"}',
        b'{"id":-0.0,"name":"a"}',
        b'{"id":99999999999999999999,"name":"a"}',
        b'{"id":,"name":"a"}',
        b'{"id":[1],"name":"a"}',
        b'{"id":tru,"name":"a"}',
        b'{"id":1,"name":"a\\n"}',
        b'{"id":1,"name":"\xff"}',
        b'{"id":1,"name":"a\x00"}',
        b'{"id":1,"nome":"a"}',
        b'{"name":"a","id":1}',
        b'{"id":1,"name":"a","name":"b"}',
        b'{"id":1,"name":"a":"b"}',
        b'{"id":1 ,"name":"a"}',
    ],
)
def test_a_text_that_needs_a_second_look_is_left_out_alone(odd: bytes | None) -> None:
    values: list[bytes | None] = [*_objects()]
    values[17] = odd
    assert _rows_in(_parts(values)) == [at for at in range(COUNT) if at != 17]


def test_few_values_are_not_worth_columns() -> None:
    assert _parts(_objects()[:5]) == []


def test_values_that_have_nothing_in_common_are_left_alone() -> None:
    assert _parts([json.dumps({f"n{at}": [at]}).encode() for at in range(COUNT)]) == []


@pytest.mark.parametrize(
    "text", [b"[1]", b'{"a":[1]}', b"{}", b'{"a":{}}', b'{"a":1,"a":2}', b'{"a":1', b"1", b'{"a":}']
)
def test_some_texts_have_no_shape(text: bytes) -> None:
    with pytest.raises(NoShape):
        Shape.of(text)


def _enveloped(payloads: Sequence[Any]) -> list[bytes]:
    return [json.dumps({"schema": ENVELOPE, "payload": payload}).encode() for payload in payloads]


def test_payloads_of_one_schema_are_columns_of_that_schema() -> None:
    payloads = [{"id": at, "name": f"n{at}" if at % 3 else None, "amount": at / 4} for at in range(COUNT)]
    parts = _parts(_enveloped(payloads), schemas="true")
    assert _rows_in(parts) == list(range(COUNT))
    assert {str(part.column.array.type) for part in parts} == {"struct<id: int32, name: string, amount: double>"}


@pytest.mark.parametrize(
    "payload",
    [
        {"id": 2**31, "name": "a", "amount": 0.5},
        {"id": "1", "name": "a", "amount": 0.5},
        {"id": None, "name": "a", "amount": 0.5},
        {"name": "a", "amount": 0.5},
        {"id": 1.5, "name": "a", "amount": 0.5},
        {"id": 1, "name": 7, "amount": 0.5},
        {"id": 1, "name": "a", "amount": 2**60},
        None,
        7,
    ],
)
def test_a_payload_that_does_not_follow_its_schema_is_left_out(payload: Any) -> None:
    payloads: list[Any] = [{"id": at, "name": f"n{at}", "amount": at + 0.5} for at in range(COUNT)]
    payloads[9] = payload
    assert 9 not in _rows_in(_parts(_enveloped(payloads), schemas="true"))


def test_fields_that_the_schema_does_not_know_do_not_matter() -> None:
    payloads = [{"more": at, "id": at, "amount": at} for at in range(COUNT)]
    (part,) = _parts(_enveloped(payloads), schemas="true")
    assert part.column.values()[3] == {"id": 3, "name": None, "amount": 3.0}


def test_a_struct_that_is_null_everywhere_is_a_column_of_its_type() -> None:
    row = {"type": "struct", "optional": True, "fields": [{"field": "id", "type": "int32"}]}
    fields = [{**row, "field": "before"}, {**row, "field": "after"}]
    schema = {"type": "struct", "fields": fields}
    values = [{"schema": schema, "payload": {"before": None, "after": {"id": at}}} for at in range(COUNT)]
    (part,) = _parts([json.dumps(value).encode() for value in values], schemas="true")
    assert str(part.column.array.type) == "struct<before: struct<id: int32>, after: struct<id: int32>>"
    assert part.column.values() == [value["payload"] for value in values]


def test_structs_that_are_null_in_some_rows_are_read_with_their_like() -> None:
    row = {"type": "struct", "optional": True, "fields": [{"field": "id", "type": "int32", "optional": True}]}
    schema = {"type": "struct", "fields": [{**row, "field": "before"}, {"field": "n", "type": "int32"}]}
    payloads = [{"before": None if at % 3 else {"id": at}, "n": at} for at in range(COUNT)]
    parts = _parts([json.dumps({"schema": schema, "payload": payload}).encode() for payload in payloads], "true")
    assert _rows_in(parts) == list(range(COUNT))
    assert {part.column.array.field("before").null_count for part in parts} == {0, COUNT * 2 // 3}


MANY = 1000


def test_values_that_are_nearly_always_the_same_are_read_like_others() -> None:
    source = {"version": "1.0", "lsn": 7, "snapshot": None, "first": True, "table": "orders of the whole year"}
    documents = [{"id": at, "source": dict(source), "op": "c", "ts_ms": 5} for at in range(MANY)]
    for at, name, other in (
        (17, "version", ""),
        (18, "lsn", 70),
        (19, "snapshot", "yes"),
        (20, "first", False),
        (21, "table", "o"),
        (MANY - 2, "table", "orders of the whole week"),
    ):
        documents[at]["source"][name] = other  # type: ignore[index]
    documents[23]["op"], documents[MANY - 3]["ts_ms"] = "u", 5.5
    values = [json.dumps(document, separators=(",", ":")).encode() for document in documents]
    parts = _parts(values)
    assert _rows_in(parts) == [at for at in range(MANY) if at != 19]
    assert max(len(part.rows) for part in parts) == MANY - 8


@pytest.mark.parametrize("document", [{"a": 1, "b": "x", "c": None}, {"a": 1, "b": "x", "c": 1.5}])
def test_values_that_are_all_the_same_are_read(document: dict[str, Any]) -> None:
    (part,) = _parts([json.dumps(document).encode()] * MANY)
    assert part.column.values() == [document] * MANY


def test_a_text_that_ends_where_others_go_on_is_left_out_alone() -> None:
    values = [json.dumps({"id": at, "a": "same " * 20, "b": "same"}).encode() for at in range(MANY)]
    values[MANY - 2] = b'{"id": 1, "a": "same ", "b": ""'
    assert _rows_in(_parts(values)) == [at for at in range(MANY) if at != MANY - 2]


def _told(at: int, table: str = "orders") -> bytes:
    source = {"version": "1.0", "connector": "postgresql", "db": "shop", "schema": "public", "table": table}
    return json.dumps({"id": at, "name": f"n{at}", "source": source, "op": "c"}).encode()


def test_texts_that_end_as_those_before_did_are_read_whatever_comes_among_them() -> None:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"})
    usual: list[bytes | None] = [_told(at) for at in range(MANY)]
    for _ in range(2):
        (part,) = _read(converter, usual)
        assert len(part.rows) == MANY
    ending = _told(0).partition(b'"n0')[2]
    odd = {
        3: None,
        4: b"",
        5: ending,
        6: b'{"id": 1, "name": "a\\n' + ending,
        7: b'{"id": 1, "name": "\xff' + ending,
        8: b'{"id": 1, "nome": "a' + ending,
        9: b'{"id": 01, "name": "a' + ending,
        10: ending[:-1],
    }
    mixed = [odd.get(at, _told(at, "people" if at % 5 == 4 else "orders")) for at in range(MANY)]
    for values in (mixed, [_told(at, "people") for at in range(MANY)], mixed, usual):
        assert _rows_in(_read(converter, values)) == [at for at in range(MANY) if values is not mixed or at not in odd]
