"""JSON bytes to Python, accepting just what Kafka Connect's reader accepts.

The quick way is msgspec. Whatever it refuses, and the few things it would read differently (integers beyond 64
bits, negative zero, exponents beyond Java's range, deep nesting, endless numbers), goes to :mod:`.lenient`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import msgspec

from penstock.api.logical import exact_decimal, wrap

from .lenient import MAX_DEPTH, MAX_EXPONENT, MISSING, JsonError, parse

__all__ = ["MISSING", "JsonError", "read_envelope", "read_exact", "read_plain", "to_plain"]

_ODD_ZERO = re.compile(rb"-0[.0]*(?![0-9.])|[eE]-[0-9]{9}")
_LONG_NUMBER = re.compile(rb"[0-9]{500}")
_SMALLEST_LONG, _LARGEST_LONG = -(2**63), 2**63 - 1
_QUICK_SIZE = 1000
"""No text of so few bytes is nested too deep or holds too long a number."""


def _exact_number(text: str) -> Decimal:
    number = exact_decimal(text)
    if ("e" in text or "E" in text) and abs(int(number.as_tuple().exponent)) > MAX_EXPONENT:
        raise ArithmeticError("exponent too large")
    return number


_plain = msgspec.json.Decoder()
_exact = msgspec.json.Decoder(float_hook=_exact_number)
_envelope = msgspec.json.Decoder(dict[str, msgspec.Raw])
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, ArithmeticError, RecursionError)


def read_plain(data: bytes) -> Any:
    """A value without a schema: integers wrapped to 64 bits, other numbers as floats; ``MISSING`` for blank bytes."""
    if len(data) <= _QUICK_SIZE or not _is_extreme(data):
        try:
            value = _plain.decode(data)
        except _REFUSED:
            pass
        else:
            if not _may_be_odd(value) or (_ODD_ZERO.search(data) is None and not _has_big_integer(value)):
                return value
    return to_plain(read_exact(data))


def read_exact(data: bytes) -> Any:
    """The JSON tree with all digits: fractions and exponents as :class:`decimal.Decimal`."""
    if len(data) <= _QUICK_SIZE or not _is_extreme(data):
        try:
            return _exact.decode(data)
        except _REFUSED:
            pass
    return parse(data)


def read_envelope(data: bytes) -> dict[str, msgspec.Raw] | None:
    """The members of an object as raw bytes, or ``None`` when it takes a closer look."""
    if len(data) > _QUICK_SIZE and _is_extreme(data):
        return None
    try:
        return _envelope.decode(data)
    except _REFUSED:
        return None


def to_plain(node: Any) -> Any:
    """An exact tree as values without a schema."""
    if isinstance(node, dict):
        return {name: to_plain(member) for name, member in node.items()}
    if isinstance(node, list):
        return [to_plain(item) for item in node]
    if isinstance(node, Decimal):
        return float(node) if node else 0.0
    return wrap(node, 64) if type(node) is int else node


def _may_be_odd(value: Any) -> bool:
    """Whether a number in there may differ from what Java reads: zero with a sign, or an integer of over 64 bits."""
    kind = type(value)
    for item in value.values() if kind is dict else value if kind is list else (value,):
        kind = type(item)
        if kind is str or kind is bool or item is None:
            continue
        if kind is int:
            if not _SMALLEST_LONG <= item <= _LARGEST_LONG:
                return True
        elif kind is float:
            if item == 0.0:
                return True
        elif _may_be_odd(item):
            return True
    return False


def _has_big_integer(value: Any) -> bool:
    if type(value) is dict:
        return any(map(_has_big_integer, value.values()))
    if type(value) is list:
        return any(map(_has_big_integer, value))
    return type(value) is int and not _SMALLEST_LONG <= value <= _LARGEST_LONG


def _is_extreme(data: bytes) -> bool:
    return data.count(b"[") + data.count(b"{") > MAX_DEPTH or _LONG_NUMBER.search(data) is not None
