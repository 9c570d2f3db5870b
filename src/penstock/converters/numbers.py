"""Numbers of a fixed width, big-endian."""

from __future__ import annotations

import struct
from struct import Struct
from typing import Any, ClassVar

from penstock.api.errors import DataError
from penstock.api.record import (
    OPTIONAL_FLOAT32,
    OPTIONAL_FLOAT64,
    OPTIONAL_INT16,
    OPTIONAL_INT32,
    OPTIONAL_INT64,
    Schema,
)
from penstock.api.text import java_class, round_to_float32

from .common import ValueAndHeaderConverter

_NAN = bytes.fromhex("7ff8000000000000")
"""The one form in which Java writes a double that is no number; a float keeps the bits it has."""


class _NumberConverter(ValueAndHeaderConverter):
    """The common part: a value must be of the one Java class that the converter is for."""

    kind: ClassVar[str]
    schema: ClassVar[Schema]
    layout: ClassVar[Struct]
    number_class: ClassVar[str]

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        actual = java_class(value, schema)
        if actual != self.number_class:
            raise DataError(f"Failed to serialize to {self.kind} (was class {actual}): ")
        try:
            return self.layout.pack(value)
        except struct.error:
            raise DataError(f"Failed to serialize to {self.kind}: {value} does not fit") from None

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return self.schema, None
        if len(data) != self.layout.size:
            raise DataError(f"Failed to deserialize {self.kind}: ")
        return self.schema, self.layout.unpack(data)[0]


class ShortConverter(_NumberConverter):
    """16-bit integers."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.converters.ShortConverter"
    kind = "short"
    schema = OPTIONAL_INT16
    layout = Struct(">h")
    number_class = "java.lang.Short"


class IntegerConverter(_NumberConverter):
    """32-bit integers."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.converters.IntegerConverter"
    kind = "integer"
    schema = OPTIONAL_INT32
    layout = Struct(">i")
    number_class = "java.lang.Integer"


class LongConverter(_NumberConverter):
    """64-bit integers."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.converters.LongConverter"
    kind = "long"
    schema = OPTIONAL_INT64
    layout = Struct(">q")
    number_class = "java.lang.Long"


class FloatConverter(_NumberConverter):
    """32-bit floats."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.converters.FloatConverter"
    kind = "float"
    schema = OPTIONAL_FLOAT32
    layout = Struct(">f")
    number_class = "java.lang.Float"

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        rounded = round_to_float32(value) if type(value) is float and value == value else value
        data = super().from_data(topic, schema, rounded)
        return data if value is None or value == value else _single_nan(value)

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        schema, value = super().to_data(topic, data)
        return schema, value if data is None or value == value else _double_nan(data)


def _double_nan(single: bytes) -> float:
    """What is no number, with all its bits: the hardware would change one on the way to 64 bits."""
    bits = int.from_bytes(single, "big")
    wide = (bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
    found: float = struct.unpack(">d", wide.to_bytes(8, "big"))[0]
    return found


def _single_nan(double: float) -> bytes:
    """The reverse of :func:`_double_nan`."""
    wide = int.from_bytes(struct.pack(">d", double), "big")
    bits = wide >> 29 & 0x7FFFFF or 0x400000
    return ((wide >> 63) << 31 | 0xFF << 23 | bits).to_bytes(4, "big")


class DoubleConverter(_NumberConverter):
    """64-bit floats."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.converters.DoubleConverter"
    kind = "double"
    schema = OPTIONAL_FLOAT64
    layout = Struct(">d")
    number_class = "java.lang.Double"

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        data = super().from_data(topic, schema, value)
        return data if value is None or value == value else _NAN
