"""Values of a Connect schema as JSON text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api.errors import DataError
from penstock.api.record import NO_DEFAULT, Field, FrozenKey, Schema, SchemaType
from penstock.api.text import java_class

from ..json.encoding import Style, plain_text, quote, writer_for
from .names import JsonStyle, has_string_keys, is_union

Write = Callable[[Any], "str | None"]
"""From a value to its JSON text; ``None`` where a struct leaves the field out."""


def json_writer(schema: Schema | None, style: JsonStyle) -> Write:
    """The function for values of a schema."""
    if schema is None:
        return plain_text
    content = _content_writer(schema, style)
    default = schema.default_value
    if default is not None and not (style.ignore_default and schema.optional):
        return lambda value: content(default if value is None else value)
    absent = "null" if schema.optional else None
    return lambda value: absent if value is None else content(value)


def _content_writer(schema: Schema, style: JsonStyle) -> Callable[[Any], str | None]:
    if schema.type is SchemaType.STRUCT:
        return _union_writer(schema, style) if is_union(schema) else _struct_writer(schema, style)
    if schema.type is SchemaType.ARRAY:
        return _array_writer(schema, style)
    if schema.type is SchemaType.MAP:
        return _map_writer(schema, style)
    return writer_for(schema.with_(optional=False, default=NO_DEFAULT), Style(style.numeric_decimals))


def _check(schema: Schema, value: Any, *accepted: type) -> None:
    if not isinstance(value, accepted):
        raise DataError(f"Invalid type for {schema.type.name}: class {java_class(value, schema)}")


def _struct_writer(schema: Schema, style: JsonStyle) -> Write:
    members = [(f.name, f"{quote(f.name)}:", json_writer(f.schema, style)) for f in schema.fields]

    def write(value: Any) -> str:
        _check(schema, value, dict)
        get = value.get
        parts = []
        for name, label, write_member in members:
            text = write_member(get(name))
            if text is not None:
                parts.append(label + text)
        return "{" + ",".join(parts) + "}"

    return write


def _union_writer(schema: Schema, style: JsonStyle) -> Write:
    members: list[tuple[Field, Write]] = [(f, json_writer(f.schema, style)) for f in schema.fields]

    def write(value: Any) -> str | None:
        _check(schema, value, dict)
        for member, write_member in members:
            inner = value.get(member.name)
            inner = member.schema.default_value if inner is None else inner
            if inner is not None:
                return write_member(inner)
        return "null" if schema.optional else None

    return write


def _array_writer(schema: Schema, style: JsonStyle) -> Write:
    inner = json_writer(schema.value_schema, style)

    def write(value: Any) -> str:
        _check(schema, value, list, tuple)
        return "[" + ",".join([inner(item) or "null" for item in value]) + "]"

    return write


def _map_writer(schema: Schema, style: JsonStyle) -> Write:
    write_key, write_value = json_writer(schema.key_schema, style), json_writer(schema.value_schema, style)
    as_object = has_string_keys(schema)

    def write(value: Any) -> str:
        _check(schema, value, dict)
        if as_object:
            return "{" + ",".join([f"{write_key(k)}:{write_value(v) or 'null'}" for k, v in value.items()]) + "}"
        entries = [(k.value if isinstance(k, FrozenKey) else k, v) for k, v in value.items()]
        texts = [f'{{"key":{write_key(k) or "null"},"value":{write_value(v) or "null"}}}' for k, v in entries]
        return "[" + ",".join(texts) + "]"

    return write
