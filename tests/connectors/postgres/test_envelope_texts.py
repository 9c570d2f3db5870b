"""Envelopes as JSON, a batch at once: the same text as record by record, whatever is the same in all rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from penstock.connectors.postgres.catalog import Column, Table
from penstock.connectors.postgres.shape import Moment, Shape, Style
from penstock.connectors.postgres.types import Handling, TypeInfo
from penstock.converters.json.converter import JsonConverter

BIGINT, TEXT, TIMESTAMP, NUMERIC = 20, 25, 1114, 1700
COLUMNS = (("id", BIGINT), ("name", TEXT), ("at", TIMESTAMP), ("price", NUMERIC))
TIMES = ("2026-01-01 00:00:00.000001", "2026-01-02 00:00:00")
ROWS = {
    "one row": [("1", "a", TIMES[0], "1.5")],
    "rows that differ": [("1", "a", TIMES[0], "1.5"), ("2", 'b"\\\n', TIMES[1], None), ("3", None, None, "2")],
    "rows that are the same but for the key": [(str(key), "a", TIMES[0], "1.5") for key in range(5)],
    "the middle row differs": [(str(key), "b" if key == 3 else "a", TIMES[0], None) for key in range(9)],
    "nothing but keys": [(str(key), None, None, None) for key in range(4)],
}


def shape(flat: bool) -> Shape:
    columns = tuple(Column(name, kind, TypeInfo(kind)) for name, kind in COLUMNS)
    style = Style("shop", "db", Handling(), flat, ("op", "lsn") if flat else ())
    return Shape(Table(1, "public", "orders", columns, ("id",)), style)


def rows_of(made: Shape, rows: Sequence[Sequence[str | None]]) -> pa.StructArray:
    return made.rows_of_texts([pa.array(column, pa.string()) for column in zip(*rows, strict=True)])


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("flat", [False, True], ids=("envelope", "flat"))
@pytest.mark.parametrize("moves", [False, True], ids=("one position", "positions"))
@pytest.mark.parametrize("schemas", ["true", "false"])
def test_a_batch_is_written_as_its_records_are(
    rows: list[tuple[str | None, ...]], flat: bool, moves: bool, schemas: str
) -> None:
    made, count = shape(flat), len(rows)
    numbers = pa.array([place if moves else 7 for place in range(count)], pa.int64())
    after = rows_of(made, rows)
    before = after if moves else made.no_rows(count)
    column = made.values(["u"] * count, after, before, Moment(numbers, pa.nulls(count, pa.int64()), numbers))
    converter = JsonConverter()
    converter.configure({"schemas.enable": schemas})
    texts = converter.encode("t", column)
    assert texts is not None
    assert texts.to_pylist() == [converter.from_data("t", column.schema, value) for value in column.values()]


def test_rows_some_of_which_have_no_old_row_keep_their_own() -> None:
    made = shape(False)
    old: list[list[bytes | None] | None] = [None, [b"1", b"a", None, None], None]
    after = rows_of(made, [("1", "a", None, None)] * 3)
    numbers = pa.array([1, 1, 1], pa.int64())
    column = made.values(["u"] * 3, after, made.rows(old), Moment(numbers, numbers, numbers))
    converter = JsonConverter()
    texts = converter.encode("t", column)
    assert texts is not None
    assert texts.to_pylist() == [converter.from_data("t", column.schema, value) for value in column.values()]
    assert [b'"before":null' in text for text in texts.to_pylist()] == [True, False, True]
