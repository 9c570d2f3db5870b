"""Decimals, dates, times and timestamps between Python and Kafka Connect's numbers."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.calendar import java_date, java_days
from penstock.api.errors import DataError
from penstock.api.logical import (
    DATE_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    bytes_from_decimal,
    days_from_date,
    decimal_from_bytes,
    decimal_schema,
    decimal_to_long,
    exact_decimal,
    from_millis,
    millis_from_time,
    scale_of,
    time_from_millis,
    to_millis,
    wrap,
)
from penstock.api.record import Millis

longs = st.integers(-(2**63), 2**63 - 1)


@given(longs, st.sampled_from([DATE_NAME, TIME_NAME, TIMESTAMP_NAME]))
def test_every_moment_survives(millis: int, name: str) -> None:
    assert to_millis(from_millis(millis, name)) == millis


@given(st.integers(-(10**9), 10**9))
def test_the_mixed_calendar_is_consistent(days: int) -> None:
    assert java_days(*java_date(days)) == days


@given(st.integers(), st.integers(-40, 40))
def test_decimals_keep_value_and_scale(unscaled: int, scale: int) -> None:
    schema = decimal_schema(scale)
    value = decimal_from_bytes(schema, unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True))
    assert scale_of(value) == scale
    assert decimal_from_bytes(schema, bytes_from_decimal(schema, value)) == value


@pytest.mark.parametrize(
    ("unscaled", "data"), [(0, b"\x00"), (127, b"\x7f"), (128, b"\x00\x80"), (-128, b"\x80"), (-129, b"\xff\x7f")]
)
def test_decimals_take_as_few_bytes_as_hold_them(unscaled: int, data: bytes) -> None:
    assert bytes_from_decimal(decimal_schema(0), Decimal(unscaled)) == data


def test_python_types_are_used_where_they_can_be() -> None:
    assert from_millis(86_400_000, DATE_NAME) == date(1970, 1, 2)
    assert from_millis(1, TIME_NAME) == time(0, 0, 0, 1000)
    assert from_millis(-1) == datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)
    assert isinstance(time_from_millis(86_400_000), Millis)
    assert isinstance(from_millis(10**15), Millis)


def test_a_time_zone_is_respected_and_none_is_utc() -> None:
    eastern = timezone(timedelta(hours=-5))
    assert to_millis(datetime(1969, 12, 31, 19, tzinfo=eastern)) == 0
    assert to_millis(datetime(1970, 1, 1)) == 0


def test_what_does_not_fit_its_type_is_refused() -> None:
    with pytest.raises(DataError, match="Date type should not have any time fields"):
        days_from_date(datetime(2023, 1, 1, 1))
    with pytest.raises(DataError, match="Time type should not have any date fields"):
        millis_from_time(date(2023, 1, 1))
    with pytest.raises(DataError, match="Schema has scale 2, value has scale 0"):
        bytes_from_decimal(decimal_schema(2), Decimal(1))


@given(st.integers())
def test_narrowing_wraps_like_two_complement(number: int) -> None:
    assert wrap(number, 64) == int.from_bytes((number % 2**64).to_bytes(8, "big"), "big", signed=True)
    assert decimal_to_long(Decimal(number)) == wrap(number, 64)


def test_there_is_no_negative_zero() -> None:
    assert str(exact_decimal("-0.00")) == "0.00"
