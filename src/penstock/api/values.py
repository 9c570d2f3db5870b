"""Values as text and back, by the rules that Kafka Connect uses for headers and for casts to strings."""

from __future__ import annotations

from base64 import b64encode
from datetime import date, time
from decimal import Decimal
from typing import Any

from .calendar import MILLIS_PER_DAY, java_date
from .errors import DataError
from .logical import to_millis
from .record import FrozenKey, Millis, Schema, SchemaType, get_field
from .text import java_class, java_text
from .value_parser import ValueParser

__all__ = ["iso_text", "parse_text", "to_text"]


def parse_text(text: str) -> tuple[Schema | None, Any]:
    """Find out what a text is: null, boolean, number, date, time, timestamp, array, map, or just a string.

    Narrow numbers come as ``Int8``, ``Int16``, ``Int32`` and ``Float32``, so that they keep their type even where
    a container has no common schema.
    """
    return ValueParser(text).parse_whole()


def to_text(value: Any, schema: Schema | None = None) -> str | None:
    """A value as text that :func:`parse_text` can read; ``None`` for ``None``."""
    return None if value is None else _text(value, schema, embedded=False)


def iso_text(value: date | time | Millis) -> str:
    """A date, time or timestamp in ISO form, chosen by its value as Kafka Connect does.

    Whatever lies before 2 January 1970 is taken for a time, and whatever is midnight for a date.
    """
    millis = to_millis(value)
    days, rest = divmod(millis, MILLIS_PER_DAY)
    clock = f"{rest // 3_600_000:02}:{rest // 60_000 % 60:02}:{rest // 1000 % 60:02}.{rest % 1000:03}Z"
    if millis < MILLIS_PER_DAY:
        return clock
    year, month, day = java_date(days)
    calendar = f"{year:04}-{month:02}-{day:02}"
    return calendar if rest == 0 else f"{calendar}T{clock}"


def _text(value: Any, schema: Schema | None, embedded: bool) -> str:
    if isinstance(value, str):
        return _quoted(value) if embedded else value
    if isinstance(value, (date, time, Millis)):
        return iso_text(value)
    if value is None or isinstance(value, (bool, int, float, Decimal)):
        return java_text(value, schema)
    if isinstance(value, bytes):
        encoded = b64encode(value).decode("ascii")
        return f'"{encoded}"' if embedded else encoded
    if isinstance(value, FrozenKey):
        return _text(value.value, schema, embedded)
    if isinstance(value, list):
        items = schema.value_schema if schema is not None else None
        return "[" + ",".join([_text(item, items, embedded=True) for item in value]) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(_entries(value, schema)) + "}"
    raise DataError(f"Failed to serialize unexpected value type {java_class(value)}: {value}")


def _entries(value: dict[Any, Any], schema: Schema | None) -> list[str]:
    if schema is not None and schema.type is SchemaType.STRUCT:
        return [f"{_quoted(f.name)}:{_text(get_field(value, f), f.schema, embedded=True)}" for f in schema.fields]
    keys, values = (schema.key_schema, schema.value_schema) if schema is not None else (None, None)
    return [f"{_text(k, keys, embedded=True)}:{_text(v, values, embedded=True)}" for k, v in value.items()]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
