"""Avro schemas as Connect schemas, with what Kafka Connect's own annotations say about them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from penstock.api.errors import DataError
from penstock.api.logical import (
    DATE,
    DECIMAL_NAME,
    TIME,
    TIMESTAMP,
    date_from_days,
    decimal_from_bytes,
    decimal_schema,
    from_millis,
    time_from_millis,
    wrap,
)
from penstock.api.record import NO_DEFAULT, STRING, Field, FrozenKey, Schema, SchemaType
from penstock.api.text import round_to_float32
from penstock.api.validation import validate_value

from . import names
from .schema import NAMED, AvroField, AvroType
from .styles import AvroStyle

log = logging.getLogger(__name__)

_SIMPLE = {
    "boolean": Schema(SchemaType.BOOLEAN),
    "int": Schema(SchemaType.INT32),
    "long": Schema(SchemaType.INT64),
    "float": Schema(SchemaType.FLOAT32),
    "double": Schema(SchemaType.FLOAT64),
    "string": Schema(SchemaType.STRING),
    "bytes": Schema(SchemaType.BYTES),
}
_LOGICAL = {("int", "date"): DATE, ("int", "time-millis"): TIME, ("long", "timestamp-millis"): TIMESTAMP}
_NARROW = {"int8": Schema(SchemaType.INT8), "int16": Schema(SchemaType.INT16)}


def connect_schema(node: AvroType, style: AvroStyle, version: int | None = None) -> Schema | None:
    """The Connect schema for values of an Avro type; ``None`` for the type that stands for anything.

    ``version`` is given to a type that has none of its own. Raises :class:`DataError` for types that refer to
    themselves and for a bare null.
    """
    return None if node.name == names.ANYTHING else _Translation(style).translate(node, version=version)


def optional_branch(node: AvroType) -> AvroType | None:
    """The type that a union of it and null makes optional, else ``None``."""
    if len(node.branches) != 2 or all(branch.kind != "null" for branch in node.branches):
        return None
    return next((branch for branch in node.branches if branch.kind != "null"), None)


def is_map_entry(node: AvroType) -> bool:
    """Whether an array of these is a map with keys that Avro maps cannot have."""
    own = node.name == f"{names.NAMESPACE}.{names.MAP_ENTRY}"
    return node.kind == "record" and (own or node.props.get(names.INTERNAL_TYPE) == names.MAP_ENTRY)


def union_member(branch: AvroType, style: AvroStyle) -> str:
    """The name of the field that stands for a branch of a union."""
    if branch.kind in NAMED:
        return (branch.name or "") if style.enhanced else branch.short_name
    return branch.kind


class _Translation:
    """One type from top to bottom; knows the records it is inside of."""

    def __init__(self, style: AvroStyle) -> None:
        self._style = style
        self._open: list[AvroType] = []

    def translate(
        self, node: AvroType, optional: bool = False, default: Any = NO_DEFAULT, version: int | None = None
    ) -> Schema:
        """``default`` is the JSON default of the field that has this type."""
        if node.kind == "union":
            if len(node.branches) == 1 and self._style.flatten_singletons:
                return self.translate(node.branches[0])
            branch = optional_branch(node)
            if branch is not None:
                return self.translate(branch, optional=True)
        if node.kind == "record" and node in self._open:
            raise DataError(
                f"The Avro record {node.name} contains itself; records that do cannot be converted. Leave such fields"
                " out of the schema, or read the topic with ByteArrayConverter"
            )
        self._open.append(node)
        schema = self._annotated(node, self._base(node), version)
        self._open.pop()
        schema = self._with_default(node, schema, default)
        return schema.with_(optional=True) if optional or _has_null(node) else schema

    def _inner(self, node: AvroType) -> Schema | None:
        return None if node.name == names.ANYTHING else self.translate(node)

    def _base(self, node: AvroType) -> Schema:
        kind = node.kind
        if kind == "record":
            return self._struct(node)
        if kind == "array":
            return self._array(node)
        if kind == "map":
            return Schema(SchemaType.MAP, key_schema=STRING, value_schema=self._inner(node.content))
        if kind == "union":
            return self._union(node)
        if kind == "enum":
            return Schema(SchemaType.STRING, parameters=self._enum_parameters(node))
        if kind in ("bytes", "fixed"):
            return _bytes_schema(node)
        if kind == "null":
            raise DataError("Standalone null schemas are not supported by this converter")
        logical = _LOGICAL.get((kind, str(node.props.get("logicalType"))))
        if logical is not None:
            return logical
        narrow = node.props.get(names.CONNECT_TYPE)
        if kind == "int" and narrow is not None and "logicalType" not in node.props:
            if narrow not in _NARROW:
                raise DataError("Connect type annotation for Avro int field is null")
            return _NARROW[narrow]
        return _SIMPLE[kind]

    def _struct(self, node: AvroType) -> Schema:
        parameters = {}
        if self._style.metadata:
            if node.doc is not None:
                parameters[names.RECORD_DOC] = node.doc
            parameters.update({names.FIELD_DOC + f.name: f.doc for f in node.fields if f.doc is not None})
        fields = tuple(Field(f.name, self._field(f)) for f in node.fields)
        return Schema(SchemaType.STRUCT, fields=fields, parameters=parameters or None)

    def _field(self, member: AvroField) -> Schema:
        schema = self.translate(member.type, default=member.default)
        own = member.props.get(names.CONNECT_PARAMETERS)
        if self._style.metadata and isinstance(own, dict):
            merged = {**(schema.parameters or {}), **{str(k): str(v) for k, v in own.items()}}
            return schema.with_(parameters=merged)
        return schema

    def _array(self, node: AvroType) -> Schema:
        entry = node.content
        if not is_map_entry(entry):
            return Schema(SchemaType.ARRAY, value_schema=self._inner(entry))
        members = {f.name: f.type for f in entry.fields}
        if members.keys() != {names.KEY, names.VALUE}:
            raise DataError(
                "Found map encoded as array of key-value pairs, but array elements do not match the expected format."
            )
        keys, values = self._inner(members[names.KEY]), self._inner(members[names.VALUE])
        return Schema(SchemaType.MAP, key_schema=keys, value_schema=values)

    def _union(self, node: AvroType) -> Schema:
        fields: dict[str, Field] = {}
        for branch in node.branches:
            if branch.kind == "null":
                continue
            name = union_member(branch, self._style)
            if name in fields:
                raise DataError("Multiple union schemas map to the Connect union field name")
            fields[name] = Field(name, self.translate(branch, optional=True))
        return Schema(SchemaType.STRUCT, name=names.UNION, fields=tuple(fields.values()))

    def _enum_parameters(self, node: AvroType) -> dict[str, str]:
        found = {}
        if self._style.metadata:
            if node.doc is not None:
                found[names.ENUM_DOC + node.short_name] = node.doc
            if isinstance(node.default, str):
                found[names.ENUM_DEFAULT + node.short_name] = node.default
        found[names.ENUM] = node.name or ""
        found.update({f"{names.ENUM}.{symbol}": symbol for symbol in node.symbols})
        return found

    def _annotated(self, node: AvroType, schema: Schema, version: int | None) -> Schema:
        """With name, version, doc and parameters as the annotations say."""
        props = node.props
        own_version = props.get(names.CONNECT_VERSION, version)
        if own_version is not None and (isinstance(own_version, bool) or not isinstance(own_version, int)):
            raise DataError(f"Invalid Connect version found: {own_version}")
        parameters = dict(schema.parameters or {})
        if self._style.metadata:
            parameters.update(_connect_parameters(props.get(names.CONNECT_PARAMETERS)))
        parameters.update({key: _text(value) for key, value in props.items() if key.startswith("avro")})
        doc = props.get(names.CONNECT_DOC) if self._style.metadata else None
        return schema.with_(
            name=_name(node, schema),
            version=schema.version if schema.version is not None else own_version,
            doc=doc if isinstance(doc, str) else schema.doc,
            parameters=parameters or None,
        )

    def _with_default(self, node: AvroType, schema: Schema, default: Any) -> Schema:
        own = node.props.get(names.CONNECT_DEFAULT)
        if default is NO_DEFAULT or default is None:
            if own is None:
                return schema
            default = own
        elif self._style.metadata and own is None:
            schema = schema.with_(parameters={**(schema.parameters or {}), names.FIELD_DEFAULT: "true"})
        try:
            value = default_value(schema, node, default)
            validate_value(schema, value)
        except (DataError, TypeError, ValueError, KeyError, AttributeError) as error:
            log.warning("Ignoring invalid default %r of Avro type %s: %s", default, node.name or node.kind, error)
            return schema
        return schema.with_(default=value)


def default_value(schema: Schema | None, node: AvroType, value: Any) -> Any:
    """The Connect value for a default in Avro's JSON form. Raises when it does not fit the type."""
    if schema is None or value is None:
        return None
    kind = node.kind
    if kind in ("bytes", "fixed"):
        data = value.encode("latin-1")
        return decimal_from_bytes(schema, data) if schema.name == DECIMAL_NAME else data
    if kind == "array":
        return _array_default(schema, node, value)
    if kind == "map":
        return {key: default_value(schema.value_schema, node.content, item) for key, item in dict(value).items()}
    if kind == "record":
        types = {f.name: f for f in node.fields}
        return {
            f.name: default_value(f.schema, types[f.name].type, value.get(f.name, types[f.name].default))
            for f in schema.fields
            if value.get(f.name, types[f.name].default) is not NO_DEFAULT
        }
    if kind == "union":
        return _union_default(schema, node, value)
    return _scalar(schema, kind, value)


