"""Values to JSON text, with Kafka Connect's checks and its spelling of numbers, strings and bytes."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from math import isfinite
from typing import Any

from penstock.api.errors import DataError
from penstock.api.logical import (
    DATE_NAME,
    DECIMAL_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    bytes_from_decimal,
    days_from_date,
    is_java_date,
    millis_from_time,
    to_millis,
)
from penstock.api.record import Float32, FrozenKey, Int8, Int16, Int32, Millis, Schema, SchemaType
from penstock.api.text import java_class, java_double, java_float

Write = Callable[[Any], str]

_SPECIAL = re.compile('["\\\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_INTEGERS: dict[SchemaType, tuple[int, type]] = {
    SchemaType.INT8: (8, Int8),
    SchemaType.INT16: (16, Int16),
    SchemaType.INT32: (32, Int32),
    SchemaType.INT64: (64, int),
}


@dataclass(frozen=True)
class Style:
    """The settings that change what is written."""

    numeric_decimals: bool = False
    replace_null: bool = True


def quote(text: str) -> str:
    """A JSON string. Characters beyond the basic plane are written as two escapes, as Jackson does."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{_SPECIAL.sub(_escape, text)}"'


def plain_text(value: Any) -> str:
    """A value without a schema."""
    kind = type(value)
    if kind is str:
        return quote(value)
    if kind is int:
        return int.__repr__(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is dict:
        return _plain_map(value)
    if kind is list:
        return "[" + ",".join([plain_text(item) for item in value]) + "]"
    if isinstance(value, float):
        return _number(value, java_float if kind is Float32 else java_double)
    return _plain_rare(value)


def writer_for(schema: Schema | None, style: Style) -> Write:
    """A function from values of the schema to JSON text."""
    if schema is None:
        return plain_text
    logical = _LOGICAL.get(schema.name or "")
    write = logical(schema, style) if logical is not None else _by_type(schema, style)
    if schema.default_value is not None and style.replace_null:
        return lambda value: write(schema.default_value if value is None else value)
    if schema.optional:
        return lambda value: "null" if value is None else write(value)

    def required(value: Any) -> str:
        if value is None:
            raise DataError("Conversion error: null value for field that is required and has no default value")
        return write(value)

    return required


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    short = _SHORT.get(character)
    if short is not None:
        return short
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))


def _number(value: float, text: Callable[[float], str]) -> str:
    return text(value) if isfinite(value) else f'"{text(value)}"'


def _base64(data: bytes) -> str:
    return f'"{b64encode(data).decode("ascii")}"'


def _plain_map(value: dict[Any, Any]) -> str:
    if all(isinstance(key, str) for key in value):
        return "{" + ",".join([f"{quote(key)}:{plain_text(item)}" for key, item in value.items()]) + "}"
    return "[" + ",".join([f"[{plain_text(key)},{plain_text(item)}]" for key, item in value.items()]) + "]"


def _plain_rare(value: Any) -> str:
    if isinstance(value, (Decimal, date, time, Millis)):
        raise DataError(f"Java class class {java_class(value)} does not have corresponding schema type.")
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _base64(bytes(value))
    if isinstance(value, FrozenKey):
        return plain_text(value.value)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, dict):
        return _plain_map(value)
    if isinstance(value, (list, tuple)):
        return plain_text(list(value))
    raise DataError(f"Java class class {java_class(value)} does not have corresponding schema type.")


def _by_type(schema: Schema, style: Style) -> Write:
    kind = schema.type
    if kind in _INTEGERS:
        return _integer_writer(schema)
    if kind is SchemaType.STRUCT:
        return _struct_writer(schema, style)
    if kind is SchemaType.ARRAY:
        return _array_writer(schema, style)
    if kind is SchemaType.MAP:
        return _map_writer(schema, style)
    return _scalar_writer(schema)


def _wrong_type(schema: Schema, value: Any) -> DataError:
    return DataError(f"Invalid type for {schema.type.name}: class {java_class(value, schema)}")


