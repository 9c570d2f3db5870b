"""The named sets of characters in Java's regular expressions: what ``\\p{name}`` means.

General categories come from Python's Unicode tables, which may be newer or older than those of the Java compared with.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import groupby

from .char_sets import LAST, Ranges, complement, intersection, of_chars, of_codes, union
from .char_tables import ALPHABETIC_BEYOND_LETTERS, BLOCKS, IDEOGRAPHIC, SCRIPTS

_UPPER, _LOWER, _DIGIT = ((65, 90),), ((97, 122),), ((48, 57),)
_ALPHA = union(_UPPER, _LOWER)
_ALNUM = union(_ALPHA, _DIGIT)
_PUNCTUATION = of_chars("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_BLANKS = of_chars(" \t\n\x0b\f\r")

PREDEFINED: dict[str, Ranges] = {
    "d": _DIGIT,
    "w": union(_ALNUM, of_chars("_")),
    "s": _BLANKS,
    "h": of_chars(" \t\xa0\u1680\u180e\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))),
    "v": of_chars("\n\x0b\f\r\x85\u2028\u2029"),
}
"""What a backslash and one of these letters mean; the capital letter means all other characters."""

UNICODE_PREDEFINED = {"d": "DIGIT", "w": "WORD", "s": "WHITE_SPACE"}
"""Which Unicode property takes the place of the letter under ``(?U)``."""

_ASCII: dict[str, Ranges] = {
    "Lower": _LOWER,
    "Upper": _UPPER,
    "ASCII": ((0, 127),),
    "Alpha": _ALPHA,
    "Digit": _DIGIT,
    "Alnum": _ALNUM,
    "Punct": _PUNCTUATION,
    "Graph": union(_ALNUM, _PUNCTUATION),
    "Print": union(_ALNUM, _PUNCTUATION, of_chars(" ")),
    "Blank": of_chars(" \t"),
    "Cntrl": ((0, 31), (127, 127)),
    "XDigit": union(_DIGIT, [(65, 70), (97, 102)]),
    "Space": _BLANKS,
    "L1": ((0, 255),),
    "all": ((0, LAST),),
}
_CATEGORY = re.compile("C[cfnos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?")
_OF_ONE_CASE = frozenset(["Lu", "Ll", "Lt", "LOWERCASE", "UPPERCASE", "TITLECASE"])
"""Properties that mean letters of all three cases where case does not matter."""
_POSIX = frozenset(
    ["ALPHA", "LOWER", "UPPER", "SPACE", "PUNCT", "XDIGIT", "ALNUM", "CNTRL", "DIGIT", "BLANK", "GRAPH", "PRINT"]
)
_ALIASES = {
    "ALPHA": "ALPHABETIC",
    "LOWER": "LOWERCASE",
    "UPPER": "UPPERCASE",
    "SPACE": "WHITE_SPACE",
    "PUNCT": "PUNCTUATION",
    "XDIGIT": "HEX_DIGIT",
    "CNTRL": "CONTROL",
    "WHITESPACE": "WHITE_SPACE",
    "HEXDIGIT": "HEX_DIGIT",
    "NONCHARACTERCODEPOINT": "NONCHARACTER_CODE_POINT",
    "JOINCONTROL": "JOIN_CONTROL",
}
_JAVA_METHODS = {
    "javaLowerCase": "LOWERCASE",
    "javaUpperCase": "UPPERCASE",
    "javaTitleCase": "TITLECASE",
    "javaAlphabetic": "ALPHABETIC",
    "javaIdeographic": "IDEOGRAPHIC",
    "javaDigit": "DIGIT",
    "javaDefined": "ASSIGNED",
    "javaLetter": "LETTER",
    "javaISOControl": "CONTROL",
}


def named(name: str, any_case: bool = False, unicode: bool = False) -> Ranges | None:
    """The set that ``\\p{name}`` means, or ``None`` when no set of this name is known here.

    ``any_case`` is the flag ``i``, ``unicode`` the flag ``U``.
    """
    kind, equals, value = name.partition("=")
    if equals:
        if kind.lower() in ("sc", "script"):
            return _script(value)
        if kind.lower() in ("blk", "block"):
            return _block(value)
        return _property(value, any_case) if kind.lower() in ("gc", "general_category") else None
    if name.startswith("In"):
        return _block(name[2:])
    if name.startswith("Is"):
        short = name[2:]
        return unicode_property(short, any_case) or _property(short, any_case) or _script(short)
    if unicode and name.upper() in _POSIX:
        return unicode_property(name, any_case)
    return _property(name, any_case)


def unicode_property(name: str, any_case: bool = False) -> Ranges | None:
    """A binary property of Unicode, in letters of any case."""
    name = _ALIASES.get(name.upper(), name.upper())
    if name not in _UNICODE:
        return None
    return _cased() if any_case and name in _OF_ONE_CASE else _UNICODE[name]()


def char_named(name: str) -> str | None:
    """The character of a Unicode name, or ``None`` when Python knows none or calls it otherwise first."""
    try:
        char = unicodedata.lookup(name)
    except KeyError:
        return None
    return char if len(char) == 1 and unicodedata.name(char, "") == name.upper() else None


def way_out(name: str) -> str:
    """What to write instead of a script or block that only Java knows."""
    if not name.startswith(("Is", "In", "script=", "sc=", "block=", "blk=")):
        return ""
    return " (not every script and block of Java is known here: write its ranges instead, such as [\\u0530-\\u058f])"


def _property(name: str, any_case: bool) -> Ranges | None:
    """A general category, a class of ASCII characters, or a method of ``java.lang.Character``."""
    if name in _ASCII:
        return _ALPHA if any_case and name in ("Lower", "Upper") else _ASCII[name]
    if _CATEGORY.fullmatch(name):
        return _category("Lu", "Ll", "Lt") if any_case and name in _OF_ONE_CASE else _category(name)
    if name in _JAVA_METHODS:
        return unicode_property(_JAVA_METHODS[name], any_case)
    return _OTHERS[name]() if name in _OTHERS else None


def _script(name: str) -> Ranges | None:
    return next((_table(text) for names, text in SCRIPTS.items() if name.lower() in names), None)


def _block(name: str) -> Ranges | None:
    for known, text in BLOCKS.items():
        identifier = known.replace(" ", "_").replace("-", "_")
        if name.lower() in (known, known.replace(" ", ""), identifier):
            return _table(text)
    return None


@lru_cache(maxsize=1)
def _categories() -> Mapping[str, Ranges]:
    """The characters of each general category, by its two letters."""
    found: dict[str, list[tuple[int, int]]] = {}
    start = 0
    for category, run in groupby(map(unicodedata.category, map(chr, range(LAST + 1)))):
        end = start + sum(1 for _ in run)
        found.setdefault(category, []).append((start, end - 1))
        start = end
    return {category: tuple(ranges) for category, ranges in found.items()}


@lru_cache(maxsize=64)
def _category(*prefixes: str) -> Ranges:
    return union(*(ranges for category, ranges in _categories().items() if category.startswith(prefixes)))


@lru_cache(maxsize=4)
def _chars(test: Callable[[str], bool | int]) -> Ranges:
    return of_codes(code for code in range(LAST + 1) if test(chr(code)))


@lru_cache(maxsize=32)
def _table(text: str) -> Ranges:
    pairs = (item.partition("-") for item in text.split())
    return tuple((int(low, 16), int(high or low, 16)) for low, _, high in pairs)


def _without(ranges: Ranges, *others: Ranges) -> Ranges:
    return intersection(ranges, complement(union(*others)))


def _cased() -> Ranges:
    return union(_chars(str.islower), _chars(str.isupper), _category("Lt"))


def _alphabetic() -> Ranges:
    return union(_category("L", "Nl"), _table(ALPHABETIC_BEYOND_LETTERS))


def _blank() -> Ranges:
    return union(_category("Zs"), of_chars("\t"))


def _graph() -> Ranges:
    return complement(_category("Z", "Cc", "Cs", "Cn"))


def _white_space() -> Ranges:
    return union(_category("Z"), ((9, 13),), of_chars("\x85"))


_JOIN_CONTROL = ((0x200C, 0x200D),)
_HEX_LETTERS = ((65, 70), (97, 102), (0xFF21, 0xFF26), (0xFF41, 0xFF46))
_NO_CHARACTERS = union([(0xFDD0, 0xFDEF)], ((plane + 0xFFFE, plane + 0xFFFF) for plane in range(0, LAST, 0x10000)))

_UNICODE: dict[str, Callable[[], Ranges]] = {
    "ALPHABETIC": _alphabetic,
    "LETTER": lambda: _category("L"),
    "IDEOGRAPHIC": lambda: _table(IDEOGRAPHIC),
    "LOWERCASE": lambda: _chars(str.islower),
    "UPPERCASE": lambda: _chars(str.isupper),
    "TITLECASE": lambda: _category("Lt"),
    "WHITE_SPACE": _white_space,
    "CONTROL": lambda: _category("Cc"),
    "PUNCTUATION": lambda: _category("P"),
    "HEX_DIGIT": lambda: union(_category("Nd"), _HEX_LETTERS),
    "ASSIGNED": lambda: complement(_category("Cn")),
    "NONCHARACTER_CODE_POINT": lambda: _NO_CHARACTERS,
    "DIGIT": lambda: _category("Nd"),
    "ALNUM": lambda: union(_alphabetic(), _category("Nd")),
    "BLANK": _blank,
    "GRAPH": _graph,
    "PRINT": lambda: _without(union(_graph(), _blank()), _category("Cc")),
    "WORD": lambda: union(_alphabetic(), _category("M", "Nd", "Pc"), _JOIN_CONTROL),
    "JOIN_CONTROL": lambda: _JOIN_CONTROL,
}
_OTHERS: dict[str, Callable[[], Ranges]] = {
    "LC": lambda: _category("Lu", "Ll", "Lt"),
    "LD": lambda: _category("L", "Nd"),
    "javaLetterOrDigit": lambda: _category("L", "Nd"),
    "javaSpaceChar": lambda: _category("Z"),
    "javaWhitespace": lambda: union(_without(_category("Z"), of_chars("\xa0\u2007\u202f")), ((9, 13), (0x1C, 0x1F))),
    "javaMirrored": lambda: _chars(unicodedata.mirrored),
}
