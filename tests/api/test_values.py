"""Guessing what a header text is, and writing it back."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.logical import DATE
from penstock.api.record import FLOAT32, INT8, INT16, INT32, STRING, Float32, Int8, Schema, array_schema, map_schema
from penstock.api.values import parse_text, to_text
from penstock.converters import SimpleHeaderConverter


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("[1,300,2.5]", array_schema(FLOAT32), [1.0, 300.0, 2.5]),
        ("[1,300]", array_schema(INT16), [1, 300]),
        ('[1,"a"]', array_schema(None), [1, "a"]),
        ("[null]", array_schema(None), [None]),
        ("[1,null]", STRING, "[1,null]"),
        ('["a : b"]', array_schema(STRING), ["a : b"]),
        ('[" "]', array_schema(STRING), [""]),
        (" [1,2", STRING, " "),
        ("[5,2023-11-14]", array_schema(DATE), [date(1970, 1, 6), date(2023, 11, 14)]),
        ("[2023-11-14,40000]", STRING, "[2023-11-14,40000]"),
        ('{"a":[1],"b":[300]}', map_schema(STRING, array_schema(INT16)), {"a": [1], "b": [300]}),
        ('{"a":1,"b":"x"}', map_schema(STRING, None), {"a": 1, "b": "x"}),
        ("2023-02-30", DATE, date(2023, 3, 2)),
        ("2023-1-1xx", DATE, date(2023, 1, 1)),
        ("1e2147483648", STRING, "1e2147483648"),
        ("40000", INT32, 40000),
        ("+5", INT8, 5),
    ],
)
def test_texts_are_taken_for(text: str, schema: Schema, value: Any) -> None:
    assert parse_text(text) == (schema, value)


def test_numbers_without_a_common_schema_keep_their_class() -> None:
    _, (whole, fraction, text) = parse_text('[1,1.5,"x"]')
    assert [type(whole), type(fraction), type(text)] == [Int8, Float32, str]


def test_numbers_beyond_java_and_endless_nesting_stay_bytes() -> None:
    converter = SimpleHeaderConverter()
    for text in (b"1e999999999", b"[" * 100_000):
        schema, value = converter.to_header("t", "h", text)
        assert value == text
        assert schema is not None


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    schema, value = parse_text(text)
    assert (schema is None) == (value is None)
    written = to_text(value, schema)
    assert (written is None) == (value is None)
