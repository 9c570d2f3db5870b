"""From calendar fields that a text happened to have to a moment, the way Java's lenient calendar does it.

Fields are kept in the order in which they were set, because the latest one wins where they contradict each other.
Anything out of range carries over: month 13 is January of the next year, hour 25 is 1 o'clock of the next day.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.api.calendar import GREGORIAN_START, MILLIS_PER_DAY, gregorian_days, julian_days
from penstock.api.logical import wrap

from .date_format import day_of, week_start

Fields = dict[str, int]
"""By names such as YEAR and DAY_OF_MONTH; MONTH counts from 0, DAY_OF_WEEK from 1 for Sunday, ERA is 0 for BC."""

_CUTOVER_YEAR = 1582
_ToDays = Callable[[int, int, int], int]


def millis_of(fields: Fields) -> int:
    """Milliseconds since 1970 of what the fields say."""
    chosen = _with_week_date(fields)
    day, rest = divmod(_time_of_day(chosen), MILLIS_PER_DAY)
    year = chosen.get("YEAR", 1970)
    if chosen.get("ERA") == 0:
        year = 1 - year
    millis = (_days(chosen, year, day)) * MILLIS_PER_DAY + rest
    return wrap(millis - chosen.get("ZONE_OFFSET", 0) - chosen.get("DST_OFFSET", 0), 64)


def _with_week_date(fields: Fields) -> Fields:
    """Year, month and day in place of a week year, if that was set after the year."""
    order = list(fields)
    if "WEEK_YEAR" not in fields or ("YEAR" in fields and order.index("YEAR") > order.index("WEEK_YEAR")):
        return fields
    week = fields.get("WEEK_OF_YEAR", 1)
    weekday = fields.get("DAY_OF_WEEK", 1)
    if weekday >= 8:
        weekday -= 1
        week, weekday = week + weekday // 7, weekday % 7 + 1
        weekday = _calendar_weekday(weekday)
    elif weekday <= 0:
        while weekday <= 0:
            weekday, week = weekday + 7, week - 1
        weekday = _calendar_weekday(weekday)
    start = week_start(_new_year(fields["WEEK_YEAR"]))
    day = day_of(start + 7 * (week - 1) + weekday - 1)
    rest = {name: value for name, value in fields.items() if name not in ("ERA", "YEAR", "MONTH", "DAY_OF_MONTH")}
    year = day.year if day.year > 0 else 1 - day.year
    return {**rest, "ERA": int(day.year > 0), "YEAR": year, "MONTH": day.month - 1, "DAY_OF_MONTH": day.day}


def _calendar_weekday(iso: int) -> int:
    return 1 if iso == 7 else iso + 1


def _new_year(year: int) -> int:
    to_days = gregorian_days if year > _CUTOVER_YEAR else julian_days
    return to_days(year, 1, 1)


def _time_of_day(fields: Fields) -> int:
    hour = fields["HOUR_OF_DAY"] if _uses_hour_of_day(fields) else fields.get("HOUR", 0) + 12 * fields.get("AM_PM", 0)
    minute = hour * 60 + fields.get("MINUTE", 0)
    return (minute * 60 + fields.get("SECOND", 0)) * 1000 + fields.get("MILLISECOND", 0)


def _uses_hour_of_day(fields: Fields) -> bool:
    stamp = _stamps(fields)
    half_day = _aggregate(stamp["HOUR"], stamp["AM_PM"])
    return stamp["HOUR_OF_DAY"] > 0 and stamp["HOUR_OF_DAY"] >= half_day


class _Chosen(NamedTuple):
    """Which fields say what day of the year it is."""

    by_month: bool
    field: str
    weekday: bool


class _Stamps(dict[str, int]):
    def __missing__(self, name: str) -> int:
        return 0


def _stamps(fields: Fields) -> _Stamps:
    return _Stamps((name, place) for place, name in enumerate(fields, 1))


def _aggregate(one: int, other: int) -> int:
    return max(one, other) if one and other else 0


def _choose(fields: Fields) -> _Chosen:
    stamp = _stamps(fields)
    weekday = stamp["DAY_OF_WEEK"]
    day_of_month = stamp["DAY_OF_MONTH"]
    of_month = _aggregate(stamp["WEEK_OF_MONTH"], weekday)
    in_month = _aggregate(stamp["DAY_OF_WEEK_IN_MONTH"], weekday)
    of_year = _aggregate(stamp["WEEK_OF_YEAR"], weekday)
    best = max(day_of_month, of_month, in_month, stamp["DAY_OF_YEAR"], of_year)
    if not best:
        of_month = stamp["WEEK_OF_MONTH"]
        in_month = max(stamp["DAY_OF_WEEK_IN_MONTH"], weekday)
        of_year = stamp["WEEK_OF_YEAR"]
        best = max(of_month, in_month, of_year)
        if not best:
            best = day_of_month = stamp["MONTH"]
    if best == day_of_month:
        return _Chosen(True, "DAY_OF_MONTH", False)
    week_of_year = stamp["WEEK_OF_YEAR"]
    if (best == of_month and stamp["WEEK_OF_MONTH"] >= week_of_year) or (
        best == in_month and stamp["DAY_OF_WEEK_IN_MONTH"] >= week_of_year
    ):
        by_week = best == of_month and (of_month != in_month or stamp["WEEK_OF_MONTH"] >= stamp["DAY_OF_WEEK_IN_MONTH"])
        return _Chosen(True, "WEEK_OF_MONTH" if by_week else "DAY_OF_WEEK_IN_MONTH", weekday > 0)
    if best == stamp["DAY_OF_YEAR"]:
        return _Chosen(False, "DAY_OF_YEAR", False)
    return _Chosen(False, "WEEK_OF_YEAR", weekday > 0)


def _days(fields: Fields, year: int, extra: int) -> int:
    """Days since 1970, Julian before October 1582 and Gregorian after it."""
    chosen = _choose(fields)
    if year > _CUTOVER_YEAR:
        gregorian = extra + _days_in(gregorian_days, fields, year, chosen)
        if gregorian >= GREGORIAN_START:
            return gregorian
        julian = extra + _days_in(julian_days, fields, year, chosen)
    else:
        julian = extra + _days_in(julian_days, fields, year, chosen)
        if year < _CUTOVER_YEAR:
            return julian
        gregorian = extra + _days_in(gregorian_days, fields, year, chosen)
    if not chosen.by_month:
        return julian
    return gregorian if gregorian >= GREGORIAN_START else julian


def _days_in(to_days: _ToDays, fields: Fields, year: int, chosen: _Chosen) -> int:
    weekday = fields["DAY_OF_WEEK"] if chosen.weekday else 1
    start = to_days(year, fields.get("MONTH", 0) + 1 if chosen.by_month else 1, 1)
    if chosen.field == "DAY_OF_MONTH":
        return start + fields.get("DAY_OF_MONTH", 1) - 1
    if chosen.field == "DAY_OF_YEAR":
        return start + fields["DAY_OF_YEAR"] - 1
    if chosen.field == "DAY_OF_WEEK_IN_MONTH":
        return _nth_weekday(to_days, fields, start, weekday)
    return _on_or_before(week_start(start) + 6, weekday) + 7 * (fields[chosen.field] - 1)


def _nth_weekday(to_days: _ToDays, fields: Fields, start: int, weekday: int) -> int:
    number = fields.get("DAY_OF_WEEK_IN_MONTH", 1)
    if number >= 0:
        return _on_or_before(start + 7 * number - 1, weekday)
    day = day_of(start)
    length = to_days(day.year, day.month + 1, 1) - start
    return _on_or_before(start + length + 7 * (number + 1) - 1, weekday)


def _on_or_before(days: int, weekday: int) -> int:
    """The last day that is such a day of the week (1 for Sunday)."""
    return days - (days + 4 - (weekday - 1)) % 7
