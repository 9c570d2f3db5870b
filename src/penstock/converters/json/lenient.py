"""A patient JSON parser with Jackson's manners: slow, exact, and without recursion.

It allows leading zeros and anything after the first value, detects UTF-16 and UTF-32, keeps overlong UTF-8 and, in
values alone, lone surrogates that are escaped. It refuses surrogates that are encoded, nesting beyond 1000 and numbers
beyond 1000 characters.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.api.logical import exact_decimal

MAX_DEPTH = 1000
MAX_NUMBER = 1000
MAX_EXPONENT = 2**31 - 1

MISSING = object()
"""There was nothing but white space."""

_MARKS = {
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xff\xfe\x00\x00": "utf-32-le",
    b"\xfe\xff": "utf-16-be",
    b"\xff\xfe": "utf-16-le",
    b"\xef\xbb\xbf": "utf-8",
}
_BLANK = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f\ud800-\udfff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"')
_ESCAPE = re.compile(r"\\(?:u(....)|(.))")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LITERAL = re.compile("true|false|null")
_LITERALS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_WORD_CATEGORIES = {"Sc", "Pc", "Mn", "Mc", "Nl", "Cf", "Cc", "Cs"}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


_ODD_UTF8 = re.compile(
    rb"(?<!\\)(?:[\xc0\xc1][\x80-\xbf]|\xe0[\x80-\x9f][\x80-\xbf]"
    rb"|(?:\xf0[\x80-\x8f]|\xf4[\x90-\xbf]|[\xf5-\xf7][\x80-\xbf])[\x80-\xbf]{2})"
)
"""Bytes of the form of UTF-8 for which there is a shorter form, or which are beyond the last character."""


class JsonError(ValueError):
    """The bytes are no JSON."""


def parse(data: bytes) -> Any:
    """The first JSON value in the bytes, or ``MISSING``."""
    return _Scanner(_text_of(data)).parse()


def _text_of(data: bytes) -> str:
    """Undecodable bytes of UTF-8 become surrogates, which are refused only where they matter."""
    mark = next((mark for mark in _MARKS if data.startswith(mark)), b"") if len(data) >= 4 else b""
    encoding = _MARKS[mark] if mark else _encoding_by_zeros(data[:4])
    data = data[len(mark) :]
    if encoding == "utf-8":
        data = _ODD_UTF8.sub(_escaped_bits, data)
    try:
        return data.decode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")
    except UnicodeDecodeError as error:
        raise JsonError(str(error)) from None


def _escaped_bits(found: re.Match[bytes]) -> bytes:
    """Odd UTF-8 as the escapes of the characters that its bits stand for."""
    first, *rest = found.group()
    code = first & (0x1F, 0x0F, 0x07)[len(rest) - 1]
    for byte in rest:
        code = code << 6 | byte & 0x3F
    if len(rest) < 3:
        return b"\\u%04x" % code
    code -= 0x10000
    return b"\\u%04x\\u%04x" % ((0xD800 | code >> 10) & 0xFFFF, 0xDC00 | code & 0x3FF)


def _encoding_by_zeros(start: bytes) -> str:
    zeros = tuple(byte == 0 for byte in start)
    if zeros == (True, True, True, False):
        return "utf-32-be"
    if zeros == (False, True, True, True):
        return "utf-32-le"
    if zeros[:2] == (True, False):
        return "utf-16-be"
    return "utf-16-le" if zeros[:2] == (False, True) else "utf-8"


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parse(self) -> Any:
        self._skip_blanks()
        if self._at == len(self._text):
            return MISSING
        open_containers: list[Any] = []
        names: list[str] = []
        while True:
            value = self._scalar_or_opening(at_root=not open_containers)
            if isinstance(value, (dict, list)):
                if len(open_containers) == MAX_DEPTH:
                    raise JsonError("nested too deep")
                if not self._take("}" if isinstance(value, dict) else "]"):
                    open_containers.append(value)
                    names.append(self._name() if isinstance(value, dict) else "")
                    continue
            value = self._close(value, open_containers, names)
            if not open_containers:
                return value

    def _close(self, value: Any, open_containers: list[Any], names: list[str]) -> Any:
        """Put a finished value where it belongs, and close what it was the last of."""
        while open_containers:
            parent = open_containers[-1]
            is_object = isinstance(parent, dict)
            if is_object:
                parent[names[-1]] = value
            else:
                parent.append(value)
            if self._take(","):
                if is_object:
                    names[-1] = self._name()
                return value
            if not self._take("}" if is_object else "]"):
                raise JsonError(f"unexpected character at {self._at}")
            value = open_containers.pop()
            names.pop()
        return value

    def _scalar_or_opening(self, at_root: bool) -> Any:
        self._skip_blanks()
        character = self._text[self._at : self._at + 1]
        if character == "{":
            self._at += 1
            return {}
        if character == "[":
            self._at += 1
            return []
        if character == '"':
            return self._string()
        if (literal := _LITERAL.match(self._text, self._at)) is not None:
            return self._literal(literal)
        return self._number(at_root)

    def _literal(self, match: re.Match[str]) -> bool | None:
        self._at = match.end()
        if _continues_word(self._text[self._at : self._at + 1]) or self._text.startswith("\\u", self._at):
            raise JsonError(f"unknown word at {match.start()}")
        return _LITERALS[match.group()]

    def _number(self, at_root: bool) -> int | Decimal:
        match = _NUMBER.match(self._text, self._at)
        if match is None or len(match.group()) > MAX_NUMBER:
            raise JsonError(f"no value at {self._at}")
        self._at = match.end()
        if at_root and self._text[self._at : self._at + 1] not in ("", " ", "\t", "\r", "\n"):
            raise JsonError(f"unexpected character at {self._at}")
        if match.group(1) is None and match.group(2) is None:
            return int(match.group())
        try:
            number = exact_decimal(match.group())
        except InvalidOperation:
            raise JsonError("exponent too large") from None
        if abs(int(number.as_tuple().exponent)) > MAX_EXPONENT:
            raise JsonError("exponent too large")
        return number

    def _name(self) -> str:
        self._skip_blanks()
        name = self._string()
        if _SURROGATE.search(name):
            raise JsonError(f"half a character in the name before {self._at}")
        if not self._take(":"):
            raise JsonError(f"':' missing at {self._at}")
        return name

    def _string(self) -> str:
        match = _STRING.match(self._text, self._at)
        if match is None:
            raise JsonError(f"no string at {self._at}")
        self._at = match.end()
        text = _ESCAPE.sub(_unescape, match.group(1))
        if _SURROGATE.search(text):
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return text

    def _take(self, character: str) -> bool:
        self._skip_blanks()
        if self._text.startswith(character, self._at):
            self._at += 1
            return True
        return False

    def _skip_blanks(self) -> None:
        match = _BLANK.match(self._text, self._at)
        self._at = match.end() if match is not None else self._at


def _continues_word(character: str) -> bool:
    """Whether Java would take the character for a part of an identifier (or it could not be decoded)."""
    if character < "0" or character >= "\uffff":
        return character > "0"
    return character.isalnum() or unicodedata.category(character) in _WORD_CATEGORIES


def _unescape(match: re.Match[str]) -> str:
    code, letter = match.groups()
    return chr(int(code, 16)) if code is not None else _ESCAPES[letter]
