"""Days and dates as Java counts them: Gregorian from 15 October 1582 on, Julian before."""

from __future__ import annotations

MILLIS_PER_DAY = 86_400_000
GREGORIAN_START = -141_427
"""15 October 1582 in days since 1970."""


def gregorian_days(year: int, month: int, day: int) -> int:
    """Days since 1970 of a Gregorian date; month and day may lie outside their usual range."""
    year, month = _carry_months(year, month)
    return _march_days(year, month, day, leap_centuries=True)


def julian_days(year: int, month: int, day: int) -> int:
    """Days since 1970 of a Julian date; month and day may lie outside their usual range."""
    year, month = _carry_months(year, month)
    return _march_days(year, month, day, leap_centuries=False)


def java_days(year: int, month: int, day: int) -> int:
    """Days since 1970 of a date in Java's mixed calendar. Lenient: month 13 is January of the next year."""
    days = gregorian_days(year, month, day)
    return days if days >= GREGORIAN_START else julian_days(year, month, day)


def java_date(days: int) -> tuple[int, int, int]:
    """Year (0 is 1 BC), month and day in Java's mixed calendar."""
    to_days = gregorian_days if days >= GREGORIAN_START else julian_days
    year = 1970 + days * 400 // 146_097
    while to_days(year, 1, 1) > days:
        year -= 1
    while to_days(year + 1, 1, 1) <= days:
        year += 1
    month = 12
    while to_days(year, month, 1) > days:
        month -= 1
    return year, month, days - to_days(year, month, 1) + 1


def _carry_months(year: int, month: int) -> tuple[int, int]:
    carry, index = divmod(month - 1, 12)
    return year + carry, index + 1


def _march_days(year: int, month: int, day: int, leap_centuries: bool) -> int:
    """Count from 1 March, so that the leap day comes last."""
    years = year - (month <= 2)
    months = (month + 9) % 12
    days = 365 * years + years // 4 + (153 * months + 2) // 5 + day - 1
    return days - years // 100 + years // 400 - 719_468 if leap_centuries else days - 719_470
