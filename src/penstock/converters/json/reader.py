"""JSON bytes to Python, accepting just what Kafka Connect's reader accepts.

The quick way is msgspec. Whatever it refuses, and the few things it would read differently (integers beyond 64
bits, negative zero, exponents beyond Java's range, deep nesting, endless numbers), goes to :mod:`.lenient`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from ...api.logical import wrap
from .lenient import MAX_DEPTH, MISSING, JsonError, parse

__all__ = ["MISSING", "JsonError", "read_envelope", "read_exact", "read_plain", "to_plain", "with_room"]

_ODD_NUMBER = re.compile(rb"-0[.0]*(?![0-9.])|[0-9]{19}|[eE][+-]?[0-9]{9}")
_HUGE_EXPONENT = re.compile(rb"[eE][+-]?[0-9]{9}")
_QUICK_SIZE = 1000
"""No text of so few bytes is nested too deep or holds too long a number."""

_plain = msgspec.json.Decoder()
_exact = msgspec.json.Decoder(float_hook=Decimal)
_envelope = msgspec.json.Decoder(dict[str, msgspec.Raw])
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

Result = TypeVar("Result")


def read_plain(data: bytes) -> Any:
    """A value without a schema: integers wrapped to 64 bits, other numbers as floats; ``MISSING`` for blank bytes."""
    if len(data) <= _QUICK_SIZE and _ODD_NUMBER.search(data) is None:
        try:
            return _plain.decode(data)
        except _REFUSED:
            pass
    return to_plain(read_exact(data))


def read_exact(data: bytes) -> Any:
    """The JSON tree with all digits: fractions and exponents as :class:`decimal.Decimal`."""
    if not _is_extreme(data):
        try:
            return _exact.decode(data)
        except (*_REFUSED, ArithmeticError):
            pass
    return parse(data)


def read_envelope(data: bytes) -> dict[str, Any] | None:
    """The members of an object as raw bytes, or ``None`` when it takes a closer look."""
    if _is_extreme(data):
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


def with_room(work: Callable[[], Result]) -> Result:
    """Do recursive work, again with a higher recursion limit if that is what it takes."""
    try:
        return work()
    except RecursionError:
        with _raised_recursion_limit():
            return work()


@contextmanager
def _raised_recursion_limit() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _is_extreme(data: bytes) -> bool:
    if _HUGE_EXPONENT.search(data):
        return True
    if len(data) <= _QUICK_SIZE:
        return False
    return data.count(b"[") + data.count(b"{") > MAX_DEPTH or re.search(rb"[0-9]{500}", data) is not None
