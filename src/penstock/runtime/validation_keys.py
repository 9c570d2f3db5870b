"""The keys that every connector has, whatever its class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, Width

from .plugins import PluginKind, Plugins
from .plugins_versions import version_spec
from .validation_classes import PluginRecommender, VersionRecommender, plugin_class
from .validation_fixed_keys import (
    CHAIN_KEYS,
    ERROR_KEYS,
    IDENTITY_KEYS,
    SINK_KEYS,
    SOURCE_KEYS,
    TASK_KEYS,
    framework_key,
)

Worker = Mapping[str, str] | None
"""The properties of the worker, or ``None`` for definitions that hold for any worker."""

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
SIMPLE_HEADER_CONVERTER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
WORKER_CONVERTERS = {
    "key.converter": (PluginKind.CONVERTER, JSON_CONVERTER),
    "value.converter": (PluginKind.CONVERTER, JSON_CONVERTER),
    "header.converter": (PluginKind.HEADER_CONVERTER, SIMPLE_HEADER_CONVERTER),
}
"""Converter keys: the kind of plugin, and what a worker uses when its own configuration names none."""


def framework_keys(kind: PluginKind, plugins: Plugins, worker: Worker, props: Mapping[str, Any]) -> ConfigDef:
    """Every framework key of a source or sink connector, without those of its transforms.

    The worker's converters are the defaults; the classes in ``props`` decide on the default versions.
    """
    return ConfigDef(
        *IDENTITY_KEYS,
        _connector_version(plugins, props),
        *TASK_KEYS,
        *_converter_keys(plugins, worker, props, "key", 6),
        *_converter_keys(plugins, worker, props, "value", 8),
        *_converter_keys(plugins, worker, props, "header", 10),
        *CHAIN_KEYS,
        *ERROR_KEYS,
        *(SINK_KEYS if kind is PluginKind.SINK else SOURCE_KEYS),
    )


def worker_converter(worker: Mapping[str, str], key: str) -> str:
    """The class of a converter of the worker, for connectors that name none."""
    return worker.get(key) or WORKER_CONVERTERS[key][1]


def _connector_version(plugins: Plugins, props: Mapping[str, Any]) -> ConfigKey:
    kinds = (PluginKind.SOURCE, PluginKind.SINK)
    return framework_key(
        "connector.plugin.version",
        Type.STRING,
        "Common",
        3,
        Width.MEDIUM,
        "Connector version",
        Importance.MEDIUM,
        "The version of the connector: one version, or a range in Maven's notation. The newest by default.",
        default=_version(plugins, props.get("connector.class") or "", *kinds),
        validator=version_spec,
        recommender=VersionRecommender(plugins, "connector.class", *kinds),
    )


def _converter_keys(
    plugins: Plugins, worker: Worker, props: Mapping[str, Any], side: str, order: int
) -> list[ConfigKey]:
    name = f"{side}.converter"
    kind, _ = WORKER_CONVERTERS[name]
    fallback = "" if worker is None else worker_converter(worker, name)
    default = next((entry.name for entry in plugins.matches(fallback, kind)), None)
    used = props.get(name) or default or ""
    title = side.capitalize()
    return [
        framework_key(
            name,
            Type.CLASS,
            "Common",
            order,
            Width.SHORT,
            f"{title} converter class",
            Importance.LOW,
            f"How record {side}s become bytes in topics and back; the worker's converter by default.",
            default=default,
            validator=plugin_class(plugins, kind),
            recommender=PluginRecommender(plugins, kind),
        ),
        framework_key(
            f"{name}.plugin.version",
            Type.STRING,
            "Common",
            order + 1,
            Width.SHORT,
            f"{title} converter version",
            Importance.LOW,
            f"The version of the {side} converter.",
            default=_version(plugins, used, kind),
            validator=version_spec,
            recommender=VersionRecommender(plugins, name, kind),
        ),
    ]


def _version(plugins: Plugins, name: str, *kinds: PluginKind) -> str | None:
    return next((entry.version for entry in plugins.matches(name, *kinds)), None)
