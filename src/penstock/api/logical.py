"""Kafka Connect's logical types: decimals, dates, times and timestamps.

Each lives in a plain schema with a well-known name. Kafka Connect holds dates, times and timestamps as milliseconds
since 1970 (``java.util.Date``); :func:`to_millis` and :func:`from_millis` go between that and Python's own types.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any

from .calendar import MILLIS_PER_DAY
from .errors import DataError
from .record import Int32, Millis, Schema, SchemaType

DECIMAL_NAME = "org.apache.kafka.connect.data.Decimal"
DATE_NAME = "org.apache.kafka.connect.data.Date"
TIME_NAME = "org.apache.kafka.connect.data.Time"
TIMESTAMP_NAME = "org.apache.kafka.connect.data.Timestamp"

DATE = Schema(SchemaType.INT32, name=DATE_NAME, version=1)
TIME = Schema(SchemaType.INT32, name=TIME_NAME, version=1)
TIMESTAMP = Schema(SchemaType.INT64, name=TIMESTAMP_NAME, version=1)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1)
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_MILLISECOND = timedelta(milliseconds=1)
_NULL_POINTER = "java.lang.NullPointerException"

JavaDate = date | time | Millis
"""What stands for a ``java.util.Date`` (a ``datetime`` is a ``date``)."""


def decimal_schema(scale: int, **attributes: Any) -> Schema:
    """The schema of decimals with so many digits after the point."""
    return Schema(SchemaType.BYTES, name=DECIMAL_NAME, version=1, parameters={"scale": str(scale)}, **attributes)


def is_java_date(value: object) -> bool:
    """Whether Kafka Connect would hold the value as a ``java.util.Date``."""
    return isinstance(value, (date, time, Millis))


def to_millis(value: JavaDate) -> int:
    """Milliseconds since 1970 of a date, time or timestamp; without a time zone it is UTC."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (moment - EPOCH) // _MILLISECOND
    if isinstance(value, date):
        return (value - _EPOCH_DAY).days * MILLIS_PER_DAY
    if isinstance(value, time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    return int(value)


def from_millis(millis: int, name: str | None = TIMESTAMP_NAME) -> JavaDate:
    """The Python value for milliseconds since 1970 under a logical name; :class:`Millis` when Python has none."""
    days, rest = divmod(millis, MILLIS_PER_DAY)
    if name == TIME_NAME:
        return (EPOCH + timedelta(milliseconds=millis)).time() if days == 0 else Millis(millis)
    if not -719_162 <= days <= 2_932_896 or (name == DATE_NAME and rest):
        return Millis(millis)
    if name == DATE_NAME:
        return _EPOCH_DAY + timedelta(days=days)
    return EPOCH + timedelta(milliseconds=millis)


def date_from_days(days: int) -> JavaDate:
    """The value of a Date schema's number."""
    return from_millis(days * MILLIS_PER_DAY, DATE_NAME)


def days_from_date(value: JavaDate) -> Int32:
    """The number of a Date schema's value."""
    days, rest = divmod(to_millis(value), MILLIS_PER_DAY)
    if rest:
        raise DataError("Kafka Connect Date type should not have any time fields set to non-zero values.")
    return Int32(wrap(days, 32))


def time_from_millis(millis: int) -> JavaDate:
    """The value of a Time schema's number."""
    if not 0 <= millis <= MILLIS_PER_DAY:
        raise DataError("Time values must use number of milliseconds greater than 0 and less than 86400000")
    return from_millis(millis, TIME_NAME)


def millis_from_time(value: JavaDate) -> Int32:
    """The number of a Time schema's value."""
    millis = to_millis(value)
    if not 0 <= millis <= MILLIS_PER_DAY:
        raise DataError("Kafka Connect Time type should not have any date fields set to non-zero values.")
    return Int32(millis)


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """``unscaled / 10**scale``, with exactly that scale."""
    return Decimal(unscaled).scaleb(-scale, _EXACT)


def exact_decimal(text: str) -> Decimal:
    """Text as a decimal with all its digits. Java knows no negative zero, so there is none here."""
    value = Decimal(text)
    return value if value else value.copy_abs()


def scale_of(value: Decimal) -> int:
    """Digits after the point; negative for a value such as ``1E+2``."""
    return -int(value.as_tuple().exponent)


def unscaled_of(value: Decimal) -> int:
    """All digits as one integer."""
    return int(value.scaleb(scale_of(value), _EXACT))


def schema_scale(schema: Schema) -> int:
    """The scale that a Decimal schema asks for."""
    if schema.parameters is None:
        message = 'Cannot invoke "java.util.Map.get(Object)" because the return value of "Schema.parameters()" is null'
        raise DataError(message, _NULL_POINTER)
    scale = schema.parameters.get("scale")
    if scale is None:
        raise DataError("Invalid Decimal schema: scale parameter not found.")
    try:
        return int(scale)
    except ValueError:
        raise DataError("Invalid scale parameter found in Decimal schema: ") from None


def decimal_from_bytes(schema: Schema, data: bytes) -> Decimal:
    """The value of a Decimal schema's bytes: a big-endian two's complement number and the schema's scale."""
    if not data:
        raise DataError("Zero length BigInteger", "java.lang.NumberFormatException")
    return decimal_of(int.from_bytes(data, "big", signed=True), schema_scale(schema))


def bytes_from_decimal(schema: Schema, value: Decimal) -> bytes:
    """The bytes of a Decimal schema's value, as few as hold it."""
    wanted, scale = schema_scale(schema), scale_of(value)
    if wanted != scale:
        raise DataError(
            "Decimal value has mismatching scale for given Decimal schema. "
            f"Schema has scale {wanted}, value has scale {scale}."
        )
    unscaled = unscaled_of(value)
    magnitude = unscaled if unscaled >= 0 else ~unscaled
    return unscaled.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def decimal_to_long(value: Decimal) -> int:
    """The integer part modulo 2**64, as Java narrows a decimal to a long."""
    if value.adjusted() < 0 or scale_of(value) <= -64:
        return 0
    return wrap(int(value), 64)


def wrap(number: int, bits: int) -> int:
    """The number modulo ``2**bits``, as Java narrows integers."""
    half = 1 << (bits - 1)
    return number if -half <= number < half else ((number + half) & ((half << 1) - 1)) - half
