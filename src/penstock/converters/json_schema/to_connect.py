"""JSON Schemas as Connect schemas, with what Kafka Connect's own annotations say about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.errors import DataError
from penstock.api.record import STRING, Field, Schema, SchemaType
from penstock.api.validation import validate_value

from . import names
from .documents import Documents, shown_json
from .names import JsonStyle
from .reading import json_reader

_BY_CONNECT_TYPE = {kind.value: kind for kind in SchemaType}
_SIMPLE = {
    "boolean": SchemaType.BOOLEAN,
    "integer": SchemaType.INT64,
    "number": SchemaType.FLOAT64,
    "string": SchemaType.STRING,
}
_NUMERIC = ("integer", "number")
_NULL = {"type": "null"}
_OBJECT_WORDS = ("properties", "additionalProperties", "required", "patternProperties")


def connect_schema(documents: Documents, style: JsonStyle, version: int | None = None) -> Schema:
    """The Connect schema of a JSON Schema. ``version`` is given to one that has none of its own.

    Raises :class:`DataError` for schemas that contain themselves and for what Connect has no type for.
    """
    return _Translation(documents, style).translate(documents.root, documents.root, version=version)


class _Translation:
    """One schema from top to bottom; knows the references it is inside of."""

    def __init__(self, documents: Documents, style: JsonStyle) -> None:
        self._documents = documents
        self._style = style
        self._open: list[int] = []

    def translate(self, node: Any, root: Any, optional: bool = False, version: int | None = None) -> Schema:
        """The schema of a node in the document ``root``."""
        if not isinstance(node, dict) or not node:
            raise DataError(f"A part of the JSON Schema says nothing about its type: {shown_json(node)}")
        if "$ref" in node:
            return self._referenced(node["$ref"], root, optional, version)
        if isinstance(node.get("type"), list):
            node = _with_single_types(node)
        for word in ("oneOf", "anyOf"):
            if word in node:
                return self._choice(node, word, root, optional, version)
        if "allOf" in node:
            return self._all_of(node, root, optional, version)
        return self._annotated(node, self._base(node, root), optional, version)

    def _referenced(self, reference: Any, root: Any, optional: bool, version: int | None) -> Schema:
        target, document = self._documents.target(reference, root)
        if id(target) in self._open:
            raise DataError(
                f"The JSON Schema contains itself by {reference}; schemas that do cannot be converted. Leave such"
                " properties out of the schema, or read the topic with JsonConverter or ByteArrayConverter"
            )
        self._open.append(id(target))
        found = self.translate(target, document, optional, version)
        self._open.pop()
        return found

    def _choice(self, node: Mapping[str, Any], word: str, root: Any, optional: bool, version: int | None) -> Schema:
        if any(key in node for key in ("properties", "allOf")):
            return self._all_of(node, root, optional, version)
        members = node[word]
        others = [member for member in members if member != _NULL]
        if len(members) == 1 and self._style.flatten_singletons:
            return self.translate(members[0], root, optional)
        if len(members) == 2 and len(others) == 1:
            return self.translate(others[0], root, optional=True, version=version)
        fields = tuple(
            Field(names.union_member(number), self.translate(member, root, optional=True))
            for number, member in enumerate(others)
        )
        schema = Schema(SchemaType.STRUCT, name=names.ONE_OF, fields=fields, optional=len(others) < len(members))
        return self._annotated(node, schema, optional or schema.optional, version)

    def _all_of(self, node: Mapping[str, Any], root: Any, optional: bool, version: int | None) -> Schema:
        """Properties of all parts together; without any, the part that says most about the type."""
        parts = [*node.get("allOf", ()), {key: value for key, value in node.items() if key != "allOf"}]
        properties: dict[str, tuple[Any, Any, bool]] = {}
        for part in parts:
            self._gather(part, root, properties)
        if properties:
            fields = tuple(
                Field(name, self.translate(inner, document, self._style.optional_if_not_required and not required))
                for name, (inner, document, required) in properties.items()
            )
            return self._annotated(node, Schema(SchemaType.STRUCT, fields=fields), optional, version)
        typed = [p for p in parts if isinstance(p, dict) and any(k in p for k in ("oneOf", "anyOf", "$ref"))]
        typed = typed or [p for p in parts if isinstance(p, dict) and any(k in p for k in ("type", "enum", "const"))]
        if not typed:
            raise DataError(f"Unsupported criterion allOf for {shown_json(node)[:200]}")
        return self.translate(typed[0], root, optional, version)

    def _gather(self, part: Any, root: Any, into: dict[str, tuple[Any, Any, bool]]) -> None:
        if not isinstance(part, dict):
            return
        if "$ref" in part:
            target, document = self._documents.target(part["$ref"], root)
            if id(target) not in self._open:
                self._open.append(id(target))
                self._gather(target, document, into)
                self._open.pop()
        for inner in part.get("allOf", ()):
            self._gather(inner, root, into)
        required = part.get("required", ())
        into.update({name: (inner, root, name in required) for name, inner in part.get("properties", {}).items()})

    def _base(self, node: Mapping[str, Any], root: Any) -> Schema:
        kind = node.get("type")
        if kind is None and any(word in node for word in _OBJECT_WORDS):
            kind = "object"
        if kind is None and "items" in node:
            kind = "array"
        symbols = [node["const"]] if "const" in node else node.get("enum")
        if symbols is not None and kind not in _NUMERIC and not ("const" in node and kind == "string"):
            return _enum(symbols)
        if kind == "object":
            return self._object(node, root)
        if kind == "array":
            return self._array(node, root)
        if kind not in _SIMPLE:
            raise DataError(f"Unsupported schema type {shown_json(kind)} in {shown_json(node)[:200]}")
        annotated = node.get(names.CONNECT_TYPE)
        if annotated is None or kind == "boolean":
            return Schema(_SIMPLE[kind])
        if annotated not in _BY_CONNECT_TYPE:
            raise DataError(f"Unsupported type {annotated}", "java.lang.IllegalArgumentException")
        return Schema(_BY_CONNECT_TYPE[annotated])

    def _object(self, node: Mapping[str, Any], root: Any) -> Schema:
        if node.get(names.CONNECT_TYPE) == names.MAP:
            values = self.translate(node.get("additionalProperties"), root)
            return Schema(SchemaType.MAP, key_schema=STRING, value_schema=values)
        required = node.get("required", ())
        listed = list(node.get("properties", {}).items())
        order = {name: _index(inner, place) for place, (name, inner) in enumerate(listed)}
        fields = tuple(
            Field(name, self.translate(inner, root, self._style.optional_if_not_required and name not in required))
            for name, inner in sorted(listed, key=lambda item: order[item[0]])
        )
        return Schema(SchemaType.STRUCT, fields=fields)

    def _array(self, node: Mapping[str, Any], root: Any) -> Schema:
        items = node.get("items")
        if not isinstance(items, dict):
            raise DataError("Array schema did not specify the items type")
        if node.get(names.CONNECT_TYPE) != names.MAP:
            return Schema(SchemaType.ARRAY, value_schema=self.translate(items, root))
        members = items.get("properties", {})
        keys, values = (self.translate(members.get(part), root) for part in (names.KEY, names.VALUE))
        return Schema(SchemaType.MAP, key_schema=keys, value_schema=values)

    def _annotated(self, node: Mapping[str, Any], schema: Schema, optional: bool, version: int | None) -> Schema:
        parameters = {**(schema.parameters or {}), **node.get(names.CONNECT_PARAMETERS, {})}
        schema = schema.with_(
            name=schema.name or node.get("title"),
            version=node.get(names.CONNECT_VERSION, version),
            doc=node.get("description"),
            parameters=parameters or None,
        )
        if "default" in node:
            default = json_reader(schema.with_(optional=True))(node["default"])
            validate_value(schema.with_(optional=True), default)
            schema = schema.with_(default=default)
        return schema.with_(optional=True) if optional else schema


def _with_single_types(node: Mapping[str, Any]) -> dict[str, Any]:
    """A node of several types as a choice of nodes of one type each."""
    kinds = node["type"]
    if len(kinds) == 1:
        return {**node, "type": kinds[0]}
    return {"anyOf": [_NULL if kind == "null" else {**node, "type": kind} for kind in kinds]}


def _enum(symbols: list[Any]) -> Schema:
    parameters = {names.ENUM: ""}
    for symbol in symbols:
        text = names.NULL_MARKER if symbol is None else symbol if isinstance(symbol, str) else shown_json(symbol)
        parameters[f"{names.ENUM}.{text}"] = text
    return Schema(SchemaType.STRING, parameters=parameters)


def _index(node: Any, place: int) -> int:
    index = node.get(names.CONNECT_INDEX) if isinstance(node, dict) else None
    return index if isinstance(index, int) else place