def _array_default(schema: Schema, node: AvroType, value: Any) -> Any:
    if not isinstance(value, list):
        raise DataError("Invalid JSON for array default value")
    if schema.type is not SchemaType.MAP:
        return [default_value(schema.value_schema, node.content, item) for item in value]
    types = {f.name: f.type for f in node.content.fields}
    pairs = [(e[names.KEY], e[names.VALUE]) if isinstance(e, dict) else (e[0], e[1]) for e in value]
    return {
        FrozenKey.of(default_value(schema.key_schema, types[names.KEY], k)): default_value(
            schema.value_schema, types[names.VALUE], v
        )
        for k, v in pairs
    }


def _union_default(schema: Schema, node: AvroType, value: Any) -> Any:
    branch = optional_branch(node)
    if branch is not None:
        return default_value(schema, branch, value)
    if schema.name != names.UNION:
        return default_value(schema, node.branches[0], value)
    first = node.branches[0]
    if first.kind == "null":
        return None
    return {schema.fields[0].name: default_value(schema.fields[0].schema, first, value)}


def _scalar(schema: Schema, kind: str, value: Any) -> Any:
    if kind in ("int", "long"):
        if isinstance(value, bool) or not isinstance(value, int):
            raise DataError(f"{value!r} is not an Avro {kind}")
        if schema.name == DATE.name:
            return date_from_days(value)
        if schema.name == TIME.name:
            return time_from_millis(value)
        if schema.name == TIMESTAMP.name:
            return from_millis(value)
        return wrap(value, _BITS[schema.type])
    if kind in ("float", "double"):
        number = float(value)
        return round_to_float32(number) if kind == "float" else number
    if not isinstance(value, bool if kind == "boolean" else str):
        raise DataError(f"{value!r} is not an Avro {kind}")
    return value


