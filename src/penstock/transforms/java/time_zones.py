"""Names of time zones that Java reads in dates, in English: hours from UTC, without the hour of summer time."""

from __future__ import annotations

from typing import NamedTuple

_HOUR = 3_600_000

_STANDARD = {
    "UTC": 0, "Coordinated Universal Time": 0, "Greenwich Mean Time": 0,
    "WET": 0, "Western European Standard Time": 0,
    "CET": 1, "Central European Standard Time": 1,
    "EET": 2, "Eastern European Standard Time": 2,
    "MSK": 3, "Moscow Standard Time": 3,
    "WAT": 1, "CAT": 2, "SAST": 2, "IST": 2, "EAT": 3, "PKT": 5, "India Standard Time": 5.5, "WIB": 7,
    "AWST": 8, "HKT": 8, "KST": 9, "JST": 9, "Japan Standard Time": 9, "ACST": 9.5, "AEST": 10, "NZST": 12,
    "SST": -11,
    "HST": -10, "Hawaii-Aleutian Standard Time": -10,
    "AKST": -9, "Alaska Standard Time": -9,
    "PST": -8, "Pacific Standard Time": -8,
    "MST": -7, "Mountain Standard Time": -7,
    "CST": -6, "Central Standard Time": -6,
    "EST": -5, "Eastern Standard Time": -5,
    "AST": -4, "Atlantic Standard Time": -4,
    "NST": -3.5,
}  # fmt: skip
_DAYLIGHT = {
    "BST": 0, "British Summer Time": 0,
    "WEST": 0, "Western European Summer Time": 0,
    "CEST": 1, "Central European Summer Time": 1,
    "EEST": 2, "Eastern European Summer Time": 2,
    "IDT": 2, "AEDT": 10, "NZDT": 12, "NDT": -3.5,
    "AKDT": -9, "Alaska Daylight Time": -9,
    "PDT": -8, "Pacific Daylight Time": -8,
    "MDT": -7, "Mountain Daylight Time": -7,
    "CDT": -6, "Central Daylight Time": -6,
    "EDT": -5, "Eastern Daylight Time": -5,
    "ADT": -4, "Atlantic Daylight Time": -4,
}  # fmt: skip


class ZoneName(NamedTuple):
    """How long the name in the text is, and what it means in milliseconds."""

    length: int
    offset: int
    daylight: int


def zone_offset(text: str, at: int) -> ZoneName | None:
    """The longest name of a zone that stands at a place of a text, in upper or lower case."""
    rest = text[at : at + 40].lower()
    best: ZoneName | None = None
    for names, daylight in ((_STANDARD, 0), (_DAYLIGHT, _HOUR)):
        for name, hours in names.items():
            if rest.startswith(name.lower()) and (best is None or len(name) > best.length):
                best = ZoneName(len(name), int(hours * _HOUR), daylight)
    return best
