"""Parsing text as Java's lenient ``SimpleDateFormat`` does in UTC and English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from operator import mul

from penstock.api.calendar import MILLIS_PER_DAY, gregorian_days
from penstock.api.logical import to_millis, wrap

from .date_pattern import HALVES, MONTHS, WEEKDAYS, Letters, Literal, Token
from .lenient_calendar import Fields, millis_of
from .time_zones import zone_offset

_FIELDS = {
    "d": "DAY_OF_MONTH", "k": "HOUR_OF_DAY", "H": "HOUR_OF_DAY", "m": "MINUTE", "s": "SECOND", "S": "MILLISECOND",
    "D": "DAY_OF_YEAR", "F": "DAY_OF_WEEK_IN_MONTH", "w": "WEEK_OF_YEAR", "W": "WEEK_OF_MONTH", "h": "HOUR",
    "K": "HOUR", "u": "DAY_OF_WEEK", "y": "YEAR", "Y": "WEEK_YEAR", "M": "MONTH", "L": "MONTH",
}  # fmt: skip
_NUMBER = re.compile(r"-?\d+")
_EXPONENT = re.compile(r"E(-?\d+)")
_HOURS_MINUTES = {
    "rfc822": re.compile(r"(\d\d)(\d\d)", re.ASCII),
    "gmt": re.compile(r"(\d\d?):(\d\d)", re.ASCII),
    1: re.compile(r"(\d\d)()", re.ASCII),
    2: re.compile(r"(\d\d)(\d\d)", re.ASCII),
    3: re.compile(r"(\d\d):(\d\d)", re.ASCII),
}


class _Mismatch(Exception):
    """The text does not fit the pattern."""


class DateParser:
    """Reads moments in one pattern."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tuple(tokens)
        now = datetime.now(UTC)
        self._century_start = to_millis(now.replace(year=now.year - 80, day=min(now.day, 28)))
        self._century_year = now.year - 80
        self._plain = _PlainDigits.of(self._tokens)

    def parse(self, text: str) -> int | None:
        """Milliseconds since 1970 of the moment at the beginning of the text, or ``None`` if there is none."""
        quick = self._plain.parse(text) if self._plain is not None else None
        if quick is not None:
            return quick
        try:
            return self._parse(text)
        except _Mismatch:
            return None

    def _parse(self, text: str) -> int:
        fields: Fields = {}
        at = 0
        ambiguous = False
        for place, token in enumerate(self._tokens):
            if isinstance(token, Literal):
                if not text.startswith(token.text, at):
                    raise _Mismatch
                at += len(token.text)
                continue
            following = self._tokens[place + 1] if place + 1 < len(self._tokens) else None
            abutting = isinstance(following, Letters) and following.numeric
            start = at
            at = self._field(fields, text, at, token, abutting)
            if token.letter in "yY" and token.width <= 2:
                ambiguous = self._two_digits(text, start, at, fields, token) or ambiguous
        if at == 0:
            raise _Mismatch
        millis = millis_of(fields)
        if ambiguous and millis < self._century_start:
            later = {name: value + 100 if name in ("YEAR", "WEEK_YEAR") else value for name, value in fields.items()}
            millis = millis_of(later)
        return millis

    def _two_digits(self, text: str, start: int, end: int, fields: Fields, token: Letters) -> bool:
        """Put a year of exactly two digits into the right century; true if even that leaves a doubt."""
        digits = text[start:end].lstrip(" \t")
        if len(digits) != 2 or not digits.isdecimal():
            return False
        name = _FIELDS[token.letter]
        pivot = self._century_year % 100
        value = fields[name]
        century = self._century_year // 100 * 100
        fields[name] = value + century + (100 if value < pivot else 0)
        return value == pivot

    def _field(self, fields: Fields, text: str, start: int, token: Letters, abutting: bool) -> int:
        """Read one field, and say where the text goes on."""
        at = start
        while at < len(text) and text[at] in " \t":
            at += 1
        if at == len(text):
            raise _Mismatch
        if token.numeric:
            end = start + token.width if abutting else len(text)
            if end > len(text):
                raise _Mismatch
            value, at = _number(text, at, end)
            _set(fields, *_adjusted(token.letter, value))
            return at
        if token.letter in "zZ":
            return _zone(fields, text, start, at)
        if token.letter == "X":
            return _iso_zone(fields, text, at, token.width)
        return _name(fields, text, start, token.letter)


def _set(fields: Fields, name: str, value: int) -> None:
    fields.pop(name, None)
    fields[name] = value


def _number(text: str, at: int, end: int) -> tuple[int, int]:
    found = _NUMBER.match(text, at, end)
    if found is None:
        raise _Mismatch
    value = int(found[0])
    exponent = _EXPONENT.match(text, found.end(), end)
    if exponent is None:
        return _java_int(value), found.end()
    power = max(-40, min(40, int(exponent[1])))
    if power >= 0:
        return _java_int(value * 10**power), exponent.end()
    magnitude = abs(value) // 10**-power
    return _java_int(magnitude if value > 0 else -magnitude), exponent.end()


