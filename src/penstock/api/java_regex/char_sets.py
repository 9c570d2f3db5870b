"""Sets of characters, as sorted ranges of code points."""

from __future__ import annotations

from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
LINE_ENDS = "\n\r\x85\u2028\u2029"


def union(*sets: Iterable[tuple[int, int]]) -> Ranges:
    """All characters of all sets."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pair for ranges in sets for pair in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """All characters but these."""
    result: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if start < low:
            result.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        result.append((start, LAST))
    return tuple(result)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """The characters of both sets."""
    return complement(union(complement(left), complement(right)))


def of_codes(codes: Iterable[int]) -> Ranges:
    """The characters of some code points."""
    return union((code, code) for code in codes)


def of_chars(text: str) -> Ranges:
    """The characters of a text."""
    return of_codes(map(ord, text))


def either_case(ranges: Ranges) -> Ranges:
    """The set with the other case of its ASCII letters."""
    upper = intersection(ranges, ((65, 90),))
    lower = intersection(ranges, ((97, 122),))
    return union(ranges, ((a + 32, b + 32) for a, b in upper), ((a - 32, b - 32) for a, b in lower))


def to_regex(ranges: Ranges) -> str:
    """A set for Python's ``re``."""
    if not ranges:
        return "(?!)"
    return "[" + "".join(_escape(a) if a == b else f"{_escape(a)}-{_escape(b)}" for a, b in ranges) + "]"


def _escape(code: int) -> str:
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return chr(code) if chr(code).isalnum() and code < 128 else f"\\u{code:04x}"
