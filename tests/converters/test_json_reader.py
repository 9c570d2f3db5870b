"""What the JSON reader takes and refuses, beyond the observed cases."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.errors import DataError
from penstock.api.record import FLOAT32, FLOAT64, INT8, INT64
from penstock.converters import JsonConverter
from penstock.converters.json import reader
from penstock.converters.json.lenient import MISSING, JsonError, parse
from penstock.converters.json.reader import read_exact, read_plain

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
def plain() -> JsonConverter:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"})
    return converter


def _read(converter: JsonConverter, data: bytes) -> object:
    return converter.to_data("t", data)[1]


@given(json_values)
def test_the_patient_parser_and_msgspec_read_the_same_tree(value: object) -> None:
    data = json.dumps(value).encode()
    assert repr(parse(data)) == repr(read_exact(data))


def test_ordinary_json_is_left_to_msgspec(plain: JsonConverter, monkeypatch: pytest.MonkeyPatch) -> None:
    def patient(data: bytes) -> object:
        raise AssertionError("it went to the patient parser")

    monkeypatch.setattr(reader, "parse", patient)
    value = {"id": 1, "name": "ä", "price": -1.5, "tags": ["a", None, True], "inner": {"far": "x" * 2000}}
    data = json.dumps(value).encode()
    assert _read(plain, data) == value
    assert read_exact(data) == {**value, "price": Decimal("-1.5")}
    envelope = reader.read_envelope(b'{"schema": {"type": "string"}, "payload": "%s"}' % (b"x" * 2000))
    assert envelope is not None
    assert bytes(envelope["schema"]) == b'{"type": "string"}'


@given(json_values)
def test_plain_json_survives_a_round_trip(value: object) -> None:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"})
    read = _read(converter, json.dumps(value).encode())
    written = converter.from_data("t", None, read)
    assert (None if written is None else _read(converter, written)) == read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"007", 7),
        (b"-00.50", -0.5),
        (b"9223372036854775808", -(2**63)),
        (b"-9223372036854775809", 2**63 - 1),
        (b"36893488147419103237", 5),
        (b"[1e400]", [math.inf]),
        (b"5 rest is ignored", 5),
        (b'"a"x', "a"),
        (b"{}]", {}),
        (b"\xef\xbb\xbf[true]", [True]),
        ("[1]".encode("utf-16-le"), [1]),
        ("[1]".encode("utf-32-be"), [1]),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\ud800"', "\ud800"),
        (b"2023e-900", 0.0),
    ],
)
def test_accepts_what_jackson_accepts(plain: JsonConverter, text: bytes, value: object) -> None:
    assert _read(plain, text) == value


@pytest.mark.parametrize(
    "text",
    [b"5x", b"5,", b"truex", b"[1,]", b"{1:2}", b"'a'", b"NaN", b"+1", b".5", b"1.", b'"\n"', b'{"a" 1}', b"[1 2]",
     b"1e99999999999", b"1e-99999999999", b"\xff", b'"\\x"', b"{"],
)  # fmt: skip
def test_refuses_what_jackson_refuses(plain: JsonConverter, text: bytes) -> None:
    with pytest.raises(DataError, match=r"^Converting byte\[\] to Kafka Connect data failed"):
        _read(plain, text)


@pytest.mark.parametrize("text", [b"-0.0", b"[-0.0]", b"-0e5", b'{"a":-0.00}'])
def test_there_is_no_negative_zero(plain: JsonConverter, text: bytes) -> None:
    assert b"-" not in (plain.from_data("t", None, _read(plain, text)) or b"")


def test_a_thousand_levels_are_fine_and_one_more_is_not(plain: JsonConverter) -> None:
    deep = b"[" * 1000 + b"]" * 1000
    assert plain.from_data("t", None, _read(plain, deep)) == deep
    with pytest.raises(DataError):
        _read(plain, b"[" + deep + b"]")
    with pytest.raises(DataError, match=r"^Converting Kafka Connect data to byte"):
        JsonConverter().from_data("t", None, _read(plain, deep))


def test_numbers_of_more_than_a_thousand_digits_are_refused(plain: JsonConverter) -> None:
    assert isinstance(_read(plain, b"1" * 1000), int)
    with pytest.raises(DataError):
        _read(plain, b"1" * 1001)


def test_blank_bytes_are_no_value() -> None:
    assert parse(b" \r\n\t") is MISSING
    with pytest.raises(JsonError):
        parse(b"\x0b")


def test_exact_reading_keeps_every_digit() -> None:
    assert str(read_exact(b"[1.10, 1E+2, 0.0000001]")[0]) == "1.10"
    assert read_exact(b"123456789012345678901234.5") == Decimal("123456789012345678901234.5")
    assert read_plain(b"0.1") == 0.1


@pytest.mark.parametrize(
    ("schema", "payload", "value"),
    [
        (INT8, "128", -128),
        (INT64, "1e20", 7766279631452241920),
        (INT64, "1e70", 0),
        (INT64, "-1.9", -1),
        (FLOAT64, "1e999", math.inf),
        (FLOAT32, "1e39", math.inf),
        (FLOAT32, "16777217.0000000001", 16777218.0),
        (FLOAT32, "16777217", 16777216.0),
    ],
)
def test_numbers_narrow_as_in_java(schema: object, payload: str, value: float) -> None:
    converter = JsonConverter()
    envelope = converter.from_data("t", schema, None if schema is None else 0 if schema in (INT8, INT64) else 0.0)
    assert envelope is not None
    prefix = envelope.decode().partition('"payload":')[0]
    assert _read(converter, f'{prefix}"payload":{payload}}}'.encode()) == value
