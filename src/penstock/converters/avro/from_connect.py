"""Connect schemas as Avro schemas, in the JSON that Kafka Connect's Avro converter registers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from penstock.api.errors import DataError
from penstock.api.logical import (
    DATE_NAME,
    DECIMAL_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    bytes_from_decimal,
    days_from_date,
    millis_from_time,
    schema_scale,
    to_millis,
)
from penstock.api.record import Field, FrozenKey, Schema, SchemaType
from penstock.api.text import java_class, java_float

from . import names
from .styles import AvroStyle

Json = Any

ANYTHING: Json = {
    "type": "record",
    "name": "Anything",
    "namespace": names.NAMESPACE,
    "fields": [
        *(
            {"name": name, "type": ["null", name], "default": None}
            for name in ("boolean", "bytes", "double", "float", "int", "long", "string")
        ),
        {"name": "array", "type": ["null", {"type": "array", "items": "Anything"}], "default": None},
        {
            "name": "map",
            "type": [
                "null",
                {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": names.MAP_ENTRY,
                        "fields": [{"name": "key", "type": "Anything"}, {"name": "value", "type": "Anything"}],
                    },
                },
            ],
            "default": None,
        },
    ],
}

_PRIMITIVES = {
    SchemaType.INT8: "int",
    SchemaType.INT16: "int",
    SchemaType.INT32: "int",
    SchemaType.INT64: "long",
    SchemaType.FLOAT32: "float",
    SchemaType.FLOAT64: "double",
    SchemaType.BOOLEAN: "boolean",
    SchemaType.STRING: "string",
    SchemaType.BYTES: "bytes",
}
_NARROW = {SchemaType.INT8: "int8", SchemaType.INT16: "int16"}
_ENTRY_NAME = f"{names.NAMESPACE}.{names.MAP_ENTRY}"
_LOGICAL = {DATE_NAME: "date", TIME_NAME: "time-millis", TIMESTAMP_NAME: "timestamp-millis"}


def avro_text(schema: Schema | None, style: AvroStyle) -> str:
    """The Avro schema's JSON text."""
    node = ANYTHING if schema is None else _Translation(style).translate(schema, "")
    return json.dumps(node, ensure_ascii=False, separators=(",", ":"))


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for an Avro union."""
    return schema.name == names.UNION


def is_fixed(schema: Schema) -> bool:
    """Whether bytes stand for an Avro fixed."""
    return schema.type is SchemaType.BYTES and schema.name is not None and names.FIXED_SIZE in (schema.parameters or {})


def has_string_keys(schema: Schema, style: AvroStyle) -> bool:
    """Whether a map can be an Avro map."""
    keys = schema.key_schema
    if keys is None or keys.type is not SchemaType.STRING:
        return False
    return not keys.optional or style.optional_map_keys


class _Translation:
    """One schema from top to bottom; knows which named types it has defined."""

    def __init__(self, style: AvroStyle) -> None:
        self._style = style
        self._by_schema: dict[Schema, str] = {}
        self._defined: dict[str, Json] = {}
        self._unnamed = 0

    def translate(self, schema: Schema | None, namespace: str) -> Json:
        """A type as it is written inside ``namespace``."""
        if schema is None:
            return self._defined_once(names.ANYTHING, ANYTHING, namespace)
        if is_union(schema):
            members = [self.translate(_required(f.schema), namespace) for f in schema.fields]
            return ["null", *members] if schema.optional else members
        node = self._required(schema, namespace)
        if not schema.optional:
            return node
        has_default = schema.default_value is not None and schema.type is not SchemaType.STRUCT
        return [node, "null"] if has_default else ["null", node]

    def _required(self, schema: Schema, namespace: str) -> Json:
        bare = _required(schema)
        known = self._by_schema.get(bare)
        if known is not None:
            return _reference(known, namespace)
        kind = schema.type
        if kind is SchemaType.STRUCT:
            return self._struct(bare, namespace)
        if kind is SchemaType.ARRAY:
            node: Json = {"type": "array", "items": self.translate(schema.value_schema, namespace)}
        elif kind is SchemaType.MAP:
            node = self._map(schema, namespace)
        elif is_fixed(schema):
            return self._fixed(bare, namespace)
        elif kind is SchemaType.STRING and self._style.enhanced and names.ENUM in (schema.parameters or {}):
            return self._enum(bare, namespace)
        else:
            node = {"type": _PRIMITIVES[kind]}
        if schema.name == DECIMAL_NAME:
            node.update(_decimal_digits(schema))
        self._add_metadata(node, schema)
        return node["type"] if len(node) == 1 else node

    def _struct(self, schema: Schema, namespace: str) -> Json:
        node, inner = self._named_node("record", schema.name, namespace)
        parameters = schema.parameters or {}
        if names.RECORD_DOC in parameters:
            node["doc"] = parameters[names.RECORD_DOC]
        full = f"{inner}.{node['name']}" if inner else node["name"]
        node["fields"] = [self._field(f, parameters.get(names.FIELD_DOC + f.name), inner) for f in schema.fields]
        self._add_metadata(node, schema)
        return self._define(full, schema, node, namespace)

    def _field(self, member: Field, doc: str | None, namespace: str) -> Json:
        schema = member.schema
        name = names.scrub(member.name) if self._style.scrub else names.check_name(member.name)
        node: Json = {"name": name, "type": self.translate(schema, namespace)}
        if doc is not None:
            node["doc"] = doc
        if schema.default_value is not None:
            if _default_fits(schema, self._style):
                node["default"] = self._default(schema, schema.default_value)
        elif schema.optional:
            node["default"] = None
        return node

    def _map(self, schema: Schema, namespace: str) -> Json:
        if has_string_keys(schema, self._style):
            return {"type": "map", "values": self.translate(schema.value_schema, namespace)}
        entry, inner = self._named_node("record", schema.name or _ENTRY_NAME, namespace)
        members = ((names.KEY, schema.key_schema), (names.VALUE, schema.value_schema))
        entry["fields"] = [
            {"name": part, "type": self.translate(inside, inner)}
            if inside is None
            else self._field(Field(part, inside), None, inner)
            for part, inside in members
        ]
        if schema.name is not None:
            entry[names.INTERNAL_TYPE] = names.MAP_ENTRY
        full = f"{inner}.{entry['name']}" if inner else entry["name"]
        if schema.name is None:
            full = self._free_entry_name(entry)
        return {"type": "array", "items": self._defined_once(full, entry, namespace)}

    def _free_entry_name(self, entry: Json) -> str:
        """A name for unnamed entries that no other kind of entries has; the first kind has the usual one."""
        number, full = 1, _ENTRY_NAME
        while full in self._defined and _structure(self._defined[full]) != _structure(entry):
            number += 1
            full = f"{_ENTRY_NAME}{number}"
            entry.update({"name": names.split_name(full)[1], names.INTERNAL_TYPE: names.MAP_ENTRY})
        return full

    def _fixed(self, schema: Schema, namespace: str) -> Json:
        node, inner = self._named_node("fixed", schema.name, namespace)
        node["size"] = int((schema.parameters or {})[names.FIXED_SIZE])
        if schema.name == DECIMAL_NAME:
            node.update(_decimal_digits(schema))
        self._add_metadata(node, schema)
        full = f"{inner}.{node['name']}" if inner else node["name"]
        return self._define(full, schema, node, namespace)

    def _enum(self, schema: Schema, namespace: str) -> Json:
        parameters = schema.parameters or {}
        full = parameters[names.ENUM]
        node, _ = self._named_node("enum", full, namespace)
        label = names.split_name(schema.name or full)[1]
        if names.ENUM_DOC + label in parameters:
            node["doc"] = parameters[names.ENUM_DOC + label]
        prefix = names.ENUM + "."
        node["symbols"] = [key.removeprefix(prefix) for key in parameters if key.startswith(prefix)]
        if names.ENUM_DEFAULT + label in parameters:
            node["default"] = parameters[names.ENUM_DEFAULT + label]
        self._add_metadata(node, schema)
        return self._define(full, schema, node, namespace)

    def _named_node(self, kind: str, full: str | None, namespace: str) -> tuple[Json, str]:
        """The beginning of a named type's definition, and the namespace inside it."""
        if full is None:
            self._unnamed += 1
            full = names.DEFAULT_FULL_NAME + (str(self._unnamed) if self._unnamed > 1 else "")
        inner, name = names.split_name(names.scrub_full(full) if self._style.scrub else full)
        node: Json = {"type": kind, "name": names.check_name(name)}
        if (inner or "") != namespace:
            node["namespace"] = inner or ""
        return node, inner or ""

    def _define(self, full: str, schema: Schema, node: Json, namespace: str) -> Json:
        written = self._defined_once(full, node, namespace)
        self._by_schema[schema] = full
        return written

    def _defined_once(self, full: str, node: Json, namespace: str) -> Json:
        """The definition, or just the name if that was defined before with the same content."""
        known = self._defined.setdefault(full, node)
        if known is node:
            return node
        if _structure(known) != _structure(node):
            raise DataError(
                f"Can't redefine: {full} (two different schemas of a record have this name; rename one of them,"
                " for example with the SetSchemaMetadata transform)",
                "org.apache.avro.SchemaParseException",
            )
        return _reference(full, namespace)

    def _add_metadata(self, node: Json, schema: Schema) -> None:
        parameters = schema.parameters or {}
        if self._style.metadata:
            node.update(self._metadata(schema, parameters))
        if schema.name in _LOGICAL:
            node["logicalType"] = _LOGICAL[schema.name]
        elif schema.name == DECIMAL_NAME:
            node["logicalType"] = "decimal"
        node.update({key: value for key, value in parameters.items() if key.startswith("avro")})

    def _metadata(self, schema: Schema, parameters: Mapping[str, str]) -> dict[str, Json]:
        found: dict[str, Json] = {}
        if schema.doc is not None:
            found[names.CONNECT_DOC] = schema.doc
        if schema.version is not None:
            found[names.CONNECT_VERSION] = schema.version
        kept = {key: value for key, value in parameters.items() if key != names.FIELD_DEFAULT}
        if kept:
            found[names.CONNECT_PARAMETERS] = kept
        if schema.default_value is not None and names.FIELD_DEFAULT not in parameters:
            found[names.CONNECT_DEFAULT] = self._default(schema, schema.default_value)
        if schema.name is not None:
            found[names.CONNECT_NAME] = schema.name
        if schema.type in _NARROW:
            found[names.CONNECT_TYPE] = _NARROW[schema.type]
        return found

    def _default(self, schema: Schema | None, value: Any) -> Json:
        """A default in Avro's JSON form."""
        if value is None or schema is None:
            return None
        if schema.name in _TO_NUMBER:
            return _TO_NUMBER[schema.name](value)
        if schema.name == DECIMAL_NAME:
            return bytes_from_decimal(schema, value).decode("latin-1")
        kind = schema.type
        if kind is SchemaType.STRUCT:
            return self._struct_default(schema, value)
        if kind is SchemaType.ARRAY:
            return [self._default(schema.value_schema, item) for item in value]
        if kind is SchemaType.MAP:
            entries = [(k.value if isinstance(k, FrozenKey) else k, v) for k, v in value.items()]
            if has_string_keys(schema, self._style):
                return {key: self._default(schema.value_schema, item) for key, item in entries}
            return [[self._default(schema.key_schema, k), self._default(schema.value_schema, v)] for k, v in entries]
        return _scalar_default(schema, value)

    def _struct_default(self, schema: Schema, value: Mapping[str, Any]) -> Json:
        found = {}
        for member in schema.fields:
            inner = value.get(member.name)
            default = self._default(member.schema, member.schema.default_value if inner is None else inner)
            if is_union(schema):
                return default
            found[names.scrub(member.name) if self._style.scrub else member.name] = default
        return found