def _java_int(number: int) -> int:
    """Longs wrap to 32 bits; what is too big for a long became a double, which stays within bounds."""
    if wrap(number, 64) == number:
        return wrap(number, 32)
    return 0x7FFFFFFF if number > 0 else -0x80000000


def _adjusted(letter: str, value: int) -> tuple[str, int]:
    """The calendar field for a number, and its value there."""
    if letter in "ML":
        value -= 1
    elif (letter == "k" and value == 24) or (letter == "h" and value == 12):
        value = 0
    elif letter == "u" and 1 <= value <= 7:
        value = value % 7 + 1
    return _FIELDS[letter], value


_NAMES: dict[str, tuple[str, dict[str, int]]] = {
    "E": ("DAY_OF_WEEK", {n.lower(): i for i, full in enumerate(WEEKDAYS, 1) for n in (full, full[:3])}),
    "a": ("AM_PM", {half.lower(): i for i, half in enumerate(HALVES)}),
    "G": ("ERA", {"bc": 0, "before christ": 0, "ad": 1, "anno domini": 1}),
}
_MONTH_NAMES = {n.lower(): i for i, full in enumerate(MONTHS) for n in (full, full[:3])}


def _name(fields: Fields, text: str, start: int, letter: str) -> int:
    """Read the longest name of a month, weekday, half of a day or era that stands here."""
    field, names = _NAMES.get(letter, ("MONTH", _MONTH_NAMES))
    rest = text[start : start + 13].lower()
    best = max((name for name in names if rest.startswith(name)), key=len, default=None)
    if best is None:
        raise _Mismatch
    _set(fields, field, names[best])
    return start + len(best)


def _set_zone(fields: Fields, offset: int, daylight: int = 0) -> None:
    _set(fields, "ZONE_OFFSET", offset)
    _set(fields, "DST_OFFSET", daylight)


def _zone(fields: Fields, text: str, start: int, at: int) -> int:
    """Read ``+0100``, ``GMT``, ``GMT+1:00`` or the name of a zone."""
    if text[at] in "+-":
        return _numeric_zone(fields, text, at, _HOURS_MINUTES["rfc822"])
    if text[start : start + 3].upper() == "GMT":
        at = start + 3
        if text[at : at + 1] in ("+", "-"):
            return _numeric_zone(fields, text, at, _HOURS_MINUTES["gmt"])
        _set_zone(fields, 0)
        return at
    zone = zone_offset(text, at)
    if zone is None:
        raise _Mismatch
    _set_zone(fields, zone.offset, zone.daylight)
    return at + zone.length


def _iso_zone(fields: Fields, text: str, at: int, count: int) -> int:
    """Read ``Z``, ``+01``, ``+0100`` or ``+01:00``, whichever the pattern asks for."""
    if text[at] == "Z":
        _set_zone(fields, 0)
        return at + 1
    if text[at] not in "+-":
        raise _Mismatch
    return _numeric_zone(fields, text, at, _HOURS_MINUTES[count])


def _numeric_zone(fields: Fields, text: str, at: int, form: re.Pattern[str]) -> int:
    found = form.match(text, at + 1)
    if found is None:
        raise _Mismatch
    hours, minutes = int(found[1]), int(found[2] or 0)
    if hours > 23 or minutes > 59:
        raise _Mismatch
    offset = (hours * 60 + minutes) * 60_000
    _set_zone(fields, -offset if text[at] == "-" else offset)
    return found.end()


class _PlainDigits:
    """A quick way for the usual case: digits between separators, nothing before or among them, year 1600 to 9999."""

    def __init__(self, expression: str, letters: Sequence[str]) -> None:
        self._match = re.compile(expression, re.ASCII).match
        self._units = tuple(_PLAIN_UNITS.get(letter, 0) for letter in letters)
        self._date = tuple(letters.index(letter) for letter in "yMd")

    def parse(self, text: str) -> int | None:
        """Milliseconds since 1970, or ``None`` when this is not the usual case."""
        found = self._match(text)
        if found is None:
            return None
        numbers = [*map(int, found.groups())]
        year, month, day = self._date
        clock: int = sum(map(mul, numbers, self._units))
        return gregorian_days(numbers[year], numbers[month], numbers[day]) * MILLIS_PER_DAY + clock

    @classmethod
    def of(cls, tokens: Sequence[Token]) -> _PlainDigits | None:
        """Nothing if the pattern has more than year, month, day and time in digits, or fields without separators."""
        letters = [token.letter for token in tokens if isinstance(token, Letters)]
        distinct = set(letters)
        if not {"y", "M", "d"} <= distinct <= {"y", "M", "d", *_PLAIN_UNITS} or len(distinct) != len(letters):
            return None
        parts: list[str] = []
        for token, following in zip(tokens, [*tokens[1:], None], strict=True):
            if isinstance(token, Literal):
                parts.append(re.escape(token.text))
                continue
            if not token.numeric or isinstance(following, Letters) or (token.letter == "y" and token.width < 3):
                return None
            digits = r"(?:1[6-9]|[2-9]\d)\d\d" if token.letter == "y" else r"\d{1,6}"
            parts.append(rf"({digits})(?![\dE])")
        return cls("".join(parts), letters)


_PLAIN_UNITS = {"H": 3_600_000, "m": 60_000, "s": 1000, "S": 1}
