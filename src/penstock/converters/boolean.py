"""One byte, 0 or 1."""

from __future__ import annotations

from typing import Any, ClassVar

from penstock.api.errors import DataError
from penstock.api.record import OPTIONAL_BOOLEAN, Schema, SchemaType
from penstock.api.text import java_class

from .common import ValueAndHeaderConverter

_VALUES = {b"\x00": False, b"\x01": True}


class BooleanConverter(ValueAndHeaderConverter):
    """Booleans as one byte; anything else is a data error."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.converters.BooleanConverter"

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not SchemaType.BOOLEAN:
            raise DataError(f"Invalid schema type for BooleanConverter: {schema.type.name}")
        if value is None:
            return None
        if not isinstance(value, bool):
            kind = java_class(value, schema)
            raise DataError(f"BooleanConverter is not compatible with objects of type class {kind}")
        return b"\x01" if value else b"\x00"

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return OPTIONAL_BOOLEAN, None
        if data not in _VALUES:
            raise DataError("Failed to deserialize boolean: ")
        return OPTIONAL_BOOLEAN, _VALUES[data]
