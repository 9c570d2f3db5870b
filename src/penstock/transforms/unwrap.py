"""Unwrap: a change event of a database becomes the row it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, one_of
from penstock.api.errors import ConfigError, DataError
from penstock.api.record import OPTIONAL_STRING, Field, Header, Record, Schema, SchemaType
from penstock.api.transform import Transform

from .sides import with_value
from .structs import SchemaCache, checked_fields

DROP = "drop"
TOMBSTONE = "tombstone"
REWRITE = "rewrite"
REWRITE_WITH_TOMBSTONE = "rewrite-with-tombstone"
DELETE_TO_TOMBSTONE = "delete-to-tombstone"
DELETED = "__deleted"

_REWRITING = (REWRITE, REWRITE_WITH_TOMBSTONE)
_KEEPING_TOMBSTONES = (TOMBSTONE, REWRITE_WITH_TOMBSTONE)
_ROW_OPERATIONS = frozenset("crud")
_OF_THE_EVENT = frozenset({"op", "ts_ms", "ts_us", "ts_ns"})
_OF_THE_TRANSACTION = frozenset({"id", "total_order", "data_collection_order"})
_REPLACED_KEYS = ("drop.tombstones", "delete.handling.mode")


class _Reference(NamedTuple):
    """A piece of the event's metadata: the struct it is in (``None``: the event itself), its name there and here."""

    struct: str | None
    field: str
    target: str

    @classmethod
    def parse(cls, text: str, prefix: str) -> _Reference:
        path, _, alias = text.partition(":")
        struct, dot, field = path.strip().rpartition(".")
        if not field:
            raise ConfigError(f"'{text}' does not name a field: write op, table, source.ts_ms or op:operation")
        name = alias.strip() or (f"{struct}_{field}" if dot else field)
        return cls(struct if dot else _home(field), field, prefix + name)

    def value(self, event: Mapping[str, Any]) -> Any:
        holder = event if self.struct is None else event.get(self.struct)
        return None if holder is None else holder.get(self.field)

    def schema(self, event: Schema) -> Schema:
        holder: Schema | None = event
        if self.struct is not None:
            member = event.by_name.get(self.struct)
            holder = None if member is None else member.schema
        found = None if holder is None else holder.by_name.get(self.field)
        if found is None:
            where = "the event" if self.struct is None else f"its '{self.struct}'"
            raise DataError(f"The change event has no field '{self.field}' in {where}, which '{self.target}' asks for")
        return found.schema.with_(optional=True)


def _home(field: str) -> str | None:
    if field in _OF_THE_EVENT:
        return None
    return "transaction" if field in _OF_THE_TRANSACTION else "source"


class _Schemas(NamedTuple):
    """What follows from the schema of an event."""

    created: Schema | None
    deleted: Schema | None
    headers: tuple[Schema, ...]


