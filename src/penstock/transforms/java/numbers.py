"""Numbers as Java reads and narrows them. What Java answers with a NumberFormatException is a ``ValueError`` here."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from penstock.api.logical import decimal_to_long, wrap
from penstock.api.text import decimal_to_float32, round_to_float32

_INTEGER = re.compile(r"[+-]?\d+")
_SPECIAL = re.compile(r"[+-]?(NaN|Infinity)")
_DECIMAL = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?", re.ASCII)
_HEX = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?", re.ASCII)
_BIG_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_BLANKS = "".join(map(chr, range(0x21)))


def parse_integer(text: str, bits: int) -> int:
    """Text as an integer of so many bits."""
    if not _INTEGER.fullmatch(text):
        raise ValueError(text)
    number = int(text)
    if wrap(number, bits) != number:
        raise ValueError(text)
    return number


def parse_double(text: str) -> float:
    """Text as a 64-bit float: decimal or hexadecimal, blanks around and a type suffix allowed."""
    literal = _literal(text)
    if "x" not in literal:
        return float(literal)
    try:
        return float.fromhex(literal)
    except OverflowError:
        return -math.inf if literal.startswith("-") else math.inf


def parse_float(text: str) -> float:
    """Text as a 32-bit float, rounded once."""
    double = parse_double(text)
    if not math.isfinite(double) or not double or "x" in _literal(text):
        return round_to_float32(double)
    return decimal_to_float32(Decimal(_literal(text)))


def parse_big_decimal(text: str) -> Decimal:
    """Text as a decimal, without blanks."""
    if not _BIG_DECIMAL.fullmatch(text):
        raise ValueError(text)
    number = Decimal(text)
    return number if number else number.copy_abs()


def to_integer(number: Any, bits: int) -> int:
    """Any number as an integer of so many bits: integers wrap, floats are cut off and stay within bounds."""
    if isinstance(number, float):
        if number != number:
            return 0
        limit = 1 << (max(bits, 32) - 1)
        if not -limit <= number < limit:
            number = limit - 1 if number > 0 else -limit
        return wrap(int(number), bits)
    if isinstance(number, Decimal):
        return wrap(decimal_to_long(number), bits)
    return wrap(int(number), bits)


def to_double(number: Any) -> float:
    """Any number as a 64-bit float."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def to_float(number: Any) -> float:
    """Any number as a 32-bit float, rounded once."""
    return round_to_float32(number) if isinstance(number, float) else decimal_to_float32(number)


def _literal(text: str) -> str:
    """A number without what Java allows around it, in lower case if it is hexadecimal."""
    text = text.strip(_BLANKS)
    if _SPECIAL.fullmatch(text):
        return text
    decimal = _DECIMAL.fullmatch(text)
    if decimal:
        return decimal[1]
    hexadecimal = _HEX.fullmatch(text)
    if not hexadecimal:
        raise ValueError(text)
    return hexadecimal[1].lower()
