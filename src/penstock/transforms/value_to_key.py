"""ValueToKey: a key made of fields of the value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.api.batch import Batch
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, unique_list
from penstock.api.errors import DataError
from penstock.api.record import Field, Record, Schema, SchemaType
from penstock.api.transform import Transform

from .columns import are_complete, column_of, members_of
from .sides import with_key
from .structs import (
    REPLACE_NULL,
    SchemaCache,
    StructCopier,
    checked_fields,
    require_map,
    require_struct,
)

_PURPOSE = "copying fields from value to key"


class ValueToKey(Transform):
    """Replaces the key with a struct (a map without schema) of some fields of the value."""

    java_class = "org.apache.kafka.connect.transforms.ValueToKey"
    config = ConfigDef(
        ConfigKey(
            "fields",
            Type.LIST,
            importance=Importance.HIGH,
            validator=unique_list(allow_empty=False),
            doc="The fields of the value that make up the new key.",
        ),
        REPLACE_NULL,
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        self._fields: tuple[str, ...] = tuple(parsed["fields"])
        self._with_default: bool = parsed["replace.null.with.default"]
        self._schemas = SchemaCache(self._key_schema)

    def apply(self, record: Record) -> Record | None:
        schema = record.value_schema
        if schema is None:
            value = require_map(record.value, _PURPOSE)
            return with_key(record, None, {name: value.get(name) for name in self._fields})
        struct = require_struct(schema, record.value, _PURPOSE)
        key_schema, copier = self._schemas.get(schema)
        key = {name: struct.get(name) for name in self._fields}
        copier.complete(key)
        return with_key(record, key_schema, key)

    def apply_batch(self, batch: Batch) -> Batch | None:
        schema = batch.value.schema
        members = members_of(batch.value)
        if members is None:
            return None
        nothing = pa.nulls(len(batch))
        if schema is None:
            return batch.with_(key=column_of({name: members.get(name, nothing) for name in self._fields}))
        found = self._schemas.find(schema)
        if found is None or not are_complete(members, found[0].fields, self._with_default):
            return None
        key_schema = found[0]
        return batch.with_(key=column_of({name: members[name] for name in self._fields}, key_schema))

    def _key_schema(self, schema: Schema) -> tuple[Schema, StructCopier]:
        fields: list[Field] = []
        for name in self._fields:
            field = schema.by_name.get(name)
            if field is None:
                raise DataError(f"Field does not exist: {name}")
            fields.append(field)
        key_schema = Schema(SchemaType.STRUCT, fields=checked_fields(fields))
        return key_schema, StructCopier(fields, self._with_default)
