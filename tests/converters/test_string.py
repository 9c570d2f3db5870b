"""Encodings of the string converter."""

from __future__ import annotations

import pytest

from penstock.converters import StringConverter
from penstock.converters.string import UnsupportedEncodingError


def _converter(encoding: str) -> StringConverter:
    converter = StringConverter()
    converter.configure({"converter.encoding": encoding})
    return converter


@pytest.mark.parametrize(
    ("encoding", "text", "data"),
    [
        ("UTF-16", "é", b"\xfe\xff\x00\xe9"),
        ("UTF-16", "", b""),
        ("UTF-16LE", "é", b"\xe9\x00"),
        ("UTF-32", "é", b"\x00\x00\x00\xe9"),
        ("ISO-8859-1", "é", b"\xe9"),
        ("windows-1252", "€", b"\x80"),
        ("US-ASCII", "a", b"a"),
    ],
)
def test_writes_and_reads_java_encodings(encoding: str, text: str, data: bytes) -> None:
    converter = _converter(encoding)
    assert converter.from_data("t", None, text) == data
    assert converter.to_data("t", data)[1] == text


def test_a_byte_order_mark_decides() -> None:
    assert _converter("UTF-16").to_data("t", b"\xff\xfe\xe9\x00")[1] == "é"


def test_what_an_encoding_lacks_becomes_a_question_mark() -> None:
    assert _converter("US-ASCII").from_data("t", None, "é") == b"?"
    assert StringConverter().from_data("t", None, "\ud800") == b"?"


@pytest.mark.parametrize("encoding", ["no-such", "rot13", "hex", ""])
def test_unknown_encodings_are_named(encoding: str) -> None:
    with pytest.raises(UnsupportedEncodingError, match=f"^Unsupported encoding {encoding}$"):
        _converter(encoding)
