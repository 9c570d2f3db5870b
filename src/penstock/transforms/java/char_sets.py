"""Sets of characters, as sorted ranges of code points, and the named ones of Java's regular expressions."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

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


def of_chars(text: str) -> Ranges:
    """The characters of a text."""
    return union((ord(c), ord(c)) for c in text)


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


_UPPER, _LOWER, _DIGIT = ((65, 90),), ((97, 122),), ((48, 57),)
_PUNCTUATION = of_chars("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ALNUM = union(_UPPER, _LOWER, _DIGIT)

PREDEFINED: dict[str, Ranges] = {
    "d": _DIGIT,
    "w": union(_ALNUM, of_chars("_")),
    "s": of_chars(" \t\n\x0b\f\r"),
    "h": of_chars(" \t\xa0\u1680\u180e\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))),
    "v": of_chars("\n\x0b\f\r\x85\u2028\u2029"),
}
_NAMED: dict[str, Ranges] = {
    "Lower": _LOWER,
    "Upper": _UPPER,
    "ASCII": ((0, 127),),
    "Alpha": union(_UPPER, _LOWER),
    "Digit": _DIGIT,
    "Alnum": _ALNUM,
    "Punct": _PUNCTUATION,
    "Graph": union(_ALNUM, _PUNCTUATION),
    "Print": union(_ALNUM, _PUNCTUATION, of_chars(" ")),
    "Blank": of_chars(" \t"),
    "Cntrl": union([(0, 31), (127, 127)]),
    "XDigit": union(_DIGIT, [(65, 70), (97, 102)]),
    "Space": PREDEFINED["s"],
}
_ALIASES = {
    "javaLowerCase": "Ll", "javaUpperCase": "Lu", "javaLetter": "L", "javaDigit": "Nd", "javaWhitespace": "Z",
    "Alphabetic": "L", "Letter": "L", "Lowercase": "Ll", "Uppercase": "Lu", "Titlecase": "Lt",
    "Punctuation": "P", "Control": "Cc", "White_Space": "Z", "Assigned": "", "LC": "L",
}  # fmt: skip
CASE_PROPERTIES = frozenset(["Lower", "Upper", "Ll", "Lu", "Lt", "IsLl", "IsLu", "IsLt", "IsLowercase", "IsUppercase"])
"""Properties that take letters of both cases where case does not matter."""
_CATEGORY_LETTERS = frozenset("CLMNPSZ")


def named(name: str) -> Ranges | None:
    """The set that ``\\p{name}`` means, or ``None`` when there is none of this name."""
    if name in _NAMED:
        return _NAMED[name]
    category = name.rpartition("=")[2] if name.startswith(("general_category=", "gc=")) else name
    category = category.removeprefix("Is")
    if category in ("Latin", "LATIN"):
        return _script("LATIN")
    if category in ("Greek", "Cyrillic", "Han", "Hebrew", "Arabic"):
        return _script({"Han": "CJK UNIFIED"}.get(category, category.upper()))
    category = _ALIASES.get(category, category)
    if category and (category[0] not in _CATEGORY_LETTERS or len(category) > 2):
        return None
    return _category(category) or None


@lru_cache(maxsize=64)
def _category(prefix: str) -> Ranges:
    codes = range(0x10000)
    if not prefix:
        return union((c, c) for c in codes if unicodedata.category(chr(c)) != "Cn")
    return union((c, c) for c in codes if unicodedata.category(chr(c)).startswith(prefix))


@lru_cache(maxsize=8)
def _script(prefix: str) -> Ranges:
    return union((c, c) for c in range(0x10000) if unicodedata.name(chr(c), "").startswith(prefix))
