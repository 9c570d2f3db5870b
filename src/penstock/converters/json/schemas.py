"""Schemas in their JSON form, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.errors import DataError
from penstock.api.logical import wrap
from penstock.api.record import NO_DEFAULT, Field, Schema, SchemaType
from penstock.api.validation import validate_value

from .decoding import reader_for
from .encoding import Style, quote, writer_for

_BUILDER_ERROR = "org.apache.kafka.connect.errors.SchemaBuilderException"
_NAMES = {kind: kind.value for kind in SchemaType} | {SchemaType.FLOAT32: "float", SchemaType.FLOAT64: "double"}
_TYPES = {name: kind for kind, name in _NAMES.items()}


def schema_text(schema: Schema | None, style: Style, field: str | None = None) -> str:
    """The JSON form of a schema; ``field`` adds the name under which it belongs to a struct."""
    if schema is None:
        return "null"
    parts = [f'"type":"{_NAMES[schema.type]}"']
    if schema.type is SchemaType.ARRAY:
        parts.append(f'"items":{schema_text(schema.value_schema, style)}')
    elif schema.type is SchemaType.MAP:
        parts.append(f'"keys":{schema_text(schema.key_schema, style)}')
        parts.append(f'"values":{schema_text(schema.value_schema, style)}')
    elif schema.type is SchemaType.STRUCT:
        members = [schema_text(f.schema, style, field=f.name) for f in schema.fields]
        parts.append(f'"fields":[{",".join(members)}]')
    parts.append(f'"optional":{"true" if schema.optional else "false"}')
    parts.extend(_attributes(schema, style))
    if field is not None:
        parts.append(f'"field":{quote(field)}')
    return "{" + ",".join(parts) + "}"


def _attributes(schema: Schema, style: Style) -> list[str]:
    parts = []
    if schema.name is not None:
        parts.append(f'"name":{quote(schema.name)}')
    if schema.version is not None:
        parts.append(f'"version":{schema.version}')
    if schema.doc is not None:
        parts.append(f'"doc":{quote(schema.doc)}')
    if schema.parameters is not None:
        members = [f"{quote(key)}:{quote(value)}" for key, value in schema.parameters.items()]
        parts.append(f'"parameters":{{{",".join(members)}}}')
    if schema.default_value is not None:
        parts.append(f'"default":{writer_for(schema, style)(schema.default_value)}')
    return parts


def schema_from_node(node: Any, replace_null: bool) -> Schema | None:
    """The schema that a JSON tree describes; ``None`` for null."""
    if node is None:
        return None
    members = node if isinstance(node, dict) else {}
    type_name = members.get("type")
    if not isinstance(type_name, str):
        raise DataError("Schema must contain 'type' field")
    kind = _TYPES.get(type_name)
    if kind is None:
        raise DataError(f"Unknown schema type: {type_name}")
    version = members.get("version")
    schema = Schema(
        kind,
        optional=members.get("optional") is True,
        name=_text(members, "name"),
        version=wrap(version, 32) if type(version) is int else None,
        doc=_text(members, "doc"),
        parameters=None,
        **_inner_schemas(kind, members, replace_null),
    )
    parameters = _parameters(members.get("parameters"))
    return _with_default(schema.with_(parameters=parameters), members, replace_null)


def _text(members: Mapping[str, Any], name: str) -> str | None:
    value = members.get(name)
    return value if isinstance(value, str) else None


def _parameters(node: Any) -> dict[str, str] | None:
    if not isinstance(node, dict) or not node:
        return None
    if not all(isinstance(value, str) for value in node.values()):
        raise DataError("Schema parameters must have string values.")
    return node


def _inner_schemas(kind: SchemaType, members: Mapping[str, Any], replace_null: bool) -> dict[str, Any]:
    if kind is SchemaType.STRUCT:
        return {"fields": _fields(members.get("fields"), replace_null)}
    if kind is SchemaType.ARRAY:
        if members.get("items") is None:
            raise DataError("Array schema did not specify the element type")
        return {"value_schema": schema_from_node(members["items"], replace_null)}
    if kind is not SchemaType.MAP:
        return {}
    inner = {}
    for member, attribute, role in (("keys", "key_schema", "key"), ("values", "value_schema", "value")):
        if member not in members:
            raise DataError(f"Map schema did not specify the {role} type")
        inner[attribute] = members[member]
    schemas = {attribute: schema_from_node(node, replace_null) for attribute, node in inner.items()}
    for attribute, java in (("key_schema", "keySchema"), ("value_schema", "valueSchema")):
        if schemas[attribute] is None:
            raise DataError(f"{java} cannot be null.", _BUILDER_ERROR)
    return schemas


def _fields(node: Any, replace_null: bool) -> tuple[Field, ...]:
    if not isinstance(node, list):
        raise DataError('Struct schema\'s "fields" argument is not an array.')
    found: dict[str, Field] = {}
    for member in node:
        name = member.get("field") if isinstance(member, dict) else None
        if not isinstance(name, str):
            raise DataError("Struct schema's field name not specified properly")
        schema = schema_from_node(member, replace_null)
        if not name:
            raise DataError("fieldName cannot be null.", _BUILDER_ERROR)
        if name in found:
            raise DataError(f"Cannot create field because of field name duplication {name}", _BUILDER_ERROR)
        if schema is not None:
            found[name] = Field(name, schema)
    return tuple(found.values())


def _with_default(schema: Schema, members: Mapping[str, Any], replace_null: bool) -> Schema:
    if "default" not in members:
        return schema
    default = reader_for(schema, replace_null)(members["default"])
    try:
        if schema.type is SchemaType.STRUCT and default is not None:
            raise DataError("Struct schemas do not match.")
        validate_value(schema, default)
    except DataError:
        raise DataError("Invalid default value", _BUILDER_ERROR) from None
    return schema.with_(default=NO_DEFAULT if default is None else default)
