"""JSON Schemas as documents: what a ``$ref`` means, in this one and in those it refers to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

from penstock.api.errors import DataError

from ..json.reader import JsonError, read_exact

_encoder = msgspec.json.Encoder(decimal_format="number")


class Documents:
    """A schema and the schemas it refers to by name."""

    def __init__(self, text: str, referenced: Mapping[str, str]) -> None:
        self.root = _parsed(text)
        self._others = {name: _parsed(other) for name, other in referenced.items()}

    def target(self, reference: Any, root: Any) -> tuple[Any, Any]:
        """What a reference inside the document ``root`` means, and the document that is in."""
        if not isinstance(reference, str):
            raise DataError(f"$ref must be a text, not {shown_json(reference)[:100]}")
        name, _, pointer = reference.partition("#")
        document = root
        if name:
            document = self._named(name)
        node = document
        for step in [unquote(s).replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:]]:
            if isinstance(node, list) and step.isdigit() and int(step) < len(node):
                node = node[int(step)]
            elif isinstance(node, dict) and step in node:
                node = node[step]
            else:
                raise DataError(f"The JSON Schema refers to {reference}, which does not exist")
        return node, document

    def _named(self, name: str) -> Any:
        for document in (self.root, *self._others.values()):
            if isinstance(document, dict) and name in (document.get("$id"), document.get("id")):
                return document
        if name in self._others:
            return self._others[name]
        raise DataError(f"The JSON Schema refers to {name}, which is none of its references in the registry")


def _parsed(text: str) -> Any:
    try:
        return read_exact(text.encode())
    except JsonError as error:
        raise DataError(f"The JSON Schema is not JSON: {error}") from None


def shown_json(node: Any) -> str:
    """A part of a schema for a message."""
    return _encoder.encode(node).decode()
