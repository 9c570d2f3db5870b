"""Formatting milliseconds since 1970 as Java's ``SimpleDateFormat`` does in UTC and English."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock.api.calendar import GREGORIAN_START, MILLIS_PER_DAY, gregorian_days, java_date, julian_days

from .date_pattern import ERAS, HALVES, MONTHS, WEEKDAYS, Letters, Literal, Token


class Day(NamedTuple):
    """What a pattern can say about a day; the year before 1 is 0."""

    year: int
    month: int
    day: int
    weekday: int
    day_of_year: int
    week_year: int
    week_of_year: int
    week_of_month: int
    weekday_in_month: int


def day_of(days: int) -> Day:
    """The day that lies so many days after 1 January 1970. Weeks begin on Sunday, the first one on 1 January."""
    year, month, day = java_date(days)
    weekday = (days + 4) % 7
    new_year = first_day(year, 1)
    next_year = first_day(year + 1, 1)
    week_year, week = year, (days - week_start(new_year)) // 7 + 1
    if days >= week_start(next_year):
        week_year, week = year + 1, 1
    month_start = days - day + 1 if not (year == 1582 and month == 10) else first_day(year, month)
    week_of_month = (days - week_start(month_start)) // 7 + 1
    in_month = (days - month_start) // 7 + 1
    return Day(year, month, day, weekday, days - new_year + 1, week_year, week, week_of_month, in_month)


def first_day(year: int, month: int) -> int:
    """The first day of a month, in days since 1970."""
    days = gregorian_days(year, month, 1)
    return days if days >= GREGORIAN_START else julian_days(year, month, 1)


def week_start(days: int) -> int:
    """The Sunday on or before a day."""
    return days - (days + 4) % 7


_DayText = Callable[[Day], str]
_Clock = Callable[[int], int | str]
"""A number or word for the milliseconds since midnight."""


class DateFormatter:
    """Writes moments in one pattern. Remembers the last day, since moments tend to come close together."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._parts: list[_DayText] = []
        clocks: list[_Clock] = []
        for token in tokens:
            if isinstance(token, Letters) and token.letter in _CLOCKS:
                clocks.append(_CLOCKS[token.letter])
                self._parts.append(_constant("%s" if token.letter == "a" else f"%0{token.width}d"))
            else:
                self._parts.append(_escaped(_day_text(token)))
        self._clocks = tuple(clocks)
        self._days: int | None = None
        self._template = ""

    def format(self, millis: int) -> str:
        """A moment, given in milliseconds since 1970, as text."""
        days, rest = divmod(millis, MILLIS_PER_DAY)
        if days != self._days:
            day = day_of(days)
            self._template = "".join([part(day) for part in self._parts])
            self._days = days
        return self._template % tuple([clock(rest) for clock in self._clocks])


def _constant(text: str) -> _DayText:
    return lambda day: text


def _escaped(part: _DayText) -> _DayText:
    return lambda day: part(day).replace("%", "%%")


def _day_text(token: Token) -> _DayText:
    if isinstance(token, Literal):
        return _constant(token.text)
    letter, width = token
    if letter in "ML" and width >= 3:
        return lambda day: _name(MONTHS[day.month - 1], width)
    if letter == "E":
        return lambda day: _name(WEEKDAYS[day.weekday], width)
    if letter == "y":
        return lambda day: _year(day.year if day.year > 0 else 1 - day.year, width)
    if letter == "Y":
        return lambda day: _year(day.week_year, width)
    if letter == "G":
        return lambda day: ERAS[day.year > 0]
    zone = {"Z": "+0000", "X": "Z", "z": "UTC" if width < 4 else "Coordinated Universal Time"}.get(letter)
    if zone is not None:
        return _constant(zone)
    number = _NUMBERS[letter]
    return lambda day: str(number(day)).zfill(width)


def _name(full: str, width: int) -> str:
    return full if width >= 4 else full[:3]


def _year(year: int, width: int) -> str:
    """At least so many digits; a width of two also means at most two."""
    digits = str(abs(year)).zfill(width)
    return ("-" if year < 0 else "") + (digits[-2:] if width == 2 else digits)


_NUMBERS: dict[str, Callable[[Day], int]] = {
    "M": lambda day: day.month,
    "L": lambda day: day.month,
    "d": lambda day: day.day,
    "D": lambda day: day.day_of_year,
    "F": lambda day: day.weekday_in_month,
    "w": lambda day: day.week_of_year,
    "W": lambda day: day.week_of_month,
    "u": lambda day: day.weekday or 7,
}
_CLOCKS: dict[str, _Clock] = {
    "H": lambda rest: rest // 3_600_000,
    "k": lambda rest: rest // 3_600_000 or 24,
    "K": lambda rest: rest // 3_600_000 % 12,
    "h": lambda rest: rest // 3_600_000 % 12 or 12,
    "m": lambda rest: rest // 60_000 % 60,
    "s": lambda rest: rest // 1000 % 60,
    "S": lambda rest: rest % 1000,
    "a": lambda rest: HALVES[rest // 43_200_000],
}
