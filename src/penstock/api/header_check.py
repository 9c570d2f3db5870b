"""Which values a header may have with its schema."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from typing import Any

from .errors import DataError
from .logical import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from .record import Millis, Schema, SchemaType
from .text import java_text, schema_text

_TYPES: dict[SchemaType, type] = {
    SchemaType.INT8: int,
    SchemaType.INT16: int,
    SchemaType.INT32: int,
    SchemaType.INT64: int,
    SchemaType.FLOAT32: float,
    SchemaType.FLOAT64: float,
    SchemaType.STRING: str,
    SchemaType.BYTES: bytes,
    SchemaType.ARRAY: list,
    SchemaType.MAP: dict,
    SchemaType.STRUCT: dict,
}
_DATES = {(SchemaType.INT32, DATE_NAME), (SchemaType.INT32, TIME_NAME), (SchemaType.INT64, TIMESTAMP_NAME)}


def check_header(schema: Schema | None, value: Any) -> None:
    """Raise ``DataError`` for a value that Kafka Connect does not let into a record's headers with this schema."""
    if schema is None:
        return
    if value is None:
        if not schema.optional:
            raise DataError(f"A null value requires an optional schema but was {schema_text(schema)}")
    elif not _fits(schema, value):
        raise DataError(f"The value {java_text(value, schema)} is not compatible with the schema {schema_text(schema)}")


def _fits(schema: Schema, value: Any) -> bool:
    if isinstance(value, (date, time, Millis)):
        return (schema.type, schema.name) in _DATES
    if isinstance(value, Decimal):
        return schema.type is SchemaType.BYTES and schema.name == DECIMAL_NAME
    if isinstance(value, bool) or schema.type is SchemaType.BOOLEAN:
        return isinstance(value, bool) and schema.type is SchemaType.BOOLEAN
    return isinstance(value, _TYPES[schema.type])
