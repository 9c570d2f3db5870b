"""What somebody may have meant by a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .problems import ClientError

if TYPE_CHECKING:
    from .api import ConnectApi

_ALIKE = 0.8
"""How alike a key and a known one must be: many keys that nobody knows are meant as they are."""


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", most: int = 3) -> str:
    """A question with the names that are most like it, or else what to say without any."""
    close = difflib.get_close_matches(name, list(dict.fromkeys(known)), most)
    return f"Did you mean {' or '.join(close)}?" if close else otherwise


def mistyped_keys(api: ConnectApi, config: dict[str, Any], keys: Iterable[str]) -> list[str]:
    """A note for each of some keys that its plugin does not know, and that is like one it knows.

    A worker takes any key, as converters, clients and plugins may have keys that nobody lists.
    """
    known = [key for key in keys if key not in ("name", "connector.class")] and _known(api, config)
    notes = []
    for key in keys:
        if not known or key in known or any(key.startswith(f"{one}.") for one in known):
            continue
        ends = [one for one in known if one.endswith(f".{key}")]
        close = ends or difflib.get_close_matches(key, known, 1, _ALIKE)
        if close:
            notes.append(f"{key} is no key of {config['connector.class']}: did you mean {close[0]}?")
    return notes


def _known(api: ConnectApi, config: dict[str, Any]) -> list[str]:
    try:
        return [key["name"] for key in api.get("connector-plugins", config.get("connector.class") or "", "config")]
    except ClientError:
        return []
