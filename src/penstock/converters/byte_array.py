"""Bytes as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from penstock.api.batch import Column
from penstock.api.errors import DataError
from penstock.api.logical import DECIMAL_NAME
from penstock.api.record import OPTIONAL_BYTES, Schema, SchemaType
from penstock.api.text import java_class

from .common import ValueAndHeaderConverter

if TYPE_CHECKING:
    import pyarrow as pa


class ByteArrayConverter(ValueAndHeaderConverter):
    """Passes bytes through; columns without a copy."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.converters.ByteArrayConverter"

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not SchemaType.BYTES:
            raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.name}")
        if value is None or isinstance(value, bytes):
            return value
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        kind = java_class(value, schema)
        raise DataError(f"ByteArrayConverter is not compatible with objects of type class {kind}")

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return OPTIONAL_BYTES, data

    def encode(self, topic: str, column: Column) -> pa.Array | None:
        import pyarrow as pa

        schema, kind = column.schema, column.array.type
        if schema is not None and (schema.type is not SchemaType.BYTES or schema.name == DECIMAL_NAME):
            return None
        return column.array if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else None

    def decode(self, topic: str, data: pa.Array) -> Column | None:
        return Column(data, OPTIONAL_BYTES)
