"""Patterns, formatting and parsing of dates; every expectation was observed on Java's SimpleDateFormat in UTC."""

from __future__ import annotations

import pytest

from penstock.transforms.java.date_format import DateFormatter
from penstock.transforms.java.date_parse import DateParser
from penstock.transforms.java.date_pattern import DatePatternError, parse_pattern

FORMATTED = [
    ("yyyy-MM-dd'T'HH:mm:ss.SSS", 1700000000123, "2023-11-14T22:13:20.123"),
    ("yyyyMMdd", -1, "19691231"),
    ("yy", 1700000000123, "23"),
    ("y", 1700000000123, "2023"),
    ("yyyyy", 1700000000123, "02023"),
    ("YYYY'W'ww", 1735689599999, "2025W01"),
    ("EEE, d MMM yyyy HH:mm:ss zzz", 1700000000123, "Tue, 14 Nov 2023 22:13:20 UTC"),
    ("EEEE LLLL MMMMM", 1700000000123, "Tuesday November November"),
    ("h 'o''clock' a, zzzz", 0, "12 o'clock AM, Coordinated Universal Time"),
    ("K:mm a", 43200000, "0:00 PM"),
    ("kk", 0, "24"),
    ("D F W u E", 1709251199999, "60 5 5 4 Thu"),
    ("G yyyy", -62167219200001, "BC 0001"),
    ("yyyy-MM-dd", -12219292800001, "1582-10-04"),
    ("Z X XX XXX", 0, "+0000 Z Z Z"),
    ("100%s", 0, "100%0"),
    ("SSSSSS S", 7, "000007 7"),
    ("''yyyy''", 0, "'1970'"),
    ("YYYY", -62135769600000, "0001"),
]

PARSED = [
    ("yyyy-MM-dd", "2023-13-45", 1707868800000),
    ("yyyy-MM-dd", "2023-1-2 and more", 1672617600000),
    ("yyyy-MM-dd", " 2023- 01-\t02", 1672617600000),
    ("yyyy-MM-dd", "-5-01-01", -62325158400000),
    ("yyyy-MM-dd", "23-01-01", -61441545600000),
    ("yyyy-MM-dd", "2023/01/01", None),
    ("yyyy-MM-dd", "", None),
    ("yyyyMMddHHmmss", "20231114221320", 1700000000000),
    ("yyyyMMddHHmmss", "2023111422132", 1699999982000),
    ("HH:mm:ss.SSS", "00:00:01.123456", 124456),
    ("HH:mm", "25:61", 93660000),
    ("hh:mm a", "12:30 AM", 1800000),
    ("hh:mm a", "12:30 pm", 45000000),
    ("kk:mm", "24:00", 0),
    ("EEE, d MMM yyyy HH:mm:ss Z", "Tue, 14 Nov 2023 22:13:20 +0130", 1699994600000),
    ("d MMMM yyyy", "14 nov 2023", 1699920000000),
    ("d MMM yyyy", "14 November 2023", 1699920000000),
    ("d MMM yyyy", "14 Foo 2023", None),
    ("yyyy-MM-dd HH:mm z", "2023-07-01 00:00 EST", 1688187600000),
    ("yyyy-MM-dd HH:mm z", "2023-07-01 00:00 PDT", 1688194800000),
    ("yyyy-MM-dd HH:mm z", "2023-07-01 00:00 GMT+2:30", 1688160600000),
    ("yyyy-MM-dd HH:mm z", "2023-07-01 00:00 Nowhere", None),
    ("yyyy-MM-dd'T'HHX", "2023-07-01T05-08", 1688216400000),
    ("yyyy-MM-dd'T'HHXXX", "2023-07-01T05+0100", None),
    ("yyyy-DDD", "2024-366", 1735603200000),
    ("YYYY-'W'ww-u", "2025-W01-2", 1735603200000),
    ("yyyy MM W E", "2023 11 3 Tue", 1699920000000),
    ("MMM yyyy F E", "Nov 2023 2 Tue", 1699920000000),
    ("MMM yyyy F E", "Nov 2023 -1 Tue", 1701129600000),
    ("G yyyy", "BC 44", -63524304000000),
    ("yyyy-MM-dd", "1582-10-10", -12218860800000),
    ("yyyy-MM-dd", "1000-02-29", -30604694400000),
    ("yyyy-MM-dd", "1E3-01-01", -30609792000000),
    ("u yyyy ww", "3 2023 10", 1678233600000),
    ("yyyy-MM-dd", "99999999999999999999-01-01", -6019000092841406464),
    ("'at' HH", "at 07", 25200000),
    ("yyyy", "2023", 1672531200000),
    ("E", "Wed", 518400000),
]


@pytest.mark.parametrize(("pattern", "millis", "text"), FORMATTED)
def test_moments_are_written_as_java_writes_them(pattern: str, millis: int, text: str) -> None:
    assert DateFormatter(parse_pattern(pattern)).format(millis) == text


def test_a_formatter_can_go_back_and_forth_between_days() -> None:
    formatter = DateFormatter(parse_pattern("dd HH"))
    assert [formatter.format(millis) for millis in (0, 86_400_000, 3_600_000)] == ["01 00", "02 00", "01 01"]


@pytest.mark.parametrize(("pattern", "text", "millis"), PARSED)
def test_texts_are_read_as_leniently_as_java_reads_them(pattern: str, text: str, millis: int | None) -> None:
    assert DateParser(parse_pattern(pattern)).parse(text) == millis


def test_two_digits_of_a_year_mean_the_eighty_years_past_or_the_twenty_to_come() -> None:
    parse = DateParser(parse_pattern("yy")).parse
    this_year = DateFormatter(parse_pattern("yyyy"))
    moment = parse("26")
    assert moment is not None
    assert this_year.format(moment) == "2026"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("yyyy-bb", "Illegal pattern character 'b'"),
        ("yyyy'T", "Unterminated quote"),
        ("XXXX", "invalid ISO 8601 format: length=4"),
    ],
)
def test_bad_patterns_are_refused_in_javas_words(pattern: str, reason: str) -> None:
    with pytest.raises(DatePatternError) as refused:
        parse_pattern(pattern)
    assert str(refused.value) == reason
