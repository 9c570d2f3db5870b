"""Whether a value is what its schema says, with Kafka Connect's words for what is wrong."""

from __future__ import annotations

from typing import Any

from .errors import DataError
from .logical import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from .record import FrozenKey, Schema, SchemaType
from .text import java_class

_LOGICAL_CLASSES = {
    DECIMAL_NAME: "java.math.BigDecimal",
    DATE_NAME: "java.util.Date",
    TIME_NAME: "java.util.Date",
    TIMESTAMP_NAME: "java.util.Date",
}
_CLASSES = {
    SchemaType.INT8: "java.lang.Byte",
    SchemaType.INT16: "java.lang.Short",
    SchemaType.INT32: "java.lang.Integer",
    SchemaType.INT64: "java.lang.Long",
    SchemaType.FLOAT32: "java.lang.Float",
    SchemaType.FLOAT64: "java.lang.Double",
    SchemaType.BOOLEAN: "java.lang.Boolean",
    SchemaType.STRING: "java.lang.String",
    SchemaType.BYTES: "[B",
    SchemaType.ARRAY: "java.util.ArrayList",
    SchemaType.MAP: "java.util.HashMap",
    SchemaType.STRUCT: "org.apache.kafka.connect.data.Struct",
}


def validate_value(schema: Schema, value: Any, field: str | None = None) -> None:
    """Raise ``DataError`` when the value (of the named field) does not fit the schema, inside and out."""
    _validate(schema, value, "value" if field is None else f'field: "{field}"')


def validate_struct(schema: Schema, struct: dict[str, Any]) -> None:
    """Raise ``DataError`` for the first field that does not fit; null is fine where there is a default."""
    for name, member in schema.fields:
        value = struct.get(name)
        if value is not None or not (member.optional or member.default_value is not None):
            validate_value(member, value, name)


def _validate(schema: Schema, value: Any, location: str) -> None:
    if value is None:
        if not schema.optional:
            kind = schema.type.name
            raise DataError(f"Invalid value: null used for required {location}, schema type: {kind}")
        return
    expected = _LOGICAL_CLASSES.get(schema.name or "") or _CLASSES[schema.type]
    actual = java_class(value, schema)
    if actual != expected:
        named = "" if schema.name is None else f' "{schema.name}"'
        raise DataError(
            f"Invalid Java object for schema{named} with type {schema.type.name}: class {actual} for {location}"
        )
    if schema.type is SchemaType.STRUCT:
        validate_struct(schema, value)
    elif schema.type is SchemaType.ARRAY:
        _validate_all(schema.value_schema, value, f"element of array {location}")
    elif schema.type is SchemaType.MAP:
        _validate_all(schema.key_schema, value, f"key of map {location}")
        _validate_all(schema.value_schema, value.values(), f"value of map {location}")


def _validate_all(schema: Schema | None, values: Any, location: str) -> None:
    if schema is None:
        raise DataError(f"No schema defined for {location}")
    for value in values:
        _validate(schema, value.value if isinstance(value, FrozenKey) else value, location)
