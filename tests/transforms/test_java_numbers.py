"""Numbers read and narrowed as Java does it."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import pytest

from penstock.transforms.java.hash_order import hash_map_order
from penstock.transforms.java.numbers import (
    parse_big_decimal,
    parse_double,
    parse_float,
    parse_integer,
    to_float,
    to_integer,
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (" 1.5 ", 1.5), ("1d", 1.0), (".5F", 0.5), ("5.", 5.0), ("0x1p3", 8.0), ("0X1.8P-1", 0.75),
        ("-Infinity", -math.inf), ("1e400", math.inf), ("1e-400", 0.0), ("1e99999999999", math.inf),
    ],
)  # fmt: skip
def test_doubles_are_read(text: str, number: float) -> None:
    assert parse_double(text) == number


@pytest.mark.parametrize("text", ["", ".", "1e", "inf", "nan", "1_0", "0x1", "1 2", "\u0661"])
def test_other_texts_are_no_doubles(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        parse_double(text)


@pytest.mark.parametrize("text", ["", "+", " 1", "1.5", "1_0", "128", "-129", "0x1"])
def test_other_texts_are_no_bytes(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        parse_integer(text, 8)


def test_floats_are_rounded_once() -> None:
    just_above_half = "1.00000017881393432617187501"
    assert parse_float(just_above_half) == 1.0000002384185791
    assert to_float(9007199791611905) == 9007200328482816.0
    assert parse_float("1e39") == math.inf


@pytest.mark.parametrize(
    ("number", "bits", "result"),
    [
        (300, 8, 44), (1 << 63, 64, -(1 << 63)), (1e20, 64, (1 << 63) - 1), (-1e20, 32, -(1 << 31)), (1e10, 8, -1),
        (math.nan, 32, 0), (-0.9, 16, 0), (Decimal("571.95"), 32, 571), (Decimal(1 << 64), 64, 0), (True, 8, 1),
    ],
)  # fmt: skip
def test_integers_wrap_and_floats_stay_within_bounds(number: float | Decimal, bits: int, result: int) -> None:
    assert to_integer(number, bits) == result


def test_a_negative_zero_is_no_decimal() -> None:
    assert str(parse_big_decimal("-0.00")) == "0.00"


def test_keys_come_in_the_order_of_a_hash_map() -> None:
    assert hash_map_order(["b", "a", "name", "id"]) == ["a", "b", "name", "id"]
    many = "zeta alpha order_id created customer é 日本 x1 x2 x3 x4 x5 x6 x7"
    ordered = "zeta created é 日本 alpha x1 x2 x3 x4 order_id x5 x6 customer x7"
    assert " ".join(hash_map_order(many.split())) == ordered
