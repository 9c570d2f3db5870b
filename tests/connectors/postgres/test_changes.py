"""Messages of the stream as records: cells, order, tombstones, values that are not known."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api import Record
from penstock.connectors.postgres import pgoutput
from penstock.connectors.postgres.catalog import Column, Table
from penstock.connectors.postgres.changes import Changes, Fetch
from penstock.connectors.postgres.pgoutput import UNCHANGED, Begin, Row
from penstock.connectors.postgres.shape import Shape, Style
from penstock.connectors.postgres.tuples import cells
from penstock.connectors.postgres.types import INT4, TEXT, Handling, TypeInfo

Cell = Any
TABLE = Table(5, "public", "t", (Column("id", INT4, TypeInfo(INT4)), Column("v", TEXT, TypeInfo(TEXT))), ("id",))


def row(*values: Cell) -> bytes:
    parts = []
    for value in values:
        if value is None or value is UNCHANGED:
            parts.append(b"n" if value is None else b"u")
        else:
            text = str(value).encode()
            parts.append(b"t" + struct.pack(">I", len(text)) + text)
    return struct.pack(">H", len(values)) + b"".join(parts)


def insert(*values: Cell) -> bytes:
    return b"I" + struct.pack(">I", 5) + b"N" + row(*values)


def update(*values: Cell, old: tuple[Cell, ...] = (), kind: bytes = b"O") -> bytes:
    before = kind + row(*old) if old else b""
    return b"U" + struct.pack(">I", 5) + before + b"N" + row(*values)


def delete(*values: Cell, kind: bytes = b"K") -> bytes:
    return b"D" + struct.pack(">I", 5) + kind + row(*values)


def unknown(table: Table, rows: Sequence[Row]) -> list[Row]:
    """A table that has none of the rows any more."""
    return list(rows)


def records(
    messages: list[bytes],
    flat: bool = False,
    tombstones: bool = True,
    table: Table = TABLE,
    fetch: Fetch = unknown,
) -> list[Record]:
    style = Style("p", "db", Handling(), flat=flat)
    changes = Changes(Shape(table, style), flat, tombstones, fetch)
    for number, message in enumerate(messages):
        changes.add(message, Begin(100 + number, 1_000_000, 7))
    changes.flush()
    return [record for batch in changes.ready for record in batch.records()]


def told(messages: list[bytes], **how: bool) -> list[tuple[str, int, str | None]]:
    found = []
    for record in records(messages, **how):
        value = record.value or {"op": "-", "after": None}
        found.append((value["op"], record.key["id"], (value["after"] or {}).get("v")))
    return found


texts = st.one_of(st.none(), st.just(UNCHANGED), st.text(st.characters(exclude_characters="\x00", codec="utf-8")))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(texts, min_size=3, max_size=3), min_size=1, max_size=20))
def test_cells_found_together_are_those_found_one_by_one(rows: list[list[Cell]]) -> None:
    messages = [insert(*values) for values in rows]
    columns = cells(messages, 3)
    for place, column in enumerate(columns):
        single = [pgoutput.new_row(message)[place] for message in messages]
        unchanged = [cell is UNCHANGED for cell in single]
        assert (column.unchanged.tolist() if column.unchanged is not None else [False] * len(rows)) == unchanged
        plain = [None if cell is None or cell is UNCHANGED else cell.decode() for cell in single]
        assert column.array.to_pylist() == plain


def test_changes_come_in_order_however_they_were_decoded() -> None:
    messages = [insert(1, "a"), update(1, "b", old=(1, "a")), insert(2, "c"), update(2, "d"), update(1, "e")]
    assert told(messages) == [("c", 1, "a"), ("u", 1, "b"), ("c", 2, "c"), ("u", 2, "d"), ("u", 1, "e")]


def test_a_key_that_comes_back_comes_after_its_tombstone() -> None:
    messages = [insert(1, "a"), delete(1, None), insert(2, "b"), insert(1, "c"), delete(1, None)]
    assert told(messages) == [
        ("c", 1, "a"),
        ("d", 1, None),
        ("c", 2, "b"),
        ("-", 1, None),
        ("c", 1, "c"),
        ("d", 1, None),
        ("-", 1, None),
    ]
    assert [op for op, _, _ in told(messages, tombstones=False)] == ["c", "d", "c", "c", "d"]


def test_a_changed_key_is_a_delete_and_a_create() -> None:
    messages = [insert(1, "a"), update(9, "a", old=(1, None), kind=b"K")]
    assert told(messages) == [("c", 1, "a"), ("d", 1, None), ("c", 9, "a"), ("-", 1, None)]


def test_flat_records_are_rows_and_tombstones() -> None:
    found = records([insert(1, "a"), delete(1, None), insert(1, None)], flat=True)
    assert [(record.key, record.value) for record in found] == [
        ({"id": 1}, {"id": 1, "v": "a"}),
        ({"id": 1}, None),
        ({"id": 1}, {"id": 1, "v": None}),
    ]
    assert found[1].value_schema is None


@pytest.mark.parametrize(
    ("message", "value"),
    [
        (update(1, UNCHANGED), "__debezium_unavailable_value"),
        (update(1, UNCHANGED, old=(1, "known")), "known"),
        (update(1, None, old=(1, "known")), None),
    ],
)
def test_a_value_that_stayed_is_taken_from_the_old_row_or_marked(message: bytes, value: str | None) -> None:
    (record,) = records([message])
    assert record.value["after"]["v"] == value


ARRAYS = Table(
    5,
    "public",
    "t",
    (
        Column("id", INT4, TypeInfo(INT4)),
        Column("v", TEXT, TypeInfo(TEXT)),
        Column("a", 1007, TypeInfo(1007, -1, INT4)),
    ),
    ("id",),
)


def test_values_without_a_mark_are_asked_for_and_keep_their_place() -> None:
    asked: list[list[Any]] = []

    def fetch(table: Table, rows: Sequence[Row]) -> list[Row]:
        asked.append([row[0] for row in rows])
        return [[row[0], b"now", b"{7}" if row[2] is UNCHANGED else row[2]] for row in rows]

    messages = [
        insert(1, "a", "{1}"),
        update(2, "b", UNCHANGED),
        update(3, UNCHANGED, "{3}"),
        update(4, UNCHANGED, "{4}", old=(9, None, None), kind=b"K"),
        update(5, "e", UNCHANGED, old=(5, "d", "{5}")),
        update(6, UNCHANGED, UNCHANGED),
        insert(7, None, None),
    ]
    found = [record.value["after"] for record in records(messages, table=ARRAYS, fetch=fetch, tombstones=False)]
    assert [row and (row["id"], row["v"], row["a"]) for row in found] == [
        (1, "a", [1]),
        (2, "now", [7]),
        (3, "__debezium_unavailable_value", [3]),
        None,
        (4, "now", [4]),
        (5, "e", [5]),
        (6, "now", [7]),
        (7, None, None),
    ]
    assert [sorted(rows) for rows in asked] == [[b"2", b"4", b"6"]]


def test_a_large_key_that_stayed_is_taken_from_the_old_one() -> None:
    (record,) = records([update(UNCHANGED, "b", old=(1, None), kind=b"K")])
    assert (record.value["op"], record.key, record.value["after"]) == ("u", {"id": 1}, {"id": 1, "v": "b"})


def test_a_delete_tells_the_key_alone_unless_more_is_known() -> None:
    first, _ = records([delete(1, None)])
    second, _ = records([delete(1, "all", kind=b"O")])
    assert first.value["before"] == {"id": 1, "v": None}
    assert second.value["before"] == {"id": 1, "v": "all"}
    assert first.value["after"] is None


def test_where_a_change_comes_from_is_in_its_source() -> None:
    (record,) = records([insert(1, "a")])
    place = {name: record.value["source"][name] for name in ("name", "db", "schema", "table", "txId", "lsn", "ts_ms")}
    assert place == {"name": "p", "db": "db", "schema": "public", "table": "t", "txId": 7, "lsn": 100, "ts_ms": 1000}


def test_relations_and_transactions_are_decoded() -> None:
    column = b"\x01id\x00" + struct.pack(">Ii", 23, -1)
    data = b"R" + struct.pack(">I", 5) + b"public\x00t\x00d" + struct.pack(">H", 1) + column
    assert pgoutput.relation(data) == pgoutput.Relation(5, "public", "t", "d", (("id", 23, -1, True),))
    begin = pgoutput.begin(b"B" + struct.pack(">QqI", 77, 5, 9))
    assert begin == Begin(77, pgoutput.EPOCH_MICROS + 5, 9)
    assert pgoutput.end_of_commit(b"C\x00" + struct.pack(">QQq", 77, 88, 5)) == 88
    assert pgoutput.truncated(b"T" + struct.pack(">IBII", 2, 0, 5, 6)) == [5, 6]
