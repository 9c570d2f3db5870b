"""Single values from PostgreSQL's texts: what cannot be done for a whole column at once."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal, InvalidOperation

from penstock.api.logical import bytes_from_decimal, decimal_schema, scale_of

_DAY_MICROS = 86_400_000_000
_MONTH_DAYS = 30.4375
_LONGEST_DAYS, _LONGEST_MICROS = (1 << 31) - 1, (1 << 63) - 1
_DATE = re.compile(r"(\d{4,})-(\d\d)-(\d\d)( BC)?\Z")
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?\Z")
_ZONE = re.compile(r"([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?\Z")
_INTERVAL = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?[\d.]+)S)?)?\Z"
)


def bytea(text: str) -> bytes:
    """``\\x00ff``; what is no such text is a placeholder and is taken as it is."""
    return bytes.fromhex(text[2:]) if text.startswith("\\x") else text.encode()


def decimal(text: str, scale: int) -> Decimal | None:
    """A number with so many digits after the point; ``None`` for NaN and infinity, which decimals do not have."""
    value = _number(text)
    return None if value is None else value.quantize(Decimal(1).scaleb(-scale))


def variable_decimal(text: str) -> dict[str, object] | None:
    """A number with the scale it has; ``None`` for NaN and infinity."""
    value = _number(text)
    if value is None:
        return None
    scale = max(0, scale_of(value))
    return {"scale": scale, "value": bytes_from_decimal(decimal_schema(scale), value if scale else Decimal(int(value)))}


def _number(text: str) -> Decimal | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def money(text: str) -> Decimal | None:
    """``-$1,234.50`` as a number."""
    digits = re.sub(r"[^\d.]", "", text)
    if not digits:
        return None
    return decimal(f"-{digits}" if text.startswith(("-", "(")) else digits, 2)


def bits(text: str) -> bytes:
    """Bits as bytes, the last bit being the lowest of the first byte."""
    return int(text or "0", 2).to_bytes((len(text) + 7) // 8, "little")


def date(text: str) -> datetime.date | None:
    """A date that Python can hold; ``None`` for others."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def days(text: str) -> int:
    """Days since 1970; the largest and smallest number for infinity."""
    if text.endswith("infinity"):
        return -_LONGEST_DAYS if text.startswith("-") else _LONGEST_DAYS
    match = _DATE.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a date")
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    return _days_from_civil(1 - year if match[4] else year, month, day)


def time_micros(text: str) -> int:
    """Microseconds since midnight; 24:00 is a day."""
    match = _CLOCK.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time")
    seconds = (int(match[1]) * 60 + int(match[2])) * 60 + int(match[3])
    return seconds * 1_000_000 + int((match[4] or "").ljust(6, "0"))


def timestamp_micros(text: str) -> int:
    """Microseconds since 1970; the largest and smallest number for infinity."""
    if text.endswith("infinity"):
        return -_LONGEST_MICROS if text.startswith("-") else _LONGEST_MICROS
    calendar, _, clock = text.partition(" ")
    clock, _, era = clock.partition(" ")
    return days(f"{calendar} {era}" if era else calendar) * _DAY_MICROS + time_micros(clock)


def zoned_time(text: str) -> str:
    """``10:00:00+02`` as ``08:00:00Z``."""
    match = _ZONE.search(text)
    if match is None:
        return text
    sign = -1 if match[1] == "-" else 1
    shift = sign * ((int(match[2]) * 60 + int(match[3] or 0)) * 60 + int(match[4] or 0))
    clock, _, fraction = text[: match.start()].partition(".")
    seconds = (time_micros(clock) // 1_000_000 - shift) % 86_400
    whole = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{whole}.{fraction}Z" if fraction else f"{whole}Z"


def interval_micros(text: str) -> int:
    """An ISO 8601 duration in microseconds, a month being a twelfth of 365.25 days."""
    match = _INTERVAL.match(text)
    if match is None:
        if text.endswith("infinity"):
            return -_LONGEST_MICROS if text.startswith("-") else _LONGEST_MICROS
        raise ValueError(f"{text!r} is not an interval")
    years, months, weeks, single_days, hours, minutes = (int(part or 0) for part in match.groups()[:6])
    micros = int(Decimal(match[7] or 0) * 1_000_000) + (hours * 60 + minutes) * 60_000_000
    return micros + (weeks * 7 + single_days) * _DAY_MICROS + round((years * 12 + months) * _MONTH_DAYS * _DAY_MICROS)


def array_items(text: str) -> list[str | None]:
    """The items of ``{1,NULL,"a b"}``, with those of inner arrays in their place."""
    if text.startswith("["):
        text = text[text.index("=") + 1 :]
    items: list[str | None] = []
    at, end = 0, len(text)
    while at < end:
        character = text[at]
        if character in "{},":
            at += 1
        elif character == '"':
            item, at = _quoted(text, at + 1)
            items.append(item)
        else:
            stop = at
            while text[stop] not in ",}":
                stop += 1
            items.append(None if text[at:stop].upper() == "NULL" else text[at:stop])
            at = stop
    return items


def _quoted(text: str, at: int) -> tuple[str, int]:
    parts = []
    while text[at] != '"':
        if text[at] == "\\":
            at += 1
        parts.append(text[at])
        at += 1
    return "".join(parts), at + 1


def _days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970 in the Gregorian calendar, for any year."""
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468
