"""SetSchemaMetadata: another name or version for a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.batch import Batch, Column
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type
from penstock.api.errors import ConfigError, DataError
from penstock.api.record import Record, Schema

from .columns import are_complete, is_nothing, members_of
from .sides import KeySide, SidedTransform, ValueSide
from .structs import REPLACE_NULL, SchemaCache, StructCopier, fields_of


class SetSchemaMetadata(SidedTransform):
    """Sets the name, the version or both of a struct's schema. A null without a schema passes."""

    config = ConfigDef(
        ConfigKey("schema.name", Type.STRING, None, Importance.HIGH, "The new name of the schema."),
        ConfigKey("schema.version", Type.INT, None, Importance.HIGH, "The new version of the schema."),
        REPLACE_NULL,
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        changes = {"name": parsed["schema.name"], "version": parsed["schema.version"]}
        self._changes = {attribute: value for attribute, value in changes.items() if value is not None}
        if not self._changes:
            raise ConfigError("Neither schema name nor version configured")
        self._with_default: bool = parsed["replace.null.with.default"]
        self._schemas = SchemaCache(self._renamed)

    def change(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if schema is None:
            if value is None:
                return None, None
            raise DataError("Schema required for [updating schema metadata]")
        renamed, copier = self._schemas.get(schema)
        return renamed, copier.copy(value) if isinstance(value, dict) else value

    def change_column(self, column: Column, batch: Batch) -> Column | None:
        schema = column.schema
        if schema is None:
            return column if is_nothing(column) else None
        members = members_of(column)
        if members is None or not are_complete(members, schema.fields, self._with_default):
            return None
        return Column(column.array, self._schemas.get(schema)[0])

    def _renamed(self, schema: Schema) -> tuple[Schema, StructCopier]:
        fields = fields_of(schema)
        return schema.with_(**self._changes), StructCopier(fields, self._with_default)


class SetSchemaMetadataKey(KeySide, SetSchemaMetadata):
    """Renames the key's schema."""

    java_class = "org.apache.kafka.connect.transforms.SetSchemaMetadata$Key"


class SetSchemaMetadataValue(ValueSide, SetSchemaMetadata):
    """Renames the value's schema."""

    java_class = "org.apache.kafka.connect.transforms.SetSchemaMetadata$Value"
