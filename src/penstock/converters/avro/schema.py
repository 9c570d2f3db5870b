"""Avro schemas: from their JSON to a tree in which names are resolved."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.errors import DataError
from penstock.api.record import NO_DEFAULT

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NAMED = frozenset({"record", "enum", "fixed"})

_STRUCTURE = frozenset(
    {"type", "name", "namespace", "doc", "fields", "symbols", "size", "items", "values", "aliases", "default", "order"}
)


@dataclass(eq=False)
class AvroField:
    """A field of a record; ``default`` is JSON."""

    name: str
    type: AvroType
    default: Any = NO_DEFAULT
    doc: str | None = None
    aliases: tuple[str, ...] = ()
    props: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class AvroType:
    """One type. Types that refer to themselves are cycles of these.

    ``kind`` is the Avro name of the type; ``items`` is the type of an array's items or of a map's values, ``branches``
    those of a union; ``props`` are all attributes that Avro itself gives no meaning, logical types included.
    """

    kind: str
    name: str | None = None
    fields: list[AvroField] = field(default_factory=list)
    symbols: tuple[str, ...] = ()
    size: int = 0
    items: AvroType | None = None
    branches: tuple[AvroType, ...] = ()
    default: Any = NO_DEFAULT
    doc: str | None = None
    aliases: tuple[str, ...] = ()
    props: Mapping[str, Any] = field(default_factory=dict)

    @property
    def short_name(self) -> str:
        """The name without its namespace."""
        return (self.name or self.kind).rpartition(".")[2]

    @property
    def content(self) -> AvroType:
        """The type of an array's items or of a map's values."""
        if self.items is None:
            raise TypeError(f"{self.kind} has no items")
        return self.items


def parse_schema(text: str, referenced: Iterable[str] = ()) -> AvroType:
    """The type that a schema's JSON describes; ``referenced`` are the texts of schemas whose names it may use."""
    names: dict[str, AvroType] = {}
    for other in referenced:
        _Parser(names).parse(_json(other), "")
    return _Parser(names).parse(_json(text), "")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        if text in PRIMITIVES:
            return text
        raise DataError(f"The Avro schema is not JSON: {error}") from None


class _Parser:
    """Knows the names that were defined so far."""

    def __init__(self, names: dict[str, AvroType]) -> None:
        self._names = names

    def parse(self, node: Any, namespace: str) -> AvroType:
        if isinstance(node, str):
            return self._named(node, namespace)
        if isinstance(node, list):
            return AvroType("union", branches=tuple(self.parse(branch, namespace) for branch in node))
        if not isinstance(node, dict) or "type" not in node:
            raise DataError(f"The Avro schema has no type: {json.dumps(node)[:200]}")
        kind = node["type"]
        props = {key: value for key, value in node.items() if key not in _STRUCTURE}
        if not isinstance(kind, str):
            inner = self.parse(kind, namespace)
            inner.props = {**inner.props, **props}
            return inner
        if kind in NAMED or kind == "error":
            return self._definition("record" if kind == "error" else kind, node, namespace, props)
        if kind == "array":
            return AvroType("array", items=self.parse(_member(node, "items"), namespace), props=props)
        if kind == "map":
            return AvroType("map", items=self.parse(_member(node, "values"), namespace), props=props)
        found = self._named(kind, namespace)
        if found.kind in PRIMITIVES:
            found.props = props
        return found

    def _named(self, name: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        found = self._names.get(_full_name(name, namespace)) or self._names.get(name)
        if found is None:
            raise DataError(f"The Avro schema uses the type {name}, which it does not define")
        return found

    def _definition(self, kind: str, node: Mapping[str, Any], namespace: str, props: Mapping[str, Any]) -> AvroType:
        name = _member(node, "name")
        outer = node.get("namespace")
        full = _full_name(name, outer if isinstance(outer, str) else namespace)
        if full in self._names:
            raise DataError(f"Can't redefine: {full}", "org.apache.avro.SchemaParseException")
        inner = full.rpartition(".")[0]
        made = AvroType(kind, full, doc=node.get("doc"), props=props)
        made.aliases = tuple(_full_name(alias, inner) for alias in node.get("aliases") or ())
        self._names[full] = made
        if kind == "record":
            made.fields = [self._field(member, inner) for member in _member(node, "fields")]
        elif kind == "enum":
            made.symbols = tuple(_member(node, "symbols"))
            made.default = node.get("default", NO_DEFAULT)
        else:
            made.size = int(_member(node, "size"))
        return made

    def _field(self, node: Any, namespace: str) -> AvroField:
        return AvroField(
            name=_member(node, "name"),
            type=self.parse(_member(node, "type"), namespace),
            default=node.get("default", NO_DEFAULT),
            doc=node.get("doc"),
            aliases=tuple(node.get("aliases") or ()),
            props={key: value for key, value in node.items() if key not in _STRUCTURE},
        )


def _member(node: Any, name: str) -> Any:
    if not isinstance(node, dict) or name not in node:
        raise DataError(f"The Avro schema lacks {name!r}: {json.dumps(node)[:200]}")
    return node[name]


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"