class Unwrap(Transform):
    """Replaces a change event in Debezium's form with its row after the change; deletes as configured.

    What is no such event passes unchanged. Events about something else than one row (truncate, message) are dropped.
    """

    java_class = "io.debezium.transforms.ExtractNewRecordState"
    config = ConfigDef(
        ConfigKey(
            "delete.tombstone.handling.mode",
            Type.STRING,
            TOMBSTONE,
            Importance.MEDIUM,
            "What becomes of a delete event, and of the tombstone that may follow it. drop: both are dropped."
            " tombstone: the event is dropped, the tombstone stays. rewrite: the event becomes the row before, with"
            " __deleted = 'true' ('false' in all other rows), the tombstone is dropped. rewrite-with-tombstone: the"
            " same, the tombstone stays. delete-to-tombstone: the event becomes a tombstone, the one that follows is"
            " dropped.",
            one_of(DROP, TOMBSTONE, REWRITE, REWRITE_WITH_TOMBSTONE, DELETE_TO_TOMBSTONE),
        ),
        ConfigKey(
            "add.fields",
            Type.LIST,
            [],
            Importance.LOW,
            "Metadata of the event to add to the row: op, ts_ms, a field of source (table, lsn), or with its struct"
            " (source.ts_ms, transaction.id). A name of one's own follows a colon: op:operation.",
        ),
        ConfigKey("add.fields.prefix", Type.STRING, "__", Importance.LOW, "Put before the names of added fields."),
        ConfigKey("add.headers", Type.LIST, [], Importance.LOW, "Metadata of the event to add as headers."),
        ConfigKey("add.headers.prefix", Type.STRING, "__", Importance.LOW, "Put before the names of added headers."),
        ConfigKey(
            "route.by.field",
            Type.STRING,
            "",
            Importance.LOW,
            "A field of the row whose value becomes the topic; empty leaves the topic as it is.",
        ),
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        for key in _REPLACED_KEYS:
            if key in settings:
                raise ConfigError(f"{key} is not used any more: set delete.tombstone.handling.mode instead")
        parsed = self.config.parse(settings)
        self._mode: str = parsed["delete.tombstone.handling.mode"]
        self._route: str = parsed["route.by.field"]
        self._fields = [_Reference.parse(text, parsed["add.fields.prefix"]) for text in parsed["add.fields"]]
        self._headers = [_Reference.parse(text, parsed["add.headers.prefix"]) for text in parsed["add.headers"]]
        self._schemas = SchemaCache(self._derive)

    def apply(self, record: Record) -> Record | None:
        if record.value is None:
            return record if self._mode in _KEEPING_TOMBSTONES else None
        if not _is_event(record.value_schema, record.value):
            return record
        operation = record.value["op"]
        if operation not in _ROW_OPERATIONS:
            return None
        return self._deleted(record) if operation == "d" else self._with_row(record, "after")

    def _deleted(self, record: Record) -> Record | None:
        if self._mode in (DROP, TOMBSTONE):
            return None
        if self._mode == DELETE_TO_TOMBSTONE or record.value.get("before") is None:
            return with_value(record, None, None, self._all_headers(record))
        return self._with_row(record, "before")

    def _with_row(self, record: Record, side: str) -> Record:
        event, row = record.value, record.value.get(side)
        if row is None:
            raise DataError(f"The change event has the operation '{event['op']}' but nothing in '{side}'")
        row = {**row, **{added.target: added.value(event) for added in self._fields}}
        if self._mode in _REWRITING:
            row[DELETED] = "true" if side == "before" else "false"
        schema = record.value_schema
        if schema is not None:
            derived = self._schemas.get(schema)
            schema = derived.created if side == "after" else derived.deleted
        changed = with_value(record, schema, row, self._all_headers(record))
        if self._route:
            changed.topic = self._topic(row)
        return changed

    def _topic(self, row: Mapping[str, Any]) -> str:
        topic = row.get(self._route)
        if not isinstance(topic, str):
            raise DataError(f"The field '{self._route}' of the row is to be its topic, but it is {topic!r}")
        return topic

    def _all_headers(self, record: Record) -> Sequence[Header]:
        if not self._headers:
            return record.headers
        schemas: Sequence[Schema | None] = [None] * len(self._headers)
        if record.value_schema is not None:
            schemas = self._schemas.get(record.value_schema).headers
        event = record.value
        added = [Header(h.target, h.value(event), s) for h, s in zip(self._headers, schemas, strict=True)]
        return [*record.headers, *added]

    def _derive(self, event: Schema) -> _Schemas:
        return _Schemas(
            self._row_schema(event, "after"),
            self._row_schema(event, "before"),
            tuple(header.schema(event) for header in self._headers),
        )

    def _row_schema(self, event: Schema, side: str) -> Schema | None:
        member = event.by_name.get(side)
        if member is None:
            return None
        fields = [*member.schema.fields, *(Field(added.target, added.schema(event)) for added in self._fields)]
        if self._mode in _REWRITING:
            fields.append(Field(DELETED, OPTIONAL_STRING))
        return member.schema.with_(fields=checked_fields(fields))


def _is_event(schema: Schema | None, value: Any) -> bool:
    if not isinstance(value, dict) or (schema is not None and schema.type is not SchemaType.STRUCT):
        return False
    names: Mapping[str, Any] = value if schema is None else schema.by_name
    return "op" in names and value.get("op") is not None and ("after" in names or "before" in names)
