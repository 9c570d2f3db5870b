"""The keys that every connector has, whatever its class: Kafka Connect's, with its names, groups and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.config import (
    ConfigDef,
    ConfigKey,
    Importance,
    Recommender,
    Type,
    Validator,
    Width,
    at_least,
    non_empty_string,
    non_empty_string_without_control_chars,
    one_of,
    one_of_ignoring_case,
    regex,
)
from penstock.api.errors import ConfigError

from .plugins import PluginEntry, PluginKind, Plugins, UnknownPlugin
from .plugins_versions import version_spec

Worker = Mapping[str, str] | None
"""The properties of the worker, or ``None`` for definitions that hold for any worker."""

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
SIMPLE_HEADER_CONVERTER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
WORKER_CONVERTERS = {
    "key.converter": (PluginKind.CONVERTER, JSON_CONVERTER),
    "value.converter": (PluginKind.CONVERTER, JSON_CONVERTER),
    "header.converter": (PluginKind.HEADER_CONVERTER, SIMPLE_HEADER_CONVERTER),
}
"""Converter keys: the kind of plugin, and what a worker uses when its own configuration names none."""

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


def class_names(plugins: Plugins) -> Any:
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


def _unique_aliases(name: str, value: Any) -> None:
    if value and len(set(value)) < len(value):
        raise ConfigError.invalid(name, f"[{', '.join(value)}]", "Duplicate alias provided.")


def _key(
    name: str,
    type: Type,
    group: str,
    order: int,
    width: Width,
    title: str,
    importance: Importance,
    doc: str,
    **more: Any,
) -> ConfigKey:
    return ConfigKey(
        name, type, importance=importance, doc=doc, group=group, order=order, width=width, display_name=title, **more
    )


def common_keys(plugins: Plugins, worker: Worker, props: Mapping[str, Any]) -> list[ConfigKey]:
    """Keys of sources and sinks. The worker's converters are the defaults; ``props`` decide on default versions."""
    connectors = (PluginKind.SOURCE, PluginKind.SINK)
    connector = props.get("connector.class") or ""
    return [
        _key("name", Type.STRING, "Common", 1, Width.MEDIUM, "Connector name", HIGH,
             "The name of the connector, unique among all connectors of the worker or cluster.",
             validator=non_empty_string_without_control_chars),
        _key("connector.class", Type.STRING, "Common", 2, Width.LONG, "Connector class", HIGH,
             "The connector to run: its Java class name, a short form of it (FileStreamSource), or module:Class."),
        _key("connector.plugin.version", Type.STRING, "Common", 3, Width.MEDIUM, "Connector version", MEDIUM,
             "The version of the connector: one version, or a range in Maven's notation. The newest by default.",
             default=_version(plugins, connector, *connectors), validator=version_spec,
             recommender=VersionRecommender(plugins, "connector.class", *connectors)),
        _key("tasks.max", Type.INT, "Common", 4, Width.SHORT, "Tasks max", HIGH,
             "The most tasks the connector may use.", default=1, validator=at_least(1)),
        _key("tasks.max.enforce", Type.BOOLEAN, "Common", 5, Width.SHORT, "Enforce tasks max", LOW,
             "Whether a connector that asks for more than tasks.max tasks fails.", default=True),
        *_converter_keys(plugins, worker, props, "key", 6),
        *_converter_keys(plugins, worker, props, "value", 8),
        *_converter_keys(plugins, worker, props, "header", 10),
        _key("transforms", Type.LIST, "Transforms", 12, Width.LONG, "Transforms", LOW,
             "Aliases of the transforms that records pass, in this order.", default=[], validator=_unique_aliases),
        _key("predicates", Type.LIST, "Predicates", 13, Width.LONG, "Predicates", LOW,
             "Aliases of the predicates that transforms may refer to.", default=[], validator=_unique_aliases),
        _key("config.action.reload", Type.STRING, "Common", 14, Width.MEDIUM, "Reload Action", LOW,
             "What happens when a config provider reports that a value changed: none, or restart of the connector.",
             default="restart", validator=one_of("none", "restart")),
        *_ERROR_KEYS,
    ]


def framework_keys(kind: PluginKind, plugins: Plugins, worker: Worker, props: Mapping[str, Any]) -> ConfigDef:
    """Every framework key of a source or sink connector, without those of its transforms."""
    return ConfigDef(
        *common_keys(plugins, worker, props), *(_SINK_KEYS if kind is PluginKind.SINK else _SOURCE_KEYS)
    )


