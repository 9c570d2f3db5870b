"""PostgreSQL's texts as values, and values as texts that PostgreSQL reads."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.api.arrow import arrow_type
from penstock.connectors.postgres import literals, types
from penstock.connectors.postgres.texts import column_type as target_type
from penstock.connectors.postgres.texts import csv_column
from penstock.connectors.postgres.types import ColumnType, Handling, TypeInfo, column_type

NUMERIC_10_2 = (10 << 16 | 2) + 4


def made(oid: int, modifier: int = -1, **handling: str) -> ColumnType:
    return column_type(TypeInfo(oid, modifier), Handling(**handling))


CASES: list[tuple[ColumnType, list[str | None], list[Any]]] = [
    (made(types.BOOL), ["t", "f", None], [True, False, None]),
    (made(types.INT2), ["-32768"], [-32768]),
    (made(types.INT8), ["9223372036854775807"], [2**63 - 1]),
    (made(types.TIMESTAMP_OID), ["0044-03-15 12:00:00 BC"], [-63_517_780_800_000_000]),
    (made(types.FLOAT8), ["Infinity", "-Infinity", "1e-300"], [float("inf"), float("-inf"), 1e-300]),
    (made(types.NUMERIC, NUMERIC_10_2), ["1.20", "NaN", None], [Decimal("1.20"), None, None]),
    (made(types.NUMERIC), ["3.14"], [{"scale": 2, "value": b"\x01\x3a"}]),
    (made(types.NUMERIC, decimals="string"), ["NaN"], ["NaN"]),
    (made(types.NUMERIC, NUMERIC_10_2, decimals="double"), ["1.5"], [1.5]),
    (made(types.DATE_OID), ["1970-01-02", "infinity", "0044-03-15 BC"], [1, 2**31 - 1, -735160]),
    (made(types.DATE_OID, times="connect"), ["2024-02-29"], [datetime.date(2024, 2, 29)]),
    (made(types.TIME_OID), ["00:00:01.5", "24:00:00"], [1_500_000, 86_400_000_000]),
    (made(types.TIME_OID, 3), ["00:00:01.5"], [1500]),
    (made(types.TIMESTAMP_OID), ["1970-01-01 00:00:00.000001", "infinity"], [1, 2**63 - 1]),
    (made(types.TIMESTAMP_OID, 3), ["1969-12-31 23:59:59.999", None], [-1, None]),
    (made(types.TIMESTAMPTZ), ["2024-02-29 12:30:00.5+00", "infinity"], ["2024-02-29T12:30:00.5Z", "infinity"]),
    (made(types.TIMETZ), ["01:00:00.5+02"], ["23:00:00.5Z"]),
    (made(types.INTERVAL), ["P1DT2H", "PT-0.5S"], [93_600_000_000, -500_000]),
    (made(types.BIT, 1), ["1", "0"], [True, False]),
    (made(types.BIT, 10), ["1000000001"], [b"\x01\x02"]),
    (made(types.BYTEA), ["\\x00ff", None], [b"\x00\xff", None]),
    (made(types.MONEY), ["-$1,234.50"], [Decimal("-1234.50")]),
]


@pytest.mark.parametrize(("kind", "texts", "values"), CASES)
def test_texts_become_values_of_their_schema(kind: ColumnType, texts: list[str | None], values: list[Any]) -> None:
    array = kind.convert(pa.array(texts, pa.string()))
    assert array.type == arrow_type(kind.schema)
    assert array.to_pylist() == values


USUAL: list[tuple[ColumnType, list[str | None]]] = [
    (made(types.NUMERIC, NUMERIC_10_2), ["1.20", "-3", None]),
    (made(types.DATE_OID), ["1970-01-02", None]),
    (made(types.DATE_OID, times="connect"), ["2024-02-29"]),
    (made(types.TIME_OID), ["00:00:01.5", "23:59:59.999999"]),
    (made(types.TIME_OID, 3), ["00:00:01.5"]),
    (made(types.TIME_OID, times="connect"), ["00:00:01"]),
    (made(types.TIMESTAMP_OID), ["1970-01-01 00:00:00.000001", None]),
    (made(types.TIMESTAMP_OID, 3), ["1969-12-31 23:59:59.999"]),
    (made(types.TIMESTAMP_OID, times="connect"), ["2024-02-29 12:30:00"]),
]


@pytest.mark.parametrize(("kind", "texts"), USUAL)
def test_usual_texts_become_values_all_at_once(
    kind: ColumnType, texts: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: object) -> types.Convert:
        raise AssertionError("the texts went one by one")

    monkeypatch.setattr(types, "_each", slow)
    assert kind.convert(pa.array(texts, pa.string())).type == arrow_type(kind.schema)


def test_arrays_keep_nulls_quotes_and_bounds() -> None:
    kind = column_type(TypeInfo(1009, element=types.TEXT), Handling())
    texts = pa.array(['{a,NULL,"NULL","x \\"y\\" \\\\"}', None, "{}", "[0:1]={p,q}"])
    assert kind.convert(texts).to_pylist() == [["a", None, "NULL", 'x "y" \\'], None, [], ["p", "q"]]


def test_enums_name_their_labels() -> None:
    schema = column_type(TypeInfo(99_999, labels=("red", "it's")), Handling()).schema
    assert (schema.name, schema.parameters) == (types.ENUM_NAME, {"allowed": "red,it's"})


@pytest.mark.parametrize(
    ("kind", "values", "sql", "texts"),
    [
        (
            made(types.TIMESTAMP_OID),
            [1_500_000, 2**63 - 1, None],
            "timestamp",
            ["1970-01-01 00:00:01.500000", "infinity", None],
        ),
        (made(types.DATE_OID), [19_782, -(2**31) + 1], "date", ["2024-02-29", "-infinity"]),
        (made(types.DATE_OID), [-735_160, -719_468, None], "date", ["0044-03-15 BC", "0001-03-01 BC", None]),
        (
            made(types.TIMESTAMP_OID),
            [-63_517_780_800_000_000, 327_403_382_400_000_000],
            "timestamp",
            ["0044-03-15 12:00:00.000000 BC", "12345-01-01 00:00:00.000000"],
        ),
        (
            made(types.TIMESTAMP_OID, times="connect"),
            [-63_517_780_800_000, (2**63 - 1) // 1000, -((2**63 - 1) // 1000), 1500],
            "timestamp",
            ["0044-03-15 12:00:00.000 BC", "infinity", "-infinity", "1970-01-01 00:00:01.500"],
        ),
        (made(types.TIME_OID), [86_400_000_000], "time", ["24:00:00.000000"]),
        (made(types.NUMERIC), [{"scale": 2, "value": b"\x01\x3a"}], "numeric", ["3.14"]),
        (made(types.BYTEA), [b"\x00\xff"], "bytea", ["\\x00ff"]),
        (made(types.BIT, 10), [b"\x01\x02"], "bit varying", ["1000000001"]),
        (made(types.INTERVAL), [-500_000], "interval", ["-500000 microseconds"]),
    ],
)
def test_values_go_back_as_texts(kind: ColumnType, values: list[Any], sql: str, texts: list[str | None]) -> None:
    array = pa.array(values, arrow_type(kind.schema))
    assert target_type(kind.schema, array.type) == sql
    assert csv_column(array, kind.schema).to_pylist() == texts


def test_arrays_go_back_as_literals() -> None:
    kind = column_type(TypeInfo(1009, element=types.TEXT), Handling())
    array = pa.array([["a", None, 'x "y" \\'], None, []], arrow_type(kind.schema))
    assert target_type(kind.schema, array.type) == "text[]"
    assert csv_column(array, kind.schema).to_pylist() == ['{"a",NULL,"x \\"y\\" \\\\"}', None, "{}"]


@pytest.mark.parametrize("text", ["12", "2024-13", "noon"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a date"):
        literals.days(text)
