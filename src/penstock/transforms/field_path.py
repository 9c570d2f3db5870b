"""Paths to fields: a plain name (``V1``) or dotted steps in which backticks wrap names that hold dots (``V2``)."""

from __future__ import annotations

from typing import Any

from penstock.api.config import ConfigKey, Importance, Type, one_of_ignoring_case
from penstock.api.errors import ConfigError, DataError
from penstock.api.record import Field, Schema, get_field

from .structs import ILLEGAL_ARGUMENT, field_of, require_map, require_struct

SYNTAX_VERSION = ConfigKey(
    "field.syntax.version",
    Type.STRING,
    "V1",
    Importance.HIGH,
    "How field names are read. V1: the name of a field of the struct or map itself. V2: a path into nested "
    "structs and maps, its steps separated by dots; a name that has dots of its own goes between backticks, "
    "as in `a.b`.c for field c of field a.b.",
    one_of_ignoring_case("V1", "V2"),
)

_PURPOSE = "nested field access"


class FieldPath:
    """Finds a field in schemas, structs and maps."""

    __slots__ = ("_last", "_parents", "steps", "text")

    def __init__(self, text: str, version: str) -> None:
        self.text = text
        self.steps = split_path(text) if version.upper() == "V2" else (text,)
        self._parents = self.steps[:-1]
        self._last = self.steps[-1] if self.steps else None

    def field_in(self, schema: Schema) -> Field | None:
        """The field at the end of the path, or ``None`` when a step is missing."""
        last = self._last_step()
        for step in self._parents:
            field = field_of(schema, step)
            if field is None:
                return None
            schema = field.schema
        return field_of(schema, last)

    def value_in_struct(self, schema: Schema, struct: dict[str, Any] | None, with_default: bool) -> Any:
        """The value at the end of the path; ``None`` where a struct on the way is null."""
        last = self._last_step()
        for step in self._parents:
            if struct is None:
                return None
            field = schema.by_name[step]
            schema = field.schema
            value = get_field(struct, field)
            struct = None if value is None else require_struct(schema, value, _PURPOSE)
        return None if struct is None else get_field(struct, schema.by_name[last], with_default)

    def value_in_map(self, mapping: dict[str, Any]) -> Any:
        """The value at the end of the path; ``None`` where it or a map on the way is missing."""
        last = self._last_step()
        for step in self._parents:
            value = mapping.get(step)
            if value is None:
                return None
            mapping = require_map(value, _PURPOSE)
        return mapping.get(last)

    def _last_step(self) -> str:
        if self._last is None:
            raise DataError("fromIndex(0) > toIndex(-1)", ILLEGAL_ARGUMENT)
        return self._last


def split_path(path: str) -> tuple[str, ...]:
    """The steps of a ``V2`` path."""
    steps: list[str] = []
    at = 0
    while at < len(path):
        if path[at] == "`":
            step, at = _quoted_step(path, at)
        else:
            end = path.find(".", at)
            end = len(path) if end < 0 else end
            step, at = path[at:end], end + 1
        steps.append(step)
    if path.endswith("."):
        steps.append("")
    return tuple(steps)


def _quoted_step(path: str, opening: int) -> tuple[str, int]:
    """The step that begins with the backtick at ``opening``, and where the next step begins.

    A backtick closes the step when a dot or nothing follows it and no backslash precedes it. Other backticks
    are part of the name; the backslash is dropped only before one that a dot follows.
    """
    name = ""
    start = at = opening + 1
    while True:
        at = path.find("`", at)
        if at < 0:
            raise _incomplete(path, opening)
        escaped = path[at - 1] == "\\"
        if at == len(path) - 1:
            if escaped:
                raise _incomplete(path, opening)
            return name + path[start:at], at + 1
        if path[at + 1] == ".":
            if not escaped:
                return name + path[start:at], at + 2
            name += path[start : at - 1] + "`"
            start = at + 1
        at += 1


def _incomplete(path: str, opening: int) -> ConfigError:
    return ConfigError(
        f"Incomplete backtick pair in path: [{path}], consider adding a backslash before backtick at position "
        f"{opening} to escape it"
    )
