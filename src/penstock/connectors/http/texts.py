"""Placeholders in addresses and bodies, and places in JSON answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import quote

_PLACEHOLDER = re.compile(r"\{([a-z]+)\}")

MISSING = object()
"""What :func:`find` answers where there is nothing."""


def placeholders(template: str) -> set[str]:
    """The names that stand in braces."""
    return set(_PLACEHOLDER.findall(template))


def for_url(value: object) -> str:
    """A value as one piece of a path or a query: whatever is in it, it stays there."""
    text = quote(str(value), safe="")
    return text.replace(".", "%2E") if text in (".", "..") else text


def for_json(value: object) -> str:
    """A value as part of a JSON string."""
    return json.dumps(str(value), ensure_ascii=False)[1:-1]


def fill(template: str, values: Mapping[str, object], escape: Callable[[object], str]) -> str:
    """Put values in place of their names; braces that hold none of these names stay as they are."""
    return _PLACEHOLDER.sub(lambda found: escape(values[found[1]]) if found[1] in values else found[0], template)


def unknown_placeholders(template: str, known: Collection[str]) -> list[str]:
    """Names in braces that nothing will be put in place of: most likely misspelt."""
    return sorted(placeholders(template) - set(known))


def find(value: Any, path: str) -> Any:
    """The value at a dotted path, or :data:`MISSING`. Numbers count in lists, negative ones from the end.

    The empty path is the value itself.
    """
    for step in path.split(".") if path else ():
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and re.fullmatch(r"-?\d+", step) and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value
