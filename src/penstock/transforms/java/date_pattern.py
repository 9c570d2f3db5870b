"""Patterns of Java's ``SimpleDateFormat``: letters for fields, everything else as it stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

_LETTERS = frozenset("GyMdkHmsSEDFwWahKzZYuXL")
_NUMERIC = frozenset("yYdkHmsSDFwWhKu")

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
ERAS = ("BC", "AD")
HALVES = ("AM", "PM")


class DatePatternError(ValueError):
    """The text is no pattern; says why in Java's words."""


class Literal(NamedTuple):
    """Text that stands for itself."""

    text: str


class Letters(NamedTuple):
    """A field and how often its letter is repeated."""

    letter: str
    width: int

    @property
    def numeric(self) -> bool:
        """Whether the field is written in digits only."""
        return self.letter in _NUMERIC or (self.letter in "ML" and self.width <= 2)


Token = Literal | Letters


def parse_pattern(pattern: str) -> tuple[Token, ...]:
    """The parts of a pattern. Quotes wrap text that has letters; two of them are one."""
    tokens: list[Token] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "'":
            text, at = _quoted(pattern, at + 1)
            _add_text(tokens, text)
        elif char.isascii() and char.isalpha():
            end = at
            while end < len(pattern) and pattern[end] == char:
                end += 1
            tokens.append(_field(char, end - at))
            at = end
        else:
            _add_text(tokens, char)
            at += 1
    return tuple(tokens)


def shortest_period(tokens: Iterable[Token]) -> int:
    """So many milliseconds at least, from any multiple of it on, are written in the same way (in UTC)."""
    letters = {token.letter for token in tokens if isinstance(token, Letters)}
    for finer, millis in (("S", 1), ("s", 1000), ("m", 60_000), ("HkKha", 3_600_000)):
        if letters & set(finer):
            return millis
    return 86_400_000


def _quoted(pattern: str, at: int) -> tuple[str, int]:
    """The text of a quotation that begins before ``at``, and where the pattern goes on."""
    if pattern.startswith("'", at):
        return "'", at + 1
    text = ""
    while True:
        end = pattern.find("'", at)
        if end < 0:
            raise DatePatternError("Unterminated quote")
        text += pattern[at:end]
        if not pattern.startswith("''", end):
            return text, end + 1
        text += "'"
        at = end + 2


def _add_text(tokens: list[Token], text: str) -> None:
    if tokens and isinstance(tokens[-1], Literal):
        text = tokens.pop()[0] + text
    tokens.append(Literal(text))


def _field(letter: str, count: int) -> Letters:
    if letter not in _LETTERS:
        raise DatePatternError(f"Illegal pattern character '{letter}'")
    if letter == "X" and count > 3:
        raise DatePatternError(f"invalid ISO 8601 format: length={count}")
    return Letters(letter, count)
