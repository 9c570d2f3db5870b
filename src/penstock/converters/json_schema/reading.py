"""JSON trees as values of a Connect schema."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.record import NO_DEFAULT, FrozenKey, Schema, SchemaType

from ..json.decoding import node_type, reader_for
from ..json.reader import MISSING, to_plain
from .names import KEY, VALUE, has_string_keys, is_union

Read = Callable[[Any], Any]

_INTEGERS = (SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64)
_FLOATS = (SchemaType.FLOAT32, SchemaType.FLOAT64)


def json_reader(schema: Schema | None) -> Read:
    """A function from JSON trees, or ``MISSING``, to values of the schema."""
    if schema is None:
        return lambda node: None if node is MISSING else to_plain(node)
    content, default = _content_reader(schema), schema.default_value
    kind, optional = schema.type.name, schema.optional

    def read(node: Any) -> Any:
        if node is not None and node is not MISSING:
            return content(node)
        if default is not None or node is MISSING or optional:
            return default
        raise DataError(f"Invalid null value for required {kind} field")

    return read


def _content_reader(schema: Schema) -> Read:
    if schema.type is SchemaType.STRUCT:
        return _union_reader(schema) if is_union(schema) else _struct_reader(schema)
    if schema.type is SchemaType.ARRAY:
        inner = json_reader(schema.value_schema)
        return lambda node: [inner(item) for item in node] if isinstance(node, list) else []
    if schema.type is SchemaType.MAP:
        return _map_reader(schema)
    return reader_for(schema.with_(optional=False, default=NO_DEFAULT), replace_null=False)


def _struct_reader(schema: Schema) -> Read:
    members = [(f.name, json_reader(f.schema)) for f in schema.fields]

    def read(node: Any) -> dict[str, Any]:
        if not isinstance(node, dict):
            raise DataError(f"Structs should be encoded as JSON objects, but found {node_type(node)}")
        get = node.get
        found = {}
        for name, read_member in members:
            value = read_member(get(name, MISSING))
            if value is not None:
                found[name] = value
        return found

    return read


def _union_reader(schema: Schema) -> Read:
    members = [(f.name, f.schema, json_reader(f.schema)) for f in schema.fields]

    def read(node: Any) -> dict[str, Any]:
        best, matching = 0, None
        for name, member, read_member in members:
            if _is_simple_instance(member, node):
                return {name: read_member(node)}
            score = _matching_fields(member, node)
            if score > best:
                best, matching = score, (name, read_member)
        if matching is None:
            raise DataError("Did not find matching oneof field for data")
        return {matching[0]: matching[1](node)}

    return read


def _is_simple_instance(schema: Schema, node: Any) -> bool:
    """Whether a JSON value is of a type other than a struct."""
    kind = schema.type
    if kind in _INTEGERS:
        return type(node) is int
    if kind in _FLOATS:
        return type(node) is int or isinstance(node, Decimal)
    if kind is SchemaType.BOOLEAN:
        return isinstance(node, bool)
    if kind is SchemaType.STRING:
        return isinstance(node, str)
    if kind is SchemaType.BYTES:
        return isinstance(node, (str, Decimal))
    if kind is SchemaType.ARRAY:
        return isinstance(node, list)
    return kind is SchemaType.MAP and isinstance(node, (dict, list))


def _matching_fields(schema: Schema, node: Any) -> int:
    """How many members of an object, inner ones included, a struct has fields for."""
    if schema.type is not SchemaType.STRUCT or not isinstance(node, dict):
        return 0
    common = [f for f in schema.fields if f.name in node]
    return len(common) + sum(_matching_fields(f.schema, node[f.name]) for f in common)


def _map_reader(schema: Schema) -> Read:
    read_key, read_value = json_reader(schema.key_schema), json_reader(schema.value_schema)

    def read_object(node: Any) -> dict[Any, Any]:
        if not isinstance(node, dict):
            found = node_type(node)
            raise DataError(f"Maps with string fields should be encoded as JSON objects, but found {found}")
        return {key: read_value(value) for key, value in node.items()}

    def read_entries(node: Any) -> dict[Any, Any]:
        if not isinstance(node, list):
            found = node_type(node)
            text = "Maps with non-string fields should be encoded as JSON array of objects, but found"
            raise DataError(f"{text} {found}")
        return dict(map(read_entry, node))

    def read_entry(entry: Any) -> tuple[Any, Any]:
        if not isinstance(entry, dict):
            raise DataError(f"Found invalid map entry instead of object: {node_type(entry)}")
        if len(entry) != 2:
            raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
        return FrozenKey.of(read_key(entry.get(KEY, MISSING))), read_value(entry.get(VALUE, MISSING))

    return read_object if has_string_keys(schema) else read_entries