_TO_NUMBER: dict[str | None, Any] = {
    DATE_NAME: lambda value: int(days_from_date(value)),
    TIME_NAME: lambda value: int(millis_from_time(value)),
    TIMESTAMP_NAME: to_millis,
}


def _scalar_default(schema: Schema, value: Any) -> Json:
    kind = schema.type
    if kind is SchemaType.BYTES and isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("latin-1")
    if kind in (SchemaType.FLOAT32, SchemaType.FLOAT64) and isinstance(value, float):
        if not math.isfinite(value):
            return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
        return float(java_float(value)) if kind is SchemaType.FLOAT32 else value
    if kind in (SchemaType.STRING, SchemaType.BOOLEAN):
        if isinstance(value, str if kind is SchemaType.STRING else bool):
            return value
    elif isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    raise DataError(f"Invalid type used for default value of {kind.name} field: class {java_class(value, schema)}")


def _default_fits(schema: Schema, style: AvroStyle) -> bool:
    """Whether Avro accepts the default at a field; where it does not, the field has none."""
    if schema.type is SchemaType.STRUCT:
        return not schema.optional and not is_union(schema)
    if schema.type is SchemaType.MAP and not has_string_keys(schema, style):
        return not schema.default_value
    if schema.type in (SchemaType.FLOAT32, SchemaType.FLOAT64):
        return math.isfinite(schema.default_value)
    return True


def _decimal_digits(schema: Schema) -> dict[str, Json]:
    precision = (schema.parameters or {}).get(names.DECIMAL_PRECISION)
    return {"scale": schema_scale(schema), "precision": int(precision) if precision else names.DEFAULT_PRECISION}


def _required(schema: Schema) -> Schema:
    return schema.with_(optional=False) if schema.optional else schema


def _structure(node: Json) -> Json:
    """A definition without Connect's annotations."""
    if isinstance(node, dict):
        return {
            key: _structure(value)
            for key, value in node.items()
            if not key.startswith("connect.") and key not in ("doc", "namespace")
        }
    return [_structure(member) for member in node] if isinstance(node, list) else node


def _reference(full: str, namespace: str) -> str:
    inner, name = names.split_name(full)
    return name if (inner or "") == namespace else full