def _integer_writer(schema: Schema) -> Write:
    bits, own_class = _INTEGERS[schema.type]
    half = 1 << (bits - 1)

    def write(value: Any) -> str:
        if type(value) not in (int, own_class):
            raise _wrong_type(schema, value)
        if not -half <= value < half:
            raise DataError(f"Invalid type for {schema.type.name}: class java.lang.Long ({value} does not fit)")
        return int.__repr__(value)

    return write


def _scalar_writer(schema: Schema) -> Write:
    accepted, write = _SCALARS[schema.type]

    def checked(value: Any) -> str:
        if not isinstance(value, accepted):
            if schema.type is SchemaType.BYTES:
                raise DataError(f"Invalid type for bytes type: class {java_class(value, schema)}")
            raise _wrong_type(schema, value)
        return write(value)

    return checked


_SCALARS: dict[SchemaType, tuple[type | tuple[type, ...], Write]] = {
    SchemaType.STRING: (str, quote),
    SchemaType.BOOLEAN: (bool, lambda value: "true" if value else "false"),
    SchemaType.FLOAT32: (float, lambda value: _number(value, java_float)),
    SchemaType.FLOAT64: (float, lambda value: _number(value, java_double)),
    SchemaType.BYTES: ((bytes, bytearray, memoryview), lambda value: _base64(bytes(value))),
}


def _struct_writer(schema: Schema, style: Style) -> Write:
    members = [(f.name, f"{quote(f.name)}:", writer_for(f.schema, style)) for f in schema.fields]

    def write(value: Any) -> str:
        if not isinstance(value, dict):
            raise _wrong_type(schema, value)
        get = value.get
        return "{" + ",".join([label + write_member(get(name)) for name, label, write_member in members]) + "}"

    return write


def _array_writer(schema: Schema, style: Style) -> Write:
    inner = writer_for(schema.value_schema, style)

    def write(value: Any) -> str:
        if not isinstance(value, (list, tuple)):
            raise _wrong_type(schema, value)
        return "[" + ",".join([inner(item) for item in value]) + "]"

    return write


def _map_writer(schema: Schema, style: Style) -> Write:
    write_key, write_value = writer_for(schema.key_schema, style), writer_for(schema.value_schema, style)

    def write(value: Any) -> str:
        if not isinstance(value, dict):
            raise _wrong_type(schema, value)
        if schema.key_schema is None:
            message = 'Cannot invoke "Schema.type()" because the return value of "Schema.keySchema()" is null'
            raise DataError(message, "java.lang.NullPointerException")
        if schema.key_schema.type is SchemaType.STRING:
            entries = [f"{_name(write_key(key))}:{write_value(item)}" for key, item in value.items()]
            return "{" + ",".join(entries) + "}"
        pairs = [f"[{write_key(_thawed(key))},{write_value(item)}]" for key, item in value.items()]
        return "[" + ",".join(pairs) + "]"

    return write


def _name(text: str) -> str:
    return text if text.startswith('"') else f'"{text}"'


def _thawed(key: Any) -> Any:
    return key.value if isinstance(key, FrozenKey) else key


def _decimal_writer(schema: Schema, style: Style) -> Write:
    def write(value: Any) -> str:
        if not isinstance(value, Decimal):
            raise DataError(f"Invalid type for Decimal, expected BigDecimal but was class {java_class(value, schema)}")
        return str(value) if style.numeric_decimals else _base64(bytes_from_decimal(schema, value))

    return write


def _date_writer(kind: str, number: Callable[[Any], int]) -> Callable[[Schema, Style], Write]:
    def make(schema: Schema, style: Style) -> Write:
        def write(value: Any) -> str:
            if not is_java_date(value):
                raise DataError(f"Invalid type for {kind}, expected Date but was class {java_class(value, schema)}")
            return int.__repr__(number(value))

        return write

    return make


_LOGICAL: dict[str, Callable[[Schema, Style], Write]] = {
    DECIMAL_NAME: _decimal_writer,
    DATE_NAME: _date_writer("Date", days_from_date),
    TIME_NAME: _date_writer("Time", millis_from_time),
    TIMESTAMP_NAME: _date_writer("Timestamp", to_millis),
}
