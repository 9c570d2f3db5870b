"""HoistField: the whole key or value becomes a field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.batch import Batch, Column
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type
from penstock.api.record import Field, Record, Schema, SchemaType

from .columns import column_of
from .sides import KeySide, SidedTransform, ValueSide
from .structs import SchemaCache, checked_fields, null_in_required


class HoistField(SidedTransform):
    """Wraps the key or value in a struct (a map without schema) of a single field."""

    config = ConfigDef(
        ConfigKey("field", Type.STRING, importance=Importance.MEDIUM, doc="The only field of the new struct or map."),
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        self._field: str = self.config.parse(settings)["field"]
        self._schemas = SchemaCache(self._wrapped)

    def change(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if schema is None:
            return None, {self._field: value}
        wrapped = self._schemas.get(schema)
        if value is None and not schema.optional:
            raise null_in_required(wrapped.fields[0])
        return wrapped, {self._field: value}

    def change_column(self, column: Column, batch: Batch) -> Column | None:
        schema = column.schema
        if schema is None:
            return column_of({self._field: column.array})
        if column.array.null_count and not schema.optional:
            return None
        wrapped = self._schemas.find(schema)
        return None if wrapped is None else column_of({self._field: column.array}, wrapped)

    def _wrapped(self, schema: Schema) -> Schema:
        return Schema(SchemaType.STRUCT, fields=checked_fields([Field(self._field, schema)]))


class HoistFieldKey(KeySide, HoistField):
    """Wraps the key."""

    java_class = "org.apache.kafka.connect.transforms.HoistField$Key"


class HoistFieldValue(ValueSide, HoistField):
    """Wraps the value."""

    java_class = "org.apache.kafka.connect.transforms.HoistField$Value"
