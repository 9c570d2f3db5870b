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


class NumberConverter(ValueAndHeaderConverter):
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


class ShortConverter(NumberConverter):
    """16-bit integers."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.converters.ShortConverter"
    kind = "short"
    schema = OPTIONAL_INT16
    layout = Struct(">h")
    number_class = "java.lang.Short"


class IntegerConverter(NumberConverter):
    """32-bit integers."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.converters.IntegerConverter"
    kind = "integer"
    schema = OPTIONAL_INT32
    layout = Struct(">i")
    number_class = "java.lang.Integer"


class LongConverter(NumberConverter):
    """64-bit integers."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.converters.LongConverter"
    kind = "long"
    schema = OPTIONAL_INT64
    layout = Struct(">q")
    number_class = "java.lang.Long"


class FloatConverter(NumberConverter):
    """32-bit floats."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.converters.FloatConverter"
    kind = "float"
    schema = OPTIONAL_FLOAT32
    layout = Struct(">f")
    number_class = "java.lang.Float"

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        rounded = round_to_float32(value) if type(value) is float else value
        return super().from_data(topic, schema, rounded)


class DoubleConverter(NumberConverter):
    """64-bit floats."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.converters.DoubleConverter"
    kind = "double"
    schema = OPTIONAL_FLOAT64
    layout = Struct(">d")
    number_class = "java.lang.Double"
