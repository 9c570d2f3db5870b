"""Which values of a configuration are secrets, and texts without them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from penstock.api.config import Type

from .plugins import PluginEntry, PluginKind
from .secret_looks import is_secret, shown
from .validation_secrets import without_secrets

_PART = re.compile(r"(?:key|value|header)\.converter\.|transforms\.|predicates\.")

PARTS = (PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER, PluginKind.TRANSFORMATION, PluginKind.PREDICATE)
"""Plugins whose keys stand below a prefix in the configuration of a connector."""

Raw = Mapping[str, str | None]


def masked(config: Raw, plugin: PluginEntry | None, parts: Iterable[PluginEntry] = ()) -> dict[str, str | None]:
    """A configuration without its secrets: what a plugin calls a password, looks like one, or is one in a URL.

    ``parts`` are the :data:`PARTS` that there are. References such as ``${env:TOKEN}`` are shown, they tell nothing.
    """
    declared = _passwords(plugin)
    below = tuple({f".{name}" for part in parts for name in _passwords(part)})
    declared |= {key for key in config if _PART.match(key) and key.endswith(below)}
    return {key: shown(key, value, declared) if value else value for key, value in config.items()}


def without_values(text: str, config: Raw, resolved: Mapping[str, str], plugin: PluginEntry | None) -> str:
    """A text in which neither what references stood for nor a password is to be read."""
    declared = _passwords(plugin)
    hidden = {
        key
        for key, value in config.items()
        if value and key in resolved and (value != resolved[key] or is_secret(key, value, declared))
    }
    return without_secrets(text, resolved, hidden)


def _passwords(plugin: PluginEntry | None) -> frozenset[str]:
    keys = () if plugin is None else plugin.load().config.keys
    return frozenset(key.name for key in keys if key.type is Type.PASSWORD)
