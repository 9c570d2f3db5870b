"""Whether one JSON Schema accepts all that another one describes."""

from __future__ import annotations

from typing import Any

_COMBINERS = ("oneOf", "anyOf")


def json_problems(reader: Any, writer: Any, path: str = "#") -> list[str]:
    """Why values of ``writer`` may be refused by ``reader``; empty when they are not.

    Looks at types, properties, required properties, items, enums and choices; what both express by references or
    by other words is taken to fit.
    """
    if reader == writer or not isinstance(reader, dict) or not isinstance(writer, dict) or not reader:
        return [f"{path}: nothing is accepted here"] if reader is False and writer is not False else []
    if "$ref" in reader or "$ref" in writer:
        return []
    accepted, written = _choices(reader), _choices(writer)
    if len(written) > 1 or len(accepted) > 1:
        return [
            f"{path}: no choice accepts {_shown(choice)}"
            for choice in written
            if all(json_problems(option, choice, path) for option in accepted)
        ]
    return _single_problems(accepted[0], written[0], path)


def _choices(node: dict[str, Any]) -> list[Any]:
    for word in _COMBINERS:
        if word in node:
            return [inner for member in node[word] for inner in _choices(member)]
    kinds = node.get("type")
    return [{**node, "type": kind} for kind in kinds] if isinstance(kinds, list) else [node]


def _single_problems(reader: dict[str, Any], writer: dict[str, Any], path: str) -> list[str]:
    wanted, given = reader.get("type"), writer.get("type")
    if wanted is not None and wanted != given and (wanted, given) != ("number", "integer"):
        return [f"{path}: the type is {_shown(writer)}, expected {wanted}"]
    if "enum" in reader:
        extra = [symbol for symbol in writer.get("enum", [None]) if symbol not in reader["enum"]]
        if extra or "enum" not in writer:
            return [f"{path}: values outside the enum {reader['enum']}"]
    if wanted == "object" or "properties" in reader:
        return _object_problems(reader, writer, path)
    if wanted == "array" and "items" in reader and "items" in writer:
        return json_problems(reader["items"], writer["items"], f"{path}/items")
    return []


def _object_problems(reader: dict[str, Any], writer: dict[str, Any], path: str) -> list[str]:
    found = []
    known, given = reader.get("properties", {}), writer.get("properties", {})
    others = reader.get("additionalProperties", True)
    for name, inner in given.items():
        place = f"{path}/properties/{name}"
        if name not in known and others is False:
            found.append(f"{place}: no additional properties are accepted")
        else:
            found += json_problems(known.get(name, others), inner, place)
    for name in reader.get("required", ()):
        if name not in writer.get("required", ()) and "default" not in known.get(name, {}):
            found.append(f"{path}/properties/{name}: required, but may be missing")
    if isinstance(writer.get("additionalProperties"), dict) and others is not True:
        found += json_problems(others, writer["additionalProperties"], f"{path}/additionalProperties")
    return found


def _shown(node: Any) -> str:
    return str(node.get("type", "a value")) if isinstance(node, dict) else str(node)
