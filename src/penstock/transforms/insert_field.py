"""InsertField: what is known about a record, or a fixed text, as fields of its key or value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.api.config import ConfigDef, ConfigKey, Importance, Type
from penstock.api.errors import ConfigError, DataError
from penstock.api.logical import TIMESTAMP, from_millis
from penstock.api.record import INT32, INT64, STRING, Field, Int32, Record, Schema

from .sides import KeySide, SidedTransform, ValueSide
from .structs import REPLACE_NULL, SchemaCache, StructCopier, rebuilt, require_map, require_struct

_PURPOSE = "field insertion"
_SUFFIX = " End the name with ! for a required field; with ? or nothing the field is optional."


class _NewField(NamedTuple):
    name: str
    optional: bool

    @classmethod
    def parse(cls, text: str | None) -> _NewField | None:
        if text is None:
            return None
        if text.endswith(("?", "!")):
            return cls(text[:-1], text.endswith("?"))
        return cls(text, True)

    def of(self, schema: Schema) -> Field:
        return Field(self.name, schema.with_(optional=True) if self.optional else schema)


class InsertField(SidedTransform):
    """Adds the topic, partition, offset or timestamp of the record, or a fixed text, as fields. Null stays null."""

    config = ConfigDef(
        ConfigKey("topic.field", Type.STRING, None, Importance.MEDIUM, "The field for the topic's name." + _SUFFIX),
        ConfigKey("partition.field", Type.STRING, None, Importance.MEDIUM, "The field for the partition." + _SUFFIX),
        ConfigKey(
            "offset.field",
            Type.STRING,
            None,
            Importance.MEDIUM,
            "The field for the offset; only records of sink connectors have one." + _SUFFIX,
        ),
        ConfigKey("timestamp.field", Type.STRING, None, Importance.MEDIUM, "The field for the timestamp." + _SUFFIX),
        ConfigKey("static.field", Type.STRING, None, Importance.MEDIUM, "The field for the fixed text." + _SUFFIX),
        ConfigKey("static.value", Type.STRING, None, Importance.MEDIUM, "The fixed text; static.field needs it."),
        REPLACE_NULL,
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        names = ("topic.field", "partition.field", "offset.field", "timestamp.field", "static.field")
        self._topic, self._partition, self._offset, self._timestamp, self._static = (
            _NewField.parse(parsed[name]) for name in names
        )
        self._text: str | None = parsed["static.value"]
        self._with_default: bool = parsed["replace.null.with.default"]
        if not any((self._topic, self._partition, self._offset, self._timestamp, self._static)):
            raise ConfigError("No field insertion configured")
        if self._static is not None and self._text is None:
            spec = f"org.apache.kafka.connect.transforms.InsertField$InsertionSpec@{self._static.name}"
            raise ConfigError.invalid("static.value", None, f"No value specified for static field: {spec}")
        self._schemas = SchemaCache(self._extended)

    def change(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        if schema is None:
            result = require_map(value, _PURPOSE).copy()
            self._insert(result, record, typed=False)
            return None, result
        struct = require_struct(schema, value, _PURPOSE)
        extended, copier = self._schemas.get(schema)
        result = copier.copy(struct)
        self._insert(result, record, typed=True)
        return extended, result

    def _insert(self, target: dict[str, Any], record: Record, typed: bool) -> None:
        if self._topic is not None:
            target[self._topic.name] = record.topic
        if self._partition is not None and record.partition is not None:
            target[self._partition.name] = record.partition if typed else Int32(record.partition)
        if self._offset is not None:
            if record.offset is None:
                found = "org.apache.kafka.connect.source.SourceRecord"
                raise DataError(f"Only SinkRecord supported for [{_PURPOSE}], found: {found}")
            target[self._offset.name] = record.offset
        if self._timestamp is not None and record.timestamp is not None:
            target[self._timestamp.name] = from_millis(record.timestamp) if typed else record.timestamp
        if self._static is not None:
            target[self._static.name] = self._text

    def _extended(self, schema: Schema) -> tuple[Schema, StructCopier]:
        candidates = (
            (self._topic, STRING),
            (self._partition, INT32),
            (self._offset, INT64),
            (self._timestamp, TIMESTAMP),
            (self._static, STRING),
        )
        added = [new.of(kind) for new, kind in candidates if new is not None]
        return rebuilt(schema, [*schema.fields, *added]), StructCopier(schema.fields, self._with_default)


class InsertFieldKey(KeySide, InsertField):
    """Adds fields to the key."""

    java_class = "org.apache.kafka.connect.transforms.InsertField$Key"


class InsertFieldValue(ValueSide, InsertField):
    """Adds fields to the value."""

    java_class = "org.apache.kafka.connect.transforms.InsertField$Value"
