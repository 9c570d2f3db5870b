"""Java ``.properties`` files, read as Java reads them.

One difference: Java takes the bytes for Latin-1, so a file saved as UTF-8 (nearly all are) arrives garbled there.
Here UTF-8 is tried first and Latin-1 when the bytes are not UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLANKS = " \t\f"
_SEPARATORS = "=:"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_HEX = frozenset("0123456789abcdefABCDEF")


class PropertiesError(ValueError):
    """The text is not a properties file; the message names the line."""


@dataclass(frozen=True)
class Property:
    """One key and value; ``line`` is where it starts, counted from 1."""

    key: str
    value: str
    line: int


def read_text(path: str | Path) -> str:
    """The text of a configuration file: UTF-8 (a byte order mark is dropped), else Latin-1."""
    raw = Path(path).read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def parse_properties(text: str) -> list[Property]:
    """All properties in order; a key that stands twice is there twice (in Java the last one wins)."""
    return [_property(line, number) for number, line in _logical_lines(text)]


def as_dict(properties: list[Property]) -> dict[str, str]:
    """The last value of every key."""
    return {item.key: item.value for item in properties}


def load_properties(path: str | Path) -> dict[str, str]:
    """The properties of a file as a dictionary."""
    return as_dict(parse_properties(read_text(path)))


def _natural_lines(text: str) -> Iterator[str]:
    """Lines as Java sees them: only CR, LF and CR LF end one (form feeds and unicode separators do not)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1] and not text.endswith("\r\n"):
        lines.pop()  # Java sees the end of the text in the last CR or LF, but not in the LF of CR LF
    return iter(lines)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number of the first natural line, text) of each key and value, comments and blank lines dropped."""
    logical = ""
    start = 0
    continued = False
    for number, natural in enumerate(_natural_lines(text), start=1):
        line = natural.lstrip(_BLANKS)
        if not logical:
            if not line or line[0] in "#!":
                continued = False
                continue
            if not continued:
                start = number
        if _ends_in_continuation(line):
            logical += line[:-1]
            continued = True
            continue
        if logical or line:
            yield start, logical + line
        logical = ""
        continued = False
    if continued:
        yield start, logical


def _ends_in_continuation(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _property(line: str, number: int) -> Property:
    end = _key_end(line)
    rest = line[end:].lstrip(_BLANKS)
    if rest[:1] and rest[0] in _SEPARATORS:
        rest = rest[1:].lstrip(_BLANKS)
    return Property(_unescape(line[:end], number), _unescape(rest, number), number)


def _key_end(line: str) -> int:
    escaped = False
    for index, char in enumerate(line):
        if not escaped and (char in _SEPARATORS or char in _BLANKS):
            return index
        escaped = char == "\\" and not escaped
    return len(line)


def _unescape(text: str, number: int) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    chars = iter(text)
    for char in chars:
        if char != "\\":
            out.append(char)
            continue
        escape = next(chars, "")
        if escape == "u":
            out.append(_code_unit("".join(next(chars, "") for _ in range(4)), number))
        else:
            out.append(_ESCAPES.get(escape, escape))
    return _join_surrogates("".join(out))


def _code_unit(digits: str, number: int) -> str:
    if len(digits) != 4 or not _HEX.issuperset(digits):
        raise PropertiesError(
            f"line {number}: malformed \\uxxxx escape '\\u{digits}': four hexadecimal digits must follow \\u"
            " (write \\\\u for a backslash and a u, for example in a Windows path)"
        )
    return chr(int(digits, 16))


def _join_surrogates(text: str) -> str:
    """Two escaped UTF-16 halves make one character; a lone half becomes the replacement character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
