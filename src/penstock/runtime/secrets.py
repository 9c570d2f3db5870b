"""Which values of a configuration are secrets, and texts without them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from penstock.api.config import Type

from .plugins import PluginEntry
from .validation_secrets import HIDDEN, without_secrets

SUSPICIOUS = re.compile(r"password|secret|token|credential|authorization|cookie|api[._-]?key|private[._-]?key", re.I)
_REFERENCE = re.compile(r"\$\{[^{}]*\}")

Raw = Mapping[str, str | None]


def masked(config: Raw, plugin: PluginEntry | None) -> dict[str, str | None]:
    """A configuration without its secrets: what the plugin calls a password, or what looks like one.

    References such as ``${env:TOKEN}`` are shown, they tell nothing.
    """
    declared = _passwords(plugin)
    return {key: HIDDEN if value and _is_secret(key, value, declared) else value for key, value in config.items()}


def without_values(text: str, config: Raw, resolved: Mapping[str, str], plugin: PluginEntry | None) -> str:
    """A text in which neither what references stood for nor a password is to be read."""
    declared = _passwords(plugin)
    hidden = {
        key
        for key, value in config.items()
        if value and key in resolved and (value != resolved[key] or _is_secret(key, value, declared))
    }
    return without_secrets(text, resolved, hidden)


def _is_secret(key: str, value: str, declared: frozenset[str]) -> bool:
    if _REFERENCE.fullmatch(value):
        return False
    return key in declared or SUSPICIOUS.search(key) is not None


def _passwords(plugin: PluginEntry | None) -> frozenset[str]:
    keys = () if plugin is None else plugin.load().config.keys
    return frozenset(key.name for key in keys if key.type is Type.PASSWORD)
