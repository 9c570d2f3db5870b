"""Guessing the type of a text, with the grammar (and the oddities) of Kafka Connect's ``Values``."""

from __future__ import annotations

import re
from datetime import date, time
from decimal import Decimal, InvalidOperation
from math import isinf
from typing import Any

from .calendar import MILLIS_PER_DAY, java_days
from .errors import DataError
from .logical import (
    DATE,
    DATE_NAME,
    DECIMAL_NAME,
    TIME,
    TIME_NAME,
    TIMESTAMP,
    TIMESTAMP_NAME,
    date_from_days,
    decimal_schema,
    exact_decimal,
    from_millis,
    scale_of,
    time_from_millis,
)
from .record import (
    BOOLEAN,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Float32,
    FrozenKey,
    Int8,
    Int16,
    Int32,
    Millis,
    Schema,
    SchemaType,
    array_schema,
    map_schema,
)
from .text import decimal_to_float32, round_to_float32

Parsed = tuple[Schema | None, Any]
NULL: Parsed = (None, None)

_TOKEN = re.compile(r'[:,{}\[\]"]|(?:\\.|\\\Z|[^:,{}\[\]"\\])+', re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_JAVA_SPACE = "".join(map(chr, range(33)))
_FIELD = r"[ \t]*(-?\d+)"
_DATE = re.compile(f"{_FIELD}-{_FIELD}-{_FIELD}")
_TIME = re.compile(rf"{_FIELD}:{_FIELD}:{_FIELD}\.{_FIELD}Z")
_TIMESTAMP = re.compile(rf"{_DATE.pattern}T{_TIME.pattern}")
_LONGEST_INTEGER = 646_456_993
"""Digits that Java's integers can have."""

_WIDTHS = {
    SchemaType.INT8: 0,
    SchemaType.INT16: 1,
    SchemaType.INT32: 2,
    SchemaType.INT64: 3,
    SchemaType.FLOAT32: 4,
    SchemaType.FLOAT64: 5,
}


class ValueParser:
    """One text, cut into tokens at ``: , { } [ ] "`` that no backslash precedes."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = _TOKEN.findall(text)
        self._next = 0

    def parse_whole(self) -> Parsed:
        """The schema and value of the text."""
        return self._parse(embedded=False) if self._text else (STRING, self._text)

    def _parse(self, embedded: bool) -> Parsed:
        if not self._has_next():
            return NULL
        if embedded and self._take('"'):
            return self._quoted_string()
        for literal, parsed in (("null", NULL), ("true", (BOOLEAN, True)), ("false", (BOOLEAN, False))):
            if self._take_literal(literal, embedded):
                return parsed
        start = self._next
        try:
            if self._take("["):
                return self._array()
            if self._take("{"):
                return self._map()
        except DataError:
            self._next = start
        token = self._tokens[self._next]
        self._next += 1
        if not token.strip(_JAVA_SPACE):
            return STRING, token
        return self._scalar(token.strip(_JAVA_SPACE), embedded)

    def _scalar(self, token: str, embedded: bool) -> Parsed:
        starts_with_digit = token[:1].isdecimal()
        if starts_with_digit:
            temporal = self._temporal_of_tokens(token)
            if temporal is not None:
                return temporal
        if starts_with_digit or token[:1] in ("+", "-"):
            number = _parse_number(token)
            if number is not None:
                return number
        if embedded:
            raise DataError("Failed to parse embedded value")
        return STRING, self._text

    def _temporal_of_tokens(self, token: str) -> Parsed | None:
        """A time holds colons, so it may have come apart into five tokens."""
        rest = self._tokens[self._next : self._next + 4]
        if len(rest) == 4:
            temporal = _parse_temporal(token + "".join(rest))
            if temporal is not None:
                self._next += 4
                return temporal
        return _parse_temporal(token)

    def _quoted_string(self) -> Parsed:
        parts: list[str] = []
        while self._has_next():
            if self._take('"'):
                break
            parts.append(self._tokens[self._next])
            self._next += 1
        content = "".join(parts)
        return _parse_temporal(content) or (STRING, content)

    def _array(self) -> Parsed:
        items: list[Parsed] = []
        while self._has_next():
            if self._take("]"):
                common = _common_schema(items)
                values = [value for _, value in items]
                if common is None:
                    return array_schema(None), values
                return array_schema(common), [_align(common, value) for value in values]
            if self._take(","):
                raise DataError(f"Unable to parse an empty array element: {self._text}")
            items.append(self._parse(embedded=True))
            if not self._is_next("]") and not self._take(","):
                raise DataError("Array elements missing ',' delimiter")
        raise DataError(f"Array is missing terminating ']': {self._text}")

    def _map(self) -> Parsed:
        keys: list[Parsed] = []
        values: dict[tuple[type, Any], Parsed] = {}
        seen: list[Parsed] = []
        while self._has_next():
            if self._take("}"):
                return _aligned_map(_common_schema(keys), _common_schema(seen), values)
            if self._take(","):
                raise DataError(f"Unable to parse a map entry with no key or value: {self._text}")
            key = self._parse(embedded=True)
            if key[1] is None:
                raise DataError(f"Map entry may not have a null key: {self._text}")
            if not self._take(":"):
                raise DataError(f"Map entry is missing ':' in {self._text}")
            value = self._parse(embedded=True)
            values[type(key[1]), FrozenKey.of(key[1])] = value
            self._take(",")
            keys.append(key)
            seen.append(value)
        raise DataError(f"Map is missing terminating '}}': {self._text}")

    def _has_next(self) -> bool:
        return self._next < len(self._tokens)

    def _skip_blanks(self) -> None:
        while self._next < len(self._tokens) - 1 and not self._tokens[self._next].strip(_JAVA_SPACE):
            self._next += 1

    def _is_next(self, expected: str) -> bool:
        if not self._has_next():
            return False
        self._skip_blanks()
        return self._tokens[self._next].strip(_JAVA_SPACE) == expected

    def _take(self, expected: str) -> bool:
        if self._is_next(expected):
            self._next += 1
            return True
        return False

    def _take_literal(self, literal: str, embedded: bool) -> bool:
        start = self._next
        if self._take(literal) and (embedded or not self._has_next()):
            return True
        self._next = start
        return False


def _parse_number(token: str) -> Parsed | None:
    if _NUMBER.fullmatch(token) is None:
        return None
    try:
        number = exact_decimal(token)
    except InvalidOperation:
        return None
    scale = scale_of(number)
    if not -(2**31) < scale < 2**31:
        return None
    if number.adjusted() > _LONGEST_INTEGER:
        raise OverflowError(f"{token} is beyond the numbers that Java can hold")
    integer = _as_long(number)
    if integer is not None:
        return _narrow(integer)
    single = decimal_to_float32(number)
    if scale != 0 and not isinf(single):
        return FLOAT32, Float32(single)
    double = float(number)
    if scale != 0 and not isinf(double):
        return FLOAT64, double
    return decimal_schema(scale), number


def _as_long(number: Decimal) -> int | None:
    if number.adjusted() > 18 or number != number.to_integral_value():
        return None
    integer = int(number)
    return integer if -(2**63) <= integer < 2**63 else None


def _narrow(integer: int) -> Parsed:
    if -(2**7) <= integer < 2**7:
        return INT8, Int8(integer)
    if -(2**15) <= integer < 2**15:
        return INT16, Int16(integer)
    if -(2**31) <= integer < 2**31:
        return INT32, Int32(integer)
    return INT64, integer


def _parse_temporal(token: str) -> Parsed | None:
    """The length alone decides which of the three forms is tried; the rest is lenient."""
    token = token.replace("\\:", ":")
    if len(token) == 13 and (match := _TIME.match(token)):
        return TIME, from_millis(_clock(match.groups()), TIME_NAME)
    if len(token) == 24 and (match := _TIMESTAMP.match(token)):
        fields = match.groups()
        return TIMESTAMP, from_millis(_midnight(fields[:3]) + _clock(fields[3:]), TIMESTAMP_NAME)
    if len(token) == 10 and (match := _DATE.match(token)):
        return DATE, from_millis(_midnight(match.groups()), DATE_NAME)
    return None


def _midnight(fields: tuple[str, ...]) -> int:
    year, month, day = map(int, fields)
    return java_days(year, month, day) * MILLIS_PER_DAY


def _clock(fields: tuple[str, ...]) -> int:
    hours, minutes, seconds, millis = map(int, fields)
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis


def _common_schema(items: list[Parsed]) -> Schema | None:
    """The schema that fits all items (nulls have none); the widest for numbers, the last for equal types."""
    common: Schema | None = None
    for schema, _ in items:
        if schema is None:
            continue
        if common is None or common.type is schema.type:
            common = schema
        elif common.type in _WIDTHS and schema.type in _WIDTHS:
            common = max(common, schema, key=lambda s: _WIDTHS[s.type])
        else:
            return None
    return common


def _aligned_map(keys: Schema | None, values: Schema | None, entries: dict[tuple[type, Any], Parsed]) -> Parsed:
    aligned: dict[Any, Any] = {}
    if keys is None:
        for (_, key), (_, value) in entries.items():
            aligned[FrozenKey.beside(key) if key in aligned else key] = value
        return map_schema(None, None), aligned
    for (_, key), (_, value) in entries.items():
        aligned[_align(keys, key)] = value if values is None else _align(values, value)
    return map_schema(keys, values), aligned


def _align(schema: Schema, value: Any) -> Any:
    """An item in the type that all items of its container share."""
    if value is None:
        raise DataError("Unable to convert a null value to a schema that requires a value")
    if schema.type not in _WIDTHS or schema.name is not None:
        return _align_logical(schema, value)
    if isinstance(value, (date, time, Millis)):
        raise DataError(f"Unable to convert {value} to a number")
    if schema.type is SchemaType.FLOAT64:
        return float(value)
    if schema.type is SchemaType.FLOAT32:
        return value if isinstance(value, Float32) else Float32(round_to_float32(float(value)))
    narrow = {SchemaType.INT8: Int8, SchemaType.INT16: Int16, SchemaType.INT32: Int32}.get(schema.type, int)
    return narrow(value)


def _align_logical(schema: Schema, value: Any) -> Any:
    if schema.name is None or schema.name == DECIMAL_NAME or isinstance(value, (date, time, Millis)):
        return value
    if schema.name == TIME_NAME:
        return time_from_millis(int(value))
    return date_from_days(int(value)) if schema.name == DATE_NAME else from_millis(int(value))
