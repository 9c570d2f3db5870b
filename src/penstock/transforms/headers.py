"""DropHeaders, InsertHeader, HeaderFrom: headers taken off, put on, and made from fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.api.batch import Batch
from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, non_null, one_of, unique_list
from penstock.api.errors import ConfigError, DataError
from penstock.api.header_check import check_header
from penstock.api.record import Field, Header, Record, Schema, get_field
from penstock.api.transform import Transform
from penstock.api.values import parse_text

from .sides import SidedTransform, with_headers, with_key, with_value
from .structs import (
    NULL_POINTER,
    REPLACE_NULL,
    SchemaCache,
    StructCopier,
    non_empty_list,
    rebuilt,
    require_map,
    require_struct,
)


class DropHeaders(Transform):
    """Takes headers off every record."""

    java_class = "org.apache.kafka.connect.transforms.DropHeaders"
    config = ConfigDef(
        ConfigKey(
            "headers",
            Type.LIST,
            importance=Importance.HIGH,
            validator=unique_list(allow_empty=False),
            doc="The names of the headers to take off.",
        ),
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        self._names = frozenset(self.config.parse(settings)["headers"])

    def apply(self, record: Record) -> Record | None:
        kept = tuple(header for header in record.headers if header.key not in self._names)
        return record if len(kept) == len(record.headers) else with_headers(record, kept)

    def apply_batch(self, batch: Batch) -> Batch | None:
        return batch.with_(headers=tuple(header for header in batch.headers if header.key not in self._names))


class InsertHeader(Transform):
    """Puts a header with a fixed value on every record; the value's type is guessed from its text."""

    java_class = "org.apache.kafka.connect.transforms.InsertHeader"
    config = ConfigDef(
        ConfigKey("header", Type.STRING, importance=Importance.HIGH, validator=non_null, doc="The name of the header."),
        ConfigKey(
            "value.literal",
            Type.STRING,
            importance=Importance.HIGH,
            validator=non_null,
            doc="The value of the header, written as text: null, true, a number, a date, [1, 2], {a: 1} or a string.",
        ),
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        schema, value = parse_text(parsed["value.literal"])
        self._header = Header(parsed["header"], value, schema)

    def apply(self, record: Record) -> Record | None:
        return with_headers(record, (*record.headers, self._header))

    def apply_batch(self, batch: Batch) -> Batch | None:
        return batch.with_(headers=(*batch.headers, self._header))


class _MovePlan(NamedTuple):
    schema: Schema
    copier: StructCopier | None


class HeaderFrom(SidedTransform):
    """Moves or copies fields into headers."""

    config = ConfigDef(
        ConfigKey(
            "fields",
            Type.LIST,
            importance=Importance.HIGH,
            validator=non_empty_list,
            doc="The fields that become headers.",
        ),
        ConfigKey(
            "headers",
            Type.LIST,
            importance=Importance.HIGH,
            validator=non_empty_list,
            doc="The names of the headers, one for each of the fields and in their order.",
        ),
        ConfigKey(
            "operation",
            Type.STRING,
            importance=Importance.HIGH,
            validator=one_of("move", "copy"),
            doc="Whether the fields leave the key or value (move) or also stay in it (copy).",
        ),
        REPLACE_NULL,
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        fields, headers = parsed["fields"], parsed["headers"]
        if len(fields) != len(headers):
            raise ConfigError("'fields' config must have the same number of elements as 'headers' config.")
        self._pairs: tuple[tuple[str, str], ...] = tuple(zip(fields, headers, strict=True))
        self._moved = frozenset(fields) if parsed["operation"] == "move" else frozenset()
        self._purpose = f"header {parsed['operation']}"
        self._with_default: bool = parsed["replace.null.with.default"]
        self._plans = SchemaCache(self._plan)

    def change(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if schema is None:
            mapping = require_map(value, self._purpose)
            return None, {name: item for name, item in mapping.items() if name not in self._moved}
        struct = require_struct(schema, value, self._purpose)
        plan = self._plans.get(schema)
        if plan.copier is None:
            return schema, struct
        kept = {name: item for name, item in struct.items() if name not in self._moved}
        plan.copier.complete(kept)
        return plan.schema, kept

    def _plan(self, schema: Schema) -> _MovePlan:
        if not self._moved:
            return _MovePlan(schema, None)
        kept = [field for field in schema.fields if field.name not in self._moved]
        return _MovePlan(rebuilt(schema, kept), StructCopier(kept, self._with_default))

    def _headers(self, schema: Schema | None, value: dict[str, Any], record: Record) -> tuple[Header, ...]:
        if schema is None:
            made = [Header(header, value.get(name)) for name, header in self._pairs]
        else:
            made = [self._typed_header(schema.by_name.get(name), header, value) for name, header in self._pairs]
        return (*record.headers, *made)

    def _typed_header(self, field: Field | None, header: str, struct: dict[str, Any]) -> Header:
        if field is None:
            raise DataError(
                'Cannot invoke "org.apache.kafka.connect.data.Field.schema()" because the return value of '
                '"org.apache.kafka.connect.data.Schema.field(String)" is null',
                NULL_POINTER,
            )
        value = get_field(struct, field, self._with_default)
        check_header(field.schema, value)
        return Header(header, value, field.schema)


class HeaderFromKey(HeaderFrom):
    """Makes headers of fields of the key."""

    java_class = "org.apache.kafka.connect.transforms.HeaderFrom$Key"
    is_key = True

    def apply(self, record: Record) -> Record | None:
        schema, key = self.change(record.key_schema, record.key, record)
        return with_key(record, schema, key, self._headers(record.key_schema, record.key, record))


class HeaderFromValue(HeaderFrom):
    """Makes headers of fields of the value."""

    java_class = "org.apache.kafka.connect.transforms.HeaderFrom$Value"
    is_key = False

    def apply(self, record: Record) -> Record | None:
        schema, value = self.change(record.value_schema, record.value, record)
        return with_value(record, schema, value, self._headers(record.value_schema, record.value, record))
