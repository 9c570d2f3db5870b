"""What a writer does with a value that is not just what it expects: accept a near relative, or refuse it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

from penstock.api.errors import DataError
from penstock.api.logical import (
    DATE_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    bytes_from_decimal,
    days_from_date,
    is_java_date,
    millis_from_time,
    to_millis,
)
from penstock.api.record import Int8, Int16, Int32, Schema, SchemaType
from penstock.api.text import java_class, round_to_float32

Check = Callable[[Any], Any]

_pack_float = struct.Struct("<f").pack
_INTEGERS: dict[SchemaType, tuple[int, type]] = {
    SchemaType.INT8: (8, Int8),
    SchemaType.INT16: (16, Int16),
    SchemaType.INT32: (32, Int32),
    SchemaType.INT64: (64, int),
}
_DATES: dict[str | None, tuple[str, Callable[[Any], int]]] = {
    DATE_NAME: ("Date", days_from_date),
    TIME_NAME: ("Time", millis_from_time),
    TIMESTAMP_NAME: ("Timestamp", to_millis),
}


def null_value() -> NoReturn:
    """There is no null here."""
    raise DataError("Found null value for non-optional schema")


def limits(kind: SchemaType) -> tuple[int, int]:
    """The smallest and the largest integer of a type."""
    half = 1 << (_INTEGERS[kind][0] - 1)
    return -half, half - 1


def integer_check(schema: Schema) -> Check:
    """For integers that are no plain ``int`` within the limits."""
    low, high = limits(schema.type)
    own = _INTEGERS[schema.type][1]

    def check(value: Any) -> int:
        if type(value) not in (int, own):
            raise _wrong_class(schema, value)
        if not low <= value <= high:
            raise DataError(f"Invalid type for {schema.type.name}: class java.lang.Long ({value} does not fit)")
        return int(value)

    return check


def date_check(schema: Schema) -> Check:
    """From dates, times and timestamps to their numbers."""
    label, number = _DATES[schema.name]

    def check(value: Any) -> int:
        if not is_java_date(value):
            found = java_class(value, schema)
            raise DataError(f"Invalid type for {label}, expected Date but was class {found}")
        return number(value)

    return check


def class_check(schema: Schema, *accepted: type) -> Check:
    """For values of one of these classes or of a class made from them."""

    def check(value: Any) -> Any:
        if not isinstance(value, accepted):
            raise _wrong_class(schema, value)
        return value

    return check


def bytes_check(schema: Schema) -> Check:
    """For what is like ``bytes``."""

    def check(value: Any) -> bytes:
        if not isinstance(value, (bytearray, memoryview, bytes)):
            raise _wrong_class(schema, value)
        return bytes(value)

    return check


def decimal_check(schema: Schema) -> Check:
    """From decimals to the bytes of their digits."""

    def check(value: Any) -> bytes:
        if not isinstance(value, Decimal):
            found = java_class(value, schema)
            raise DataError(f"Invalid type for Decimal, expected BigDecimal but was class {found}")
        return bytes_from_decimal(schema, value)

    return check


def fixed_check(size: int, signed: bool) -> Check:
    """For bytes of just this size; shorter numbers are filled up."""

    def check(value: bytes) -> bytes:
        if len(value) == size:
            return value
        if not signed:
            raise DataError(f"Invalid value for a fixed of {size} bytes: {len(value)} bytes")
        if len(value) > size:
            raise DataError(f"Unscaled value byte array length {len(value)} is greater than fixed size {size}")
        return (b"\xff" if value[0] > 127 else b"\x00") * (size - len(value)) + value

    return check


def float32_bytes(value: float) -> bytes:
    """Four bytes; infinity for what is too large."""
    try:
        return _pack_float(value)
    except OverflowError:
        return _pack_float(round_to_float32(value))


def enum_index(name: str, symbols: tuple[str, ...]) -> Check:
    """From symbols to their numbers."""
    numbers = {symbol: number for number, symbol in enumerate(symbols)}

    def check(value: Any) -> int:
        number = numbers.get(value) if isinstance(value, str) else None
        if number is None:
            raise DataError(f"{value!r} is no symbol of the Avro enum {name} ({', '.join(symbols)})")
        return number

    return check


def _wrong_class(schema: Schema, value: Any) -> DataError:
    return DataError(f"Invalid type for {schema.type.name}: class {java_class(value, schema)}")
