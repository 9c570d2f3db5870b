"""Reading, copying and rebuilding structs and their schemas with Kafka Connect's checks and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from penstock.api.config import ConfigKey, Importance, Type
from penstock.api.errors import ConfigError, DataError
from penstock.api.record import Field, Schema, SchemaType
from penstock.api.text import java_class
from penstock.api.validation import validate_value

CONNECT_EXCEPTION = "org.apache.kafka.connect.errors.ConnectException"
SCHEMA_BUILDER_EXCEPTION = "org.apache.kafka.connect.errors.SchemaBuilderException"
ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
NULL_POINTER = "java.lang.NullPointerException"

REPLACE_NULL = ConfigKey(
    "replace.null.with.default",
    Type.BOOLEAN,
    True,
    Importance.MEDIUM,
    "What a field that is null but has a default counts as: its default (true) or null (false).",
)


def non_empty_list(name: str, value: Any) -> None:
    """A configured list needs at least one entry."""
    if not value:
        raise ConfigError.invalid(name, None if value is None else "[]", "Empty list")


def require_map(value: Any, purpose: str) -> dict[str, Any]:
    """A value without schema as a map, or Kafka Connect's error."""
    if not isinstance(value, dict):
        found = "null" if value is None else java_class(value)
        raise DataError(f"Only Map objects supported in absence of schema for [{purpose}], found: {found}")
    return value


def require_struct(schema: Schema, value: Any, purpose: str) -> dict[str, Any]:
    """A value with a schema as a struct, or Kafka Connect's error."""
    if schema.type is not SchemaType.STRUCT or not isinstance(value, dict):
        found = "null" if value is None else java_class(value, schema)
        raise DataError(f"Only Struct objects supported for [{purpose}], found: {found}")
    return value


def fields_of(schema: Schema) -> tuple[Field, ...]:
    """The fields of a struct schema; other schemas have none to list."""
    if schema.type is not SchemaType.STRUCT:
        raise DataError("Cannot list fields on non-struct type")
    return schema.fields


def field_of(schema: Schema, name: str) -> Field | None:
    """A field of a struct schema by name; other schemas cannot be asked."""
    if schema.type is not SchemaType.STRUCT:
        raise DataError("Cannot look up fields on non-struct type")
    return schema.by_name.get(name)


def rebuilt(schema: Schema, fields: Iterable[Field]) -> Schema:
    """A required struct schema with other fields and the same name, version, doc and parameters."""
    return Schema(
        SchemaType.STRUCT,
        name=schema.name,
        version=schema.version,
        doc=schema.doc,
        parameters=schema.parameters or None,
        fields=checked_fields(fields),
    )


def checked_fields(fields: Iterable[Field]) -> tuple[Field, ...]:
    """The fields of a new struct schema: each with a name, none twice."""
    seen: dict[str, Field] = {}
    for field in fields:
        if not field.name:
            raise DataError("fieldName cannot be null.", SCHEMA_BUILDER_EXCEPTION)
        if field.name in seen:
            message = f"Cannot create field because of field name duplication {field.name}"
            raise DataError(message, SCHEMA_BUILDER_EXCEPTION)
        seen[field.name] = field
    return tuple(seen.values())


def with_default(schema: Schema, default: Any) -> Schema:
    """A new schema with a default, which has to be a value of that schema."""
    try:
        validate_value(schema, default)
    except DataError:
        raise DataError("Invalid default value", SCHEMA_BUILDER_EXCEPTION) from None
    return schema.with_(default=default)


def null_in_required(field: Field) -> DataError:
    """The error of putting null into a required field."""
    kind = field.schema.type.name
    return DataError(f'Invalid value: null used for required field: "{field.name}", schema type: {kind}')


class StructCopier:
    """Copies structs of one schema into new dicts, filling in defaults and refusing nulls that are not allowed."""

    __slots__ = ("_watched",)

    def __init__(self, fields: Iterable[Field], with_default: bool) -> None:
        self._watched = tuple(
            (field.name, field, field.schema.default_value if with_default else None)
            for field in fields
            if not field.schema.optional or (with_default and field.schema.default_value is not None)
        )

    def copy(self, struct: dict[str, Any]) -> dict[str, Any]:
        """A new dict with all that the old one has, and the defaults."""
        result = struct.copy()
        self.complete(result)
        return result

    def complete(self, struct: dict[str, Any]) -> None:
        """Fill in defaults in place, in a dict that nobody else holds."""
        for name, field, default in self._watched:
            if struct.get(name) is None:
                if default is None:
                    raise null_in_required(field)
                struct[name] = default


Derived = TypeVar("Derived")

_CACHE_SIZE = 256


class SchemaCache(Generic[Derived]):
    """What was worked out for a schema, looked up by the schema; the last one costs next to nothing."""

    __slots__ = ("_derive", "_known", "_last", "_result")

    def __init__(self, derive: Callable[[Schema], Derived]) -> None:
        self._derive = derive
        self._known: dict[Schema, Derived] = {}
        self._last: Schema | None = None
        self._result: Derived

    def get(self, schema: Schema) -> Derived:
        """What ``derive`` gives for the schema. Its errors are not remembered."""
        if schema is self._last:
            return self._result
        result = self._known.get(schema)
        if result is None:
            result = self._derive(schema)
            if len(self._known) >= _CACHE_SIZE:
                self._known.clear()
            self._known[schema] = result
        self._last = schema
        self._result = result
        return result

    def find(self, schema: Schema) -> Derived | None:
        """The same for column forms; ``None`` when the schema is refused, which each record then reports by itself."""
        try:
            return self.get(schema)
        except DataError:
            return None
