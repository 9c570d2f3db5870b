"""Columns give the same bytes and values as one value at a time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.batch import Batch, Column
from penstock.api.converter import Converter
from penstock.api.record import INT32, OPTIONAL_BYTES, OPTIONAL_STRING, STRING, Schema
from penstock.converters import ByteArrayConverter, JsonConverter, StringConverter

texts = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), max_size=20)


def _json(**settings: str) -> JsonConverter:
    converter = JsonConverter()
    converter.configure({key.replace("_", "."): value for key, value in settings.items()})
    return converter


def _check(converter: Converter, array: pa.Array, schema: Schema | None) -> None:
    encoded = converter.encode("t", Column(array, schema))
    assert encoded is not None
    one_by_one = [converter.from_data("t", schema, value) for value in array.to_pylist()]
    assert encoded.to_pylist() == one_by_one
    decoded = converter.decode("t", encoded)
    if decoded is not None:
        expected = [converter.to_data("t", data) for data in one_by_one]
        assert decoded.array.to_pylist() == [value for _, value in expected]
        assert all(found == decoded.schema for found, _ in expected)


@given(texts)
def test_string_columns(values: list[str | None]) -> None:
    _check(StringConverter(), pa.array(values, pa.string()), OPTIONAL_STRING)


@given(texts, st.sampled_from([None, OPTIONAL_STRING, OPTIONAL_STRING.with_(default='d"')]), st.booleans())
def test_json_columns(values: list[str | None], schema: Schema | None, with_schemas: bool) -> None:
    if schema is None and with_schemas:
        values = [value or "" for value in values]
    _check(_json(schemas_enable=str(with_schemas)), pa.array(values, pa.string()), schema)


@given(texts, st.integers(0, 5), st.integers(0, 10))
def test_slices_of_columns(values: list[str | None], start: int, length: int) -> None:
    array = pa.array(["\x00", *values, '"'], pa.string()).slice(start, length)
    _check(_json(schemas_enable="false"), array, OPTIONAL_STRING)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("schema", [None, STRING])
def test_simple_strings_never_need_the_slow_way(kind: pa.DataType, schema: Schema | None) -> None:
    array = pa.array(["plain", "é", ""], kind)
    converter = _json(schemas_enable="false" if schema is None else "true")
    encoded = converter.encode("t", Column(array, schema))
    decoded = converter.decode("t", encoded)
    assert decoded is not None
    assert decoded.array.equals(array)
    assert decoded.schema == schema


@pytest.mark.parametrize(
    "data", [[b"1"], [b'"a"', b"null"], [b'"a\\n"'], [b'"a" '], [b'"'], [b'"a""b"'], [b'"\xff"'], [b'"\x01"']]
)
def test_other_json_is_left_to_the_slow_way(data: list[bytes]) -> None:
    assert _json(schemas_enable="false").decode("t", pa.array(data, pa.binary())) is None


def test_string_columns_without_a_copy() -> None:
    array = pa.array(["a", "bc"])
    encoded = StringConverter().encode("t", Column(array, STRING))
    assert encoded is not None
    assert encoded.buffers()[2].address == array.buffers()[2].address


def test_malformed_text_is_left_to_the_slow_way() -> None:
    converter = StringConverter()
    assert converter.decode("t", pa.array([b"\xff"])) is None
    assert converter.to_data("t", b"a\xed\xa0\x80b\xe2\x82")[1] == "a\ufffdb\ufffd"


def test_integers_as_strings() -> None:
    _check(StringConverter(), pa.array([1, None, -5], pa.int32()), INT32)


def test_bytes_pass_through() -> None:
    array = pa.array([b"a", None, b""])
    converter = ByteArrayConverter()
    assert converter.encode("t", Column(array)) is array
    decoded = converter.decode("t", array)
    assert decoded is not None
    assert decoded.array is array
    assert decoded.schema == OPTIONAL_BYTES
    assert converter.encode("t", Column(pa.array(["text"]))) is None


def test_a_batch_is_its_records() -> None:
    batch = Batch("t", Column(pa.array(["a", None]), OPTIONAL_STRING), offset=pa.array([5, 6]))
    found: list[Any] = [(r.topic, r.key, r.value, r.value_schema, r.offset) for r in batch.records()]
    assert found == [("t", None, "a", OPTIONAL_STRING, 5), ("t", None, None, OPTIONAL_STRING, 6)]
