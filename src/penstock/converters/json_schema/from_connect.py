"""Connect schemas as JSON Schemas, as Kafka Connect's converter registers them."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.api.errors import DataError
from penstock.api.logical import DECIMAL_NAME
from penstock.api.record import Schema, SchemaType

from ..json.reader import read_exact
from . import names
from .names import JsonStyle
from .writing import json_writer

Json = dict[str, Any]

_NUMBERS = {
    SchemaType.INT8: "integer",
    SchemaType.INT16: "integer",
    SchemaType.INT32: "integer",
    SchemaType.INT64: "integer",
    SchemaType.FLOAT32: "number",
    SchemaType.FLOAT64: "number",
}
_NULL: Json = {"type": "null"}
_encoder = msgspec.json.Encoder(decimal_format="number")


def json_schema_text(schema: Schema, style: JsonStyle) -> str:
    """The JSON Schema's text."""
    return _encoder.encode(_translate(schema, style)).decode()


def _translate(schema: Schema | None, style: JsonStyle, index: int | None = None, keep_null: bool = True) -> Json:
    """``index`` is the place of a field in its struct; ``keep_null=False`` leaves out that null is allowed."""
    if schema is None:
        raise DataError("JSON Schema cannot describe a list or map whose contents have no schema")
    if names.is_union(schema):
        members = [_translate(f.schema, style, number, keep_null=False) for number, f in enumerate(schema.fields)]
        return _indexed({"oneOf": [_NULL, *members] if schema.optional else members}, index)
    node = _required(schema, style)
    if schema.optional and keep_null:
        node = {"oneOf": [_NULL, node]}
    return _indexed(node, index)


def _indexed(node: Json, index: int | None) -> Json:
    return node if index is None else {**node, names.CONNECT_INDEX: index}


def _required(schema: Schema, style: JsonStyle) -> Json:
    node = _structure(schema, style)
    parameters = {k: v for k, v in (schema.parameters or {}).items() if not k.startswith(names.NAMESPACE)}
    if schema.name is not None:
        node["title"] = schema.name
    if schema.doc is not None:
        node["description"] = schema.doc
    if schema.version is not None:
        node[names.CONNECT_VERSION] = schema.version
    if parameters:
        node[names.CONNECT_PARAMETERS] = parameters
    if schema.default_value is not None:
        node["default"] = read_exact((json_writer(schema, style)(schema.default_value) or "null").encode())
    return node


def _structure(schema: Schema, style: JsonStyle) -> Json:
    kind = schema.type
    if kind in _NUMBERS:
        return {"type": _NUMBERS[kind], names.CONNECT_TYPE: kind.value}
    if kind is SchemaType.BOOLEAN:
        return {"type": "boolean"}
    if kind is SchemaType.STRING:
        return _string(schema)
    if kind is SchemaType.BYTES:
        is_number = schema.name == DECIMAL_NAME and style.numeric_decimals
        return {"type": "number" if is_number else "string", names.CONNECT_TYPE: names.BYTES}
    if kind is SchemaType.ARRAY:
        return {"type": "array", "items": _translate(schema.value_schema, style)}
    if kind is SchemaType.MAP:
        return _map(schema, style)
    properties = {f.name: _translate(f.schema, style, number) for number, f in enumerate(schema.fields)}
    node: Json = {"type": "object", "properties": properties}
    if not style.additional_properties:
        node["additionalProperties"] = False
    return node


def _string(schema: Schema) -> Json:
    parameters = schema.parameters or {}
    if names.ENUM not in parameters:
        return {"type": "string"}
    prefix = names.ENUM + "."
    symbols = [key.removeprefix(prefix) for key in parameters if key.startswith(prefix)]
    return {"enum": [None if symbol == names.NULL_MARKER else symbol for symbol in symbols]}


def _map(schema: Schema, style: JsonStyle) -> Json:
    if names.has_string_keys(schema):
        values = _translate(schema.value_schema, style)
        return {"type": "object", "additionalProperties": values, names.CONNECT_TYPE: names.MAP}
    members = {names.KEY: schema.key_schema, names.VALUE: schema.value_schema}
    properties = {name: _translate(inner, style, number) for number, (name, inner) in enumerate(members.items())}
    return {"type": "array", "items": {"type": "object", "properties": properties}, names.CONNECT_TYPE: names.MAP}
