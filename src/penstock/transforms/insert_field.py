"""InsertField: what is known about a record, or a fixed text, as fields of its key or value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.batch import Batch, Column
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type
from penstock.api.errors import ConfigError, DataError
from penstock.api.logical import TIMESTAMP, from_millis
from penstock.api.record import INT32, INT64, STRING, Field, Int32, Record, Schema

from .columns import Members, are_complete, column_of, is_nothing, members_of, same
from .sides import KeySide, SidedTransform, ValueSide
from .structs import REPLACE_NULL, SchemaCache, StructCopier, rebuilt, require_map, require_struct

_PURPOSE = "field insertion"
_FIRST_DATETIME, _LAST_DATETIME = -62_135_596_800_000, 253_402_300_799_999
"""Milliseconds since 1970 from year 1 to 9999."""

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

    def change_column(self, column: Column, batch: Batch) -> Column | None:
        schema = column.schema
        if is_nothing(column):
            return column
        members = members_of(column)
        if members is None:
            return None
        if schema is not None:
            if not are_complete(members, schema.fields, self._with_default):
                return None
            extended = self._schemas.find(schema)
            if extended is None:
                return None
            schema = extended[0]
        inserted = self._insert_columns(members, batch, typed=schema is not None)
        return column_of(members, schema) if inserted else None

    def _insert_columns(self, members: Members, batch: Batch, typed: bool) -> bool:
        """Whether it could be done for all records."""
        size = len(batch)
        if self._topic is not None:
            members[self._topic.name] = same(batch.topic, pa.string(), size)
        for new, known, kind in (
            (self._partition, batch.partition, pa.int32()),
            (self._offset, batch.offset, pa.int64()),
            (self._timestamp, batch.timestamp, pa.timestamp("ms", "UTC") if typed else pa.int64()),
        ):
            if new is None:
                continue
            if known is None or known.null_count == size:
                if typed or new is self._offset:
                    return False
                continue
            if known.null_count or (typed and new is self._timestamp and not _all_fit_datetime(known)):
                return False
            members[new.name] = known.cast(pa.int64()).cast(kind)
        if self._static is not None:
            members[self._static.name] = same(self._text, pa.string(), size)
        return True

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


def _all_fit_datetime(millis: pa.Array) -> bool:
    found = pc.min_max(millis).as_py()
    return bool(found["min"] >= _FIRST_DATETIME and found["max"] <= _LAST_DATETIME)


class InsertFieldKey(KeySide, InsertField):
    """Adds fields to the key."""

    java_class = "org.apache.kafka.connect.transforms.InsertField$Key"


class InsertFieldValue(ValueSide, InsertField):
    """Adds fields to the value."""

    java_class = "org.apache.kafka.connect.transforms.InsertField$Value"
