"""ExtractField: one field becomes the whole key or value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.api.batch import Batch, Column
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type
from penstock.api.errors import DataError
from penstock.api.record import Record, Schema

from .columns import is_nothing, members_of
from .field_path import SYNTAX_VERSION, FieldPath
from .sides import KeySide, SidedTransform, ValueSide
from .structs import ILLEGAL_ARGUMENT, REPLACE_NULL, SchemaCache, require_map, require_struct

_PURPOSE = "field extraction"


class ExtractField(SidedTransform):
    """Puts one field, possibly a nested one, in the place of the struct or map it is in. Null stays null."""

    config = ConfigDef(
        ConfigKey("field", Type.STRING, importance=Importance.MEDIUM, doc="The field to take out."),
        SYNTAX_VERSION,
        REPLACE_NULL,
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        self._path = FieldPath(parsed["field"], parsed["field.syntax.version"])
        self._with_default: bool = parsed["replace.null.with.default"]
        self._schemas = SchemaCache(self._field_schema)

    def change(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if schema is None:
            return None, None if value is None else self._path.value_in_map(require_map(value, _PURPOSE))
        struct = None if value is None else require_struct(schema, value, _PURPOSE)
        found = self._schemas.get(schema)
        return found, self._path.value_in_struct(schema, struct, self._with_default)

    def change_column(self, column: Column, batch: Batch) -> Column | None:
        schema = column.schema
        if is_nothing(column):
            return column if schema is None else None
        for step in self._path.steps:
            members = members_of(column)
            if members is None:
                return None
            if column.schema is None:
                column = Column(members.get(step, pa.nulls(len(batch))))
            elif step in members:
                column = Column(members[step], column.schema.by_name[step].schema)
            else:
                return None
        found = None if schema is None else self._schemas.find(schema)
        if schema is not None and found is None:
            return None
        if column.array.null_count and self._with_default and found is not None and found.default_value is not None:
            return None
        return Column(column.array, found) if self._path.steps else None

    def _field_schema(self, schema: Schema) -> Schema:
        field = self._path.field_in(schema)
        if field is None:
            raise DataError(f"Unknown field: {self._path.text}", ILLEGAL_ARGUMENT)
        return field.schema


class ExtractFieldKey(KeySide, ExtractField):
    """Takes a field out of the key."""

    java_class = "org.apache.kafka.connect.transforms.ExtractField$Key"


class ExtractFieldValue(ValueSide, ExtractField):
    """Takes a field out of the value."""

    java_class = "org.apache.kafka.connect.transforms.ExtractField$Value"
