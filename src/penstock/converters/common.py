"""What the converters share: the Kafka Connect version they follow, their common key, headers done like values."""

from __future__ import annotations

from typing import Any, ClassVar

from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, one_of
from penstock.api.converter import Converter, HeaderConverter
from penstock.api.record import Schema

KAFKA_VERSION = "4.3.1"

CONVERTER_TYPE = ConfigKey(
    "converter.type",
    Type.STRING,
    importance=Importance.LOW,
    doc="How this converter will be used.",
    validator=one_of("key", "value", "header"),
)


class ValueAndHeaderConverter(Converter, HeaderConverter):
    """A converter that treats header values like any other values."""

    version: ClassVar[str] = KAFKA_VERSION
    config: ClassVar[ConfigDef] = ConfigDef(CONVERTER_TYPE)

    def from_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_data(topic, schema, value)

    def to_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return self.to_data(topic, data)
