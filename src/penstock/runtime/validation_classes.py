"""Classes in configurations: from names and aliases to plugins, with Kafka Connect's texts for what does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.config import ClassResolver, Recommender, Validator
from penstock.api.errors import ConfigError

from .plugins import PluginEntry, PluginKind, Plugins, UnknownPlugin

_JAVA_BASES = {
    PluginKind.CONVERTER: "Converter",
    PluginKind.HEADER_CONVERTER: "HeaderConverter",
    PluginKind.TRANSFORMATION: "Transformation",
    PluginKind.PREDICATE: "Predicate",
}


def java_name(kind: PluginKind) -> str:
    """What Kafka Connect calls the interface behind a kind of plugin."""
    return _JAVA_BASES[kind]


class PluginRecommender(Recommender):
    """Offers the installed plugins of a kind."""

    def __init__(self, plugins: Plugins, kind: PluginKind) -> None:
        self._plugins, self._kind = plugins, kind

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        return [entry.name for entry in self._plugins.all(self._kind)]


class VersionRecommender(Recommender):
    """Offers the versions of the plugin that another key names."""

    def __init__(self, plugins: Plugins, class_key: str, *kinds: PluginKind) -> None:
        self._plugins, self._class_key, self._kinds = plugins, class_key, kinds

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        return sorted({e.version for e in self._plugins.matches(parsed.get(self._class_key) or "", *self._kinds)})


def class_names(plugins: Plugins) -> ClassResolver:
    """Completes class names for CLASS keys; a Java class with inner plugins counts as a class, though abstract."""

    def resolve(name: str) -> str:
        try:
            return plugins.find(name).name
        except UnknownPlugin:
            if plugins.inner_classes(name):
                return name
            raise

    return resolve


def is_usable(plugins: Plugins, name: str, kind: PluginKind) -> PluginEntry:
    """The plugin behind a resolved class name. Raises ``ConfigError`` if it is of another kind or abstract."""
    entries = plugins.matches(name)
    for entry in entries:
        if entry.kind is kind:
            return entry
    if entries:
        raise ConfigError(f"Class class {name} does not implement the {java_name(kind)} interface")
    inner = plugins.inner_classes(name)
    hint = f" Did you mean {', '.join(inner)}?" if inner else ""
    raise ConfigError(f"This class is abstract and cannot be created.{hint}")


def plugin_class(plugins: Plugins, kind: PluginKind) -> Validator:
    """Validator: the class of a plugin of this kind that can be made without arguments; nothing passes."""

    def check(name: str, value: Any) -> None:
        if value is None:
            return
        entry = is_usable(plugins, value, kind)
        try:
            entry.load()()
        except Exception as error:
            raise ConfigError.invalid(name, value, f"Could not instantiate class: {error}") from error

    return check
