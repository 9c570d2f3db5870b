"""Formatting milliseconds since 1970 as Java's ``SimpleDateFormat`` does in UTC and English."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock.api.calendar import GREGORIAN_START, MILLIS_PER_DAY, gregorian_days, java_date, julian_days

from .java_date_pattern import ERAS, HALVES, MONTHS, WEEKDAYS, Letters, Literal, Token


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
    return Day(year, month, day, weekday, days - new_year + 1, week_year, week, week_of_month)


def first_day(year: int, month: int) -> int:
    """The first day of a month, in days since 1970."""
    days = gregorian_days(year, month, 1)
    return days if days >= GREGORIAN_START else julian_days(year, month, 1)


def week_start(days: int) -> int:
    """The Sunday on or before a day."""
    return days - (days + 4) % 7


_Part = Callable[[Day, int], str]
"""The text of one part of a pattern, from the day and the milliseconds within it."""


class DateFormatter:
    """Writes moments in one pattern. Remembers the last day, since moments tend to come close together."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._parts = tuple(map(_part, tokens))
        self._daily = all(isinstance(t, Literal) or t.letter not in "kHmsSahK" for t in tokens)
        self._days: int | None = None
        self._day: Day
        self._text = ""

    def format(self, millis: int) -> str:
        """A moment, given in milliseconds since 1970, as text."""
        days, rest = divmod(millis, MILLIS_PER_DAY)
        if days != self._days:
            self._day = day_of(days)
            self._days = days
            if self._daily:
                self._text = self._join(0)
        return self._text if self._daily else self._join(rest)

    def _join(self, rest: int) -> str:
        day = self._day
        return "".join([part(day, rest) for part in self._parts])


def _part(token: Token) -> _Part:
    if isinstance(token, Literal):
        text = token.text
        return lambda day, rest: text
    if token.letter in "ML" and token.width >= 3:
        return _name(lambda day: MONTHS[day.month - 1], token)
    if token.letter == "E":
        return _name(lambda day: WEEKDAYS[day.weekday], token)
    if token.letter in "yY":
        return _year(token)
    fixed = {"Z": "+0000", "X": "Z", "z": "UTC" if token.width < 4 else "Coordinated Universal Time"}.get(token.letter)
    if fixed is not None:
        return lambda day, rest: fixed
    if token.letter == "G":
        return lambda day, rest: ERAS[day.year > 0]
    if token.letter == "a":
        return lambda day, rest: HALVES[rest // 43_200_000]
    number, count = _NUMBERS[token.letter], token.width
    return lambda day, rest: str(number(day, rest)).zfill(count)


def _name(name: Callable[[Day], str], token: Letters) -> _Part:
    if token.width >= 4:
        return lambda day, rest: name(day)
    return lambda day, rest: name(day)[:3]


def _year(token: Letters) -> _Part:
    of_era: Callable[[Day], int] = (
        (lambda day: day.week_year) if token.letter == "Y" else (lambda day: day.year if day.year > 0 else 1 - day.year)
    )
    count = token.width
    if count == 2:
        return lambda day, rest: f"{of_era(day) % 100:02}"
    return lambda day, rest: _padded(of_era(day), count)


def _padded(number: int, count: int) -> str:
    return str(number).zfill(count) if number >= 0 else f"-{str(-number).zfill(count)}"


_NUMBERS: dict[str, Callable[[Day, int], int]] = {
    "M": lambda day, rest: day.month,
    "L": lambda day, rest: day.month,
    "d": lambda day, rest: day.day,
    "D": lambda day, rest: day.day_of_year,
    "F": lambda day, rest: (day.day - 1) // 7 + 1,
    "w": lambda day, rest: day.week_of_year,
    "W": lambda day, rest: day.week_of_month,
    "u": lambda day, rest: day.weekday or 7,
    "H": lambda day, rest: rest // 3_600_000,
    "k": lambda day, rest: rest // 3_600_000 or 24,
    "K": lambda day, rest: rest // 3_600_000 % 12,
    "h": lambda day, rest: rest // 3_600_000 % 12 or 12,
    "m": lambda day, rest: rest // 60_000 % 60,
    "s": lambda day, rest: rest // 1000 % 60,
    "S": lambda day, rest: rest % 1000,
}
