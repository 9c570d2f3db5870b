"""Transforms and predicates in a connector's configuration: the keys that each alias brings along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.api.config import ConfigDef, ConfigKey, Importance, Recommender, Type, Validator, Width
from penstock.api.config_values import parse_value
from penstock.api.errors import ConfigError

from .plugins import PluginKind, Plugins
from .plugins_versions import version_spec
from .validation_classes import PluginRecommender, VersionRecommender, class_names, is_usable, java_name

IMPLICIT_KEYS = (
    ConfigKey("predicate", Type.STRING, None, doc="The alias of the predicate that chooses the records."),
    ConfigKey("negate", Type.BOOLEAN, False, doc="Whether the records that do not match are chosen instead."),
)
"""Keys that every transform has besides its own."""


def with_transforms(base: ConfigDef, plugins: Plugins, props: Mapping[str, Any]) -> ConfigDef:
    """The keys of ``base``, and those of every transform and predicate that ``props`` name."""
    keys = _expanded(plugins, props, "transforms", "Transforms", PluginKind.TRANSFORMATION, IMPLICIT_KEYS)
    keys += _expanded(plugins, props, "predicates", "Predicates", PluginKind.PREDICATE, ())
    return base.extended(*keys)


def aliases(props: Mapping[str, Any], key: str) -> list[str]:
    """The aliases under ``transforms`` or ``predicates``, each once."""
    return list(dict.fromkeys(parse_value(key, props.get(key), Type.LIST) or []))


def _expanded(
    plugins: Plugins,
    props: Mapping[str, Any],
    key: str,
    group: str,
    kind: PluginKind,
    implicit: tuple[ConfigKey, ...],
) -> list[ConfigKey]:
    keys: list[ConfigKey] = []
    for alias in aliases(props, key):
        prefix, title = f"{key}.{alias}.", f"{group}: {alias}"
        type_key = prefix + "type"
        own = _plugin_keys(plugins, props, type_key, kind)
        keys.append(_type_key(plugins, props, alias, prefix, title, kind))
        keys.append(_version_key(plugins, props, alias, prefix, title, kind))
        if own is not None:
            names = {given.name for given in implicit}
            merged = [*implicit, *(own_key for own_key in own.keys if own_key.name not in names)]
            keys += [
                _embedded(own_key, prefix, title, place) for place, own_key in enumerate(_sorted(merged, own), start=2)
            ]
    return keys


def _plugin_keys(plugins: Plugins, props: Mapping[str, Any], type_key: str, kind: PluginKind) -> ConfigDef | None:
    try:
        name = parse_value(type_key, props.get(type_key), Type.CLASS, class_names(plugins))
        config = None if name is None else is_usable(plugins, name, kind).load().config
    except ConfigError:
        return None
    return config if isinstance(config, ConfigDef) else None


def _type_key(
    plugins: Plugins, props: Mapping[str, Any], alias: str, prefix: str, group: str, kind: PluginKind
) -> ConfigKey:
    def check(name: str, value: Any) -> None:
        if prefix + "negate" in props and prefix + "predicate" not in props and kind is PluginKind.TRANSFORMATION:
            raise ConfigError(
                f"Config '{prefix}negate' was provided but there is no config '{prefix}predicate'"
                " defining a predicate to be negated."
            )
        if value is not None:
            entry = is_usable(plugins, value, kind)
            if not isinstance(entry.load().config, ConfigDef):
                raise ConfigError.invalid(
                    name, value, f"Error getting config definition from {java_name(kind)}: config is no ConfigDef"
                )

    return ConfigKey(
        prefix + "type",
        Type.CLASS,
        importance=Importance.HIGH,
        doc=f"The class of the {kind.value} {alias}.",
        validator=check,
        group=group,
        order=0,
        width=Width.LONG,
        display_name=f"{java_name(kind)} type for {alias}",
        recommender=PluginRecommender(plugins, kind),
    )


def _version_key(
    plugins: Plugins, props: Mapping[str, Any], alias: str, prefix: str, group: str, kind: PluginKind
) -> ConfigKey:
    used = plugins.matches(str(props.get(prefix + "type") or ""), kind)
    return ConfigKey(
        prefix + "plugin.version",
        Type.STRING,
        used[0].version if used else None,
        Importance.MEDIUM,
        f"The version of the {kind.value} {alias}.",
        version_spec,
        group,
        1,
        Width.LONG,
        f"{java_name(kind)} version for {alias}",
        (),
        VersionRecommender(plugins, prefix + "type", kind),
    )


def _sorted(keys: list[ConfigKey], own: ConfigDef) -> list[ConfigKey]:
    """By group and order; where these say nothing, required ones first, then by importance and name."""
    groups = {group: place for place, group in enumerate(own.groups)}
    ranks = list(Importance)

    def place(key: ConfigKey) -> tuple[int, int, bool, int, str]:
        group = -1 if key.group is None else groups[key.group]
        return group, key.order, not key.required, ranks.index(key.importance), key.name

    return sorted(keys, key=place)


def _embedded(key: ConfigKey, prefix: str, group: str, order: int) -> ConfigKey:
    """A key of a plugin as a key of the connector. Its own validator and recommender still see their own names."""
    return replace(
        key,
        name=prefix + key.name,
        group=group if key.group is None else f"{group}: {key.group}",
        order=order,
        validator=None if key.validator is None else _unprefixed(prefix, key.validator),
        dependents=tuple(prefix + name for name in key.dependents),
        recommender=None if key.recommender is None else _UnprefixedRecommender(prefix, key.recommender),
    )


def _unprefixed(prefix: str, validator: Validator) -> Validator:
    return lambda name, value: validator(name[len(prefix) :], value)


class _UnprefixedRecommender(Recommender):
    def __init__(self, prefix: str, inner: Recommender) -> None:
        self._prefix, self._inner = prefix, inner

    def _own(self, parsed: Mapping[str, Any]) -> dict[str, Any]:
        return {name[len(self._prefix) :]: v for name, v in parsed.items() if name.startswith(self._prefix)}

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return list(self._inner.valid_values(name[len(self._prefix) :], self._own(parsed)))

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return self._inner.visible(name[len(self._prefix) :], self._own(parsed))
