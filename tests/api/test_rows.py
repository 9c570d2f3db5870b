"""Records become rows of Arrow tables and come back as they were, except for what was changed."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.api import DataError, Record, inference
from penstock.api.logical import DATE, TIME, TIMESTAMP, decimal_schema
from penstock.api.record import (
    FLOAT32,
    INT8,
    INT64,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    Header,
    Int32,
    Schema,
    SchemaType,
    array_schema,
    map_schema,
    struct_schema,
)  # fmt: skip
from penstock.api.rows import Rows, from_rows, to_rows

EVERYTHING = struct_schema(
    ("tiny", INT8), ("big", INT64), ("real", FLOAT32), ("text", OPTIONAL_STRING), ("day", DATE), ("clock", TIME),
    ("moment", TIMESTAMP), ("amount", decimal_schema(2)), ("list", array_schema(INT64)),
    ("map", map_schema(STRING, OPTIONAL_INT64)), ("inner", struct_schema(("a", OPTIONAL_STRING), optional=True)),
    name="everything", version=3,
)  # fmt: skip
FULL: dict[str, Any] = {
    "tiny": 1, "big": 2**40, "real": 1.5, "text": "ä", "day": date(2024, 2, 29), "clock": time(1, 2, 3, 4000),
    "moment": datetime(2024, 1, 2, 3, 4, 5, 678000, UTC), "amount": Decimal("12.30"), "list": [1, 2],
    "map": {"x": 1, "y": None}, "inner": {"a": "b"},
}  # fmt: skip


def rows_of(*records: Record) -> Rows:
    tables, bad = to_rows(records, range(len(records)))
    assert bad == []
    (rows,) = tables
    return rows


def back(rows: Rows, changed: pa.Table) -> list[Record]:
    return [record for _, record in from_rows(rows, changed)]


def test_records_come_back_as_they_went() -> None:
    record = Record(FULL, {"id": 5}, "t", 3, EVERYTHING, struct_schema(("id", INT64)), [Header("h", 1)], 99, 7)
    rows = rows_of(record)
    assert back(rows, rows.table) == [record]
    assert back(rows, rows.table)[0].value_schema is EVERYTHING


def test_what_arrow_gives_is_turned_into_values_of_the_schema() -> None:
    rows = rows_of(Record(FULL, topic="t", value_schema=EVERYTHING))
    other = rows_of(Record({**FULL, "clock": time(4, 5), "map": {"z": 9}}, topic="t", value_schema=EVERYTHING))
    (record,) = back(rows, other.table)
    assert record.value == {**FULL, "clock": time(4, 5), "map": {"z": 9}}


def test_values_without_schema_share_a_table_with_inferred_types() -> None:
    values = [{"a": 1}, {"a": 2.5, "b": "x"}, {"b": None, "c": [{"d": 1}, {}]}, {"a": None, "c": []}]
    rows = rows_of(*(Record(value, topic="t") for value in values))
    assert rows.table.schema.field("a").type == pa.float64()
    assert rows.table.column("c").to_pylist() == [None, None, [{"d": 1}, {"d": None}], []]
    assert [record.value for record in back(rows, rows.table)] == values


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1, "x"], ["1", "x"]),
        ([{"a": 1}, "x"], ['{"a":1}', "x"]),
        ([True, 1], ["true", "1"]),
        ([{}, {}], ["{}", "{}"]),
        ([2**70, 1], [str(2**70), "1"]),
        ([time(1, 2)], ["01:02:00.000Z"]),
        ([[1], {"a": [time(1, 2), None]}], ["[1]", '{"a":["01:02:00.000Z",null]}']),
    ],
)
def test_what_has_no_common_type_is_text_and_comes_back_whole(values: list[Any], texts: list[str]) -> None:
    rows = rows_of(*(Record({"v": value}, topic="t") for value in values))
    assert rows.table.schema.field("v").type == pa.string()
    assert rows.table.column("v").to_pylist() == texts
    assert [record.value["v"] for record in back(rows, rows.table)] == values


def test_fields_are_added_dropped_and_changed() -> None:
    schema = struct_schema(("a", INT64), ("b", STRING), name="s")
    rows = rows_of(*(Record({"a": n, "b": "x"}, topic="t", value_schema=schema) for n in (1, 2)))
    changed = rows.table.drop_columns("b").append_column("c", pa.array([Decimal("1.50"), None]))
    first, second = back(rows, changed)
    assert (first.value, second.value) == ({"a": 1, "c": Decimal("1.50")}, {"a": 2, "c": None})
    expected = struct_schema(("a", INT64), ("c", decimal_schema(2, optional=True)), name="s")
    assert first.value_schema == second.value_schema == expected


def test_without_schema_new_fields_are_what_json_knows() -> None:
    rows = rows_of(Record({"a": Int32(1)}, topic="t"))
    moment = datetime(2024, 1, 2, 3, 4, 5, 600000, UTC)
    added = {"d": Decimal("1.50"), "n": Decimal("7"), "m": moment, "p": date(2024, 1, 2), "l": [Decimal("2.5")]}
    changed = rows.table
    for name, value in added.items():
        changed = changed.append_column(name, pa.array([value]))
    changed = changed.append_column("x", pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())))
    (record,) = back(rows, changed)
    assert record.value == {
        "a": 1, "d": 1.5, "n": 7, "m": "2024-01-02T03:04:05.600Z", "p": "2024-01-02", "l": [2.5], "x": {"k": 1},
    }  # fmt: skip
    assert type(record.value["a"]) is Int32
    assert record.value_schema is None


def test_rows_may_be_dropped_and_repeated_when_they_keep_their_numbers() -> None:
    rows = rows_of(*(Record({"a": n}, topic="t", offset=n, headers=[Header("n", n)]) for n in range(4)))
    kept = rows.table.filter(pc.greater(rows.table.column("a"), 1))
    found = list(from_rows(rows, pa.concat_tables([kept, kept])))
    assert [(number, record.offset, record.headers[0].value) for number, record in found] == [
        (2, 2, 2), (3, 3, 3), (2, 2, 2), (3, 3, 3),
    ]  # fmt: skip
    with pytest.raises(DataError, match="4 rows went in and 2 came out"):
        list(from_rows(rows, kept.drop_columns("_row")))
    with pytest.raises(DataError, match="number 9, which no record has"):
        list(from_rows(rows, pa.table({"_row": [9], "a": [1]})))


def test_key_topic_partition_and_timestamp_can_change() -> None:
    schema = struct_schema(("id", INT64))
    rows = rows_of(Record({"id": 5}, None, "t", 0, schema, timestamp=1))
    moment = pa.array([datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)])
    table = pa.table({"id": [5], "_key": [5], "_topic": ["u"], "_partition": [2], "_timestamp": moment})
    (record,) = back(rows, table)
    assert (record.key, record.key_schema, record.topic) == (5, OPTIONAL_INT64, "u")
    assert (record.partition, record.timestamp) == (2, 2000)
    with pytest.raises(DataError, match="_topic is None, which cannot be a record's"):
        back(rows, pa.table({"id": [5], "_topic": pa.array([None], pa.string())}))


@pytest.mark.parametrize("schema", [None, Schema(SchemaType.STRING)])
def test_values_that_are_no_structs_are_in_one_column(schema: Schema | None) -> None:
    rows = rows_of(Record("x", topic="t", value_schema=schema))
    (record,) = back(rows, rows.table.set_column(0, "_value", pa.array(["y"])))
    assert (record.value, record.value_schema) == ("y", schema)
    (record,) = back(rows, pa.table({"name": ["y"], "_row": [0]}))
    assert record.value == {"name": "y"}
    expected = None if schema is None else struct_schema(("name", OPTIONAL_STRING))
    assert record.value_schema == expected


def test_different_schemas_get_different_tables_and_a_bad_record_costs_itself() -> None:
    schema = struct_schema(("amount", decimal_schema(2)))
    records = [
        Record({"amount": Decimal("1.00")}, topic="t", value_schema=schema),
        Record({"amount": Decimal(10) ** 40}, topic="t", value_schema=schema),
        Record({"amount": 1}, topic="t"),
        Record({"_key": 1}, topic="t", value_schema=struct_schema(("_key", INT64))),
        Record({"amount": Decimal("2.00")}, topic="t", value_schema=schema),
    ]
    tables, bad = to_rows(records, range(5))
    assert [list(rows.numbers) for rows in tables] == [[0, 4], [2]]
    assert [row.number for row in bad] == [1, 3]
    assert "rename it before" in str(bad[1].error)


def test_a_required_field_that_got_a_null_is_optional_from_then_on() -> None:
    rows = rows_of(Record({"a": 1}, topic="t", value_schema=struct_schema(("a", INT64))))
    (record,) = back(rows, pa.table({"a": pa.array([None], pa.int64())}))
    assert record.value_schema == struct_schema(("a", OPTIONAL_INT64))


def test_two_columns_of_one_name_are_refused() -> None:
    rows = rows_of(Record({"a": 1}, topic="t"))
    with pytest.raises(DataError, match="Two columns are called 'a'"):
        back(rows, pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))


@pytest.mark.parametrize(
    "values", [[1, None], [0.5, -1.0], ["a", None], [True], [b"a"], [[1], []], [{"a": 1, "b": "x"}], [None], [date.min]]
)
def test_values_of_one_type_become_columns_without_a_look_at_each(
    values: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def patient(value: Any, kind: pa.DataType) -> Any:
        raise AssertionError("each value was looked at")

    monkeypatch.setattr(inference, "_fit", patient)
    assert inference.fitting_array(values).to_pylist() == values