_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}


def _bytes_schema(node: AvroType) -> Schema:
    schema = _SIMPLE["bytes"]
    if node.props.get("logicalType") == "decimal":
        scale, precision = node.props.get("scale", 0), node.props.get("precision")
        schema = decimal_schema(scale if isinstance(scale, int) else 0)
        if precision is not None and not isinstance(precision, int):
            raise DataError(
                "precision property must be a JSON Integer. https://avro.apache.org/docs/1.9.1/spec.html#Decimal"
            )
        if precision is not None and precision != names.DEFAULT_PRECISION:
            schema = schema.with_(parameters={**(schema.parameters or {}), names.DECIMAL_PRECISION: str(precision)})
    if node.kind == "fixed":
        schema = schema.with_(parameters={**(schema.parameters or {}), names.FIXED_SIZE: str(node.size)})
    return schema


def _name(node: AvroType, schema: Schema) -> str | None:
    name = node.props.get(names.CONNECT_NAME)
    if name is None:
        is_decimal = node.kind == "fixed" and schema.name == DECIMAL_NAME
        name = node.name if node.kind in NAMED and not is_decimal else None
    elif not isinstance(name, str):
        raise DataError(f"Invalid schema name: {name}")
    if name is None or name.startswith(names.DEFAULT_FULL_NAME):
        return schema.name
    if schema.name is not None and schema.name != name:
        raise DataError(
            f"Mismatched names: name already added to SchemaBuilder ({schema.name})"
            f" differs from name in source schema ({name})"
        )
    return name


def _connect_parameters(found: Any) -> Mapping[str, str]:
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise DataError(f"Expected JSON object for schema parameters but found: {found}")
    for value in found.values():
        if not isinstance(value, str):
            raise DataError(f"Expected schema parameter values to be strings but found: {value}")
    return found


def _has_null(node: AvroType) -> bool:
    return node.kind == "union" and any(branch.kind == "null" for branch in node.branches)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
