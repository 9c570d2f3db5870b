"""Values as Java prints them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from penstock.api.record import (
    FLOAT32,
    INT8,
    INT32,
    STRING,
    Float32,
    FrozenKey,
    Int16,
    Millis,
    Schema,
    array_schema,
    map_schema,
    struct_schema,
)
from penstock.api.text import decimal_to_float32, java_class, java_double, java_float, java_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1e-3, "0.001"),
        (9.99e-4, "9.99E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (5e-324, "4.9E-324"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_doubles(value: float, text: str) -> None:
    assert java_double(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1, "0.1"), (1.1, "1.1"), (16777216.0, "1.6777216E7"), (3.4028235e38, "3.4028235E38"), (1e-45, "1.4E-45")],
)
def test_floats(value: float, text: str) -> None:
    assert java_float(value) == text


def test_a_float_is_rounded_once() -> None:
    just_above_the_middle = Decimal(2**24 + 1) + Decimal("1e-12")
    assert float(just_above_the_middle) == 2**24 + 1
    assert decimal_to_float32(just_above_the_middle) == 2**24 + 2
    assert decimal_to_float32(Decimal(2**24 + 1)) == 2**24


@pytest.mark.parametrize(
    ("value", "schema", "text"),
    [
        (None, None, "null"),
        (True, None, "true"),
        ({"a": 1, "b": None}, None, "{a=1, b=null}"),
        ({"a": 1, "b": None}, struct_schema(("b", STRING), ("a", INT8)), "Struct{a=1}"),
        ([{"a": 1.5}], array_schema(struct_schema(("a", FLOAT32))), "[Struct{a=1.5}]"),
        ({FrozenKey.of([1]): [2]}, map_schema(array_schema(INT8), array_schema(INT8)), "{[1]=[2]}"),
        (Float32(0.10000000149011612), None, "0.1"),
        (0.10000000149011612, FLOAT32, "0.1"),
        (Decimal("1E+3"), None, "1E+3"),
        (date(2023, 11, 14), None, "Tue Nov 14 00:00:00 UTC 2023"),
        (time(1, 2, 3), None, "Thu Jan 01 01:02:03 UTC 1970"),
        (datetime(2023, 11, 14, 22, 13, 20, 999000, UTC), None, "Tue Nov 14 22:13:20 UTC 2023"),
        (Millis(2**63 - 1), None, "Sun Aug 17 07:12:55 UTC 292278994"),
        (Millis(-62135769600000), None, "Sat Jan 01 00:00:00 UTC 1"),
        (Millis(-12219292800001), None, "Thu Oct 04 23:59:59 UTC 1582"),
    ],
)
def test_values(value: Any, schema: Schema | None, text: str) -> None:
    assert java_text(value, schema) == text


@pytest.mark.parametrize(
    ("value", "schema", "name"),
    [
        (1, None, "java.lang.Long"),
        (1, INT32, "java.lang.Integer"),
        (1, STRING, "java.lang.Long"),
        (Int16(1), INT32, "java.lang.Short"),
        (1.0, FLOAT32, "java.lang.Float"),
        (True, INT8, "java.lang.Boolean"),
        ({}, struct_schema(), "org.apache.kafka.connect.data.Struct"),
        (b"", None, "[B"),
        (datetime(2023, 1, 1), None, "java.util.Date"),
    ],
)
def test_classes(value: Any, schema: Schema | None, name: str) -> None:
    assert java_class(value, schema) == name