def worker_converter(worker: Mapping[str, str], key: str) -> str:
    """The class of a converter of the worker, for connectors that name none."""
    return worker.get(key) or WORKER_CONVERTERS[key][1]


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
        _key(name, Type.CLASS, "Common", order, Width.SHORT, f"{title} converter class", LOW,
             f"How record {side}s become bytes in topics and back; the worker's converter by default.",
             default=default, validator=plugin_class(plugins, kind), recommender=PluginRecommender(plugins, kind)),
        _key(f"{name}.plugin.version", Type.STRING, "Common", order + 1, Width.SHORT, f"{title} converter version", LOW,
             f"The version of the {side} converter.", default=_version(plugins, used, kind), validator=version_spec,
             recommender=VersionRecommender(plugins, name, kind)),
    ]


def _version(plugins: Plugins, name: str, *kinds: PluginKind) -> str | None:
    return next((entry.version for entry in plugins.matches(name, *kinds)), None)


_ERRORS = "Error Handling"
_ERROR_KEYS = [
    _key("errors.retry.timeout", Type.LONG, _ERRORS, 1, Width.MEDIUM, "Retry Timeout for Errors", MEDIUM,
         "How long, in milliseconds, a failed operation is repeated; 0 never, -1 for ever.", default=0),
    _key("errors.retry.delay.max.ms", Type.LONG, _ERRORS, 2, Width.MEDIUM, "Maximum Delay Between Retries for Errors",
         MEDIUM, "The longest pause, in milliseconds, between two attempts.", default=60_000),
    _key("errors.tolerance", Type.STRING, _ERRORS, 3, Width.SHORT, "Error Tolerance", MEDIUM,
         "none: a record that fails makes the task fail. all: it is skipped.",
         default="none", validator=one_of("none", "all")),
    _key("errors.log.enable", Type.BOOLEAN, _ERRORS, 4, Width.SHORT, "Log Errors", MEDIUM,
         "Whether every failed record leaves a line in the log, tolerated or not.", default=False),
    _key("errors.log.include.messages", Type.BOOLEAN, _ERRORS, 5, Width.SHORT, "Log Error Details", MEDIUM,
         "Whether that line tells which record failed.", default=False),
]

_EXACTLY_ONCE = "Exactly Once Support"
_SOURCE_KEYS = [
    _key("topic.creation.groups", Type.LIST, "Topic Creation", 1, Width.LONG, "Topic Creation Groups", LOW,
         "Names of groups of topics; topic.creation.<group>.* say which topics are in one and how they are created.",
         default=[], validator=_unique_aliases),
    _key("exactly.once.support", Type.STRING, _EXACTLY_ONCE, 2, Width.SHORT, "Exactly once support", MEDIUM,
         "required: refuse to run unless worker and connector give exactly-once; requested: try.",
         default="requested", validator=one_of_ignoring_case("REQUIRED", "REQUESTED")),
    _key("transaction.boundary", Type.STRING, _EXACTLY_ONCE, 3, Width.SHORT, "Transaction Boundary", MEDIUM,
         "Where transactions end: with each batch (poll), after a time (interval), or where the connector says.",
         default="poll", validator=one_of_ignoring_case("INTERVAL", "POLL", "CONNECTOR")),
    _key("transaction.boundary.interval.ms", Type.LONG, _EXACTLY_ONCE, 4, Width.SHORT, "Transaction boundary interval",
         LOW, "The time between commits, in milliseconds, if transaction.boundary is interval.",
         default=None, validator=lambda name, value: None if value is None else at_least(0)(name, value)),
    _key("offsets.storage.topic", Type.STRING, "offsets.topic", 1, Width.LONG, "Offsets topic", LOW,
         "A topic of its own for the source offsets of this connector.", default=None, validator=non_empty_string),
]

_SINK_KEYS = [
    _key("topics", Type.LIST, "Common", 4, Width.LONG, "Topics", HIGH,
         "The topics to read, separated by commas.", default=[]),
    _key("topics.regex", Type.STRING, "Common", 4, Width.LONG, "Topics regex", HIGH,
         "A regular expression; topics whose whole name matches are read. Instead of topics.",
         default="", validator=regex),
    _key("errors.deadletterqueue.topic.name", Type.STRING, _ERRORS, 6, Width.MEDIUM, "Dead Letter Queue Topic Name",
         MEDIUM, "The topic that takes the records that failed; none if empty.", default=""),
    _key("errors.deadletterqueue.topic.replication.factor", Type.SHORT, _ERRORS, 7, Width.MEDIUM,
         "Dead Letter Queue Topic Replication Factor", MEDIUM,
         "Copies of the dead letter topic, if it must be created.", default=3),
    _key("errors.deadletterqueue.context.headers.enable", Type.BOOLEAN, _ERRORS, 8, Width.MEDIUM,
         "Enable Error Context Headers", MEDIUM,
         "Whether dead letters carry headers that say where and why they failed.", default=False),
]
