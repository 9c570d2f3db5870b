"""A connector's configuration, parsed: what the runtime must know to run its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.api.config import Type
from penstock.api.config_values import parse_value, trim
from penstock.api.errors import ConfigError
from penstock.spark.splits import ErrorPolicy, PluginRef, TransformRef

from .plugins import PluginEntry, PluginKind, Plugins
from .topic_creation import TopicGroup, topic_groups
from .validation_classes import class_names, is_usable
from .validation_clients import overrides
from .validation_keys import WORKER_CONVERTERS, framework_keys, worker_converter
from .validation_transforms import aliases


class UnknownPredicate(ConfigError):
    """A transform refers to a predicate alias that ``predicates`` does not list."""

    exception = "org.apache.kafka.connect.errors.ConnectException"

    def __init__(self, alias: str) -> None:
        super().__init__(
            "org.apache.kafka.connect.errors.ConnectException: org.apache.kafka.common.config.ConfigException:"
            f" Unknown configuration 'predicates.{alias}.plugin.version'"
        )


@dataclass(frozen=True)
class ConnectorConfig:
    """The framework's view of a configuration whose references are resolved.

    ``settings`` is the whole configuration. ``topics``, ``topics_regex`` and ``group_id`` are those of a sink,
    ``topic_groups`` (the default group last) those of a source that creates its topics in its own way.
    """

    name: str
    plugin: PluginEntry
    settings: Mapping[str, str]
    tasks_max: int
    tasks_max_enforce: bool
    key_converter: PluginRef
    value_converter: PluginRef
    header_converter: PluginRef
    links: Sequence[TransformRef] | UnknownPredicate
    errors: ErrorPolicy
    topics: Sequence[str] = ()
    topics_regex: str = ""
    group_id: str = ""
    topic_groups: Sequence[TopicGroup] = ()
    reload_on_change: bool = True
    producer_overrides: Mapping[str, str] = field(default_factory=dict)
    consumer_overrides: Mapping[str, str] = field(default_factory=dict)
    admin_overrides: Mapping[str, str] = field(default_factory=dict)

    @property
    def transforms(self) -> Sequence[TransformRef]:
        """In order. Raises ``UnknownPredicate``: as in Kafka Connect that fails tasks, their connector runs."""
        if isinstance(self.links, UnknownPredicate):
            raise self.links
        return self.links

    @property
    def is_sink(self) -> bool:
        return self.plugin.kind is PluginKind.SINK

    @property
    def type(self) -> str:
        """``source`` or ``sink``."""
        return self.plugin.kind.value

    @property
    def default_topic_partitions(self) -> int:
        """Partitions of a topic that a source creates, unless a group says otherwise."""
        return self.topic_groups[-1].partitions_or(1) if self.topic_groups else 1

    def partitions_of_new(self, topic: str) -> int:
        """Partitions of a certain topic, should it be created."""
        group = next((group for group in self.topic_groups if group.matches(topic)), None)
        return 1 if group is None else group.partitions_or(1)


def parse_connector_config(
    plugins: Plugins, worker: Mapping[str, str], props: Mapping[str, str | None]
) -> ConnectorConfig:
    """Parse a configuration that was validated before; references must be resolved.

    Raises ``ConfigError`` or ``UnknownPlugin`` where it is invalid all the same, say because a plugin is gone.
    """
    settings = {key: value for key, value in props.items() if value is not None}
    plugin = plugins.connector(settings.get("connector.class", ""))
    framework = framework_keys(plugin.kind, plugins, worker, settings)
    parsed = framework.parse(settings, class_names(plugins))
    is_sink = plugin.kind is PluginKind.SINK
    return ConnectorConfig(
        name=parsed["name"],
        plugin=plugin,
        settings=settings,
        tasks_max=parsed["tasks.max"],
        tasks_max_enforce=parsed["tasks.max.enforce"],
        key_converter=converter_ref(plugins, worker, settings, "key.converter"),
        value_converter=converter_ref(plugins, worker, settings, "value.converter"),
        header_converter=converter_ref(plugins, worker, settings, "header.converter"),
        links=_links(plugins, settings),
        errors=error_policy(parsed, settings),
        topics=tuple(parsed["topics"]) if is_sink else (),
        topics_regex=parsed["topics.regex"] if is_sink else "",
        group_id=consumer_group(worker, settings) if is_sink else "",
        topic_groups=() if is_sink else topic_groups(worker, settings),
        reload_on_change=parsed["config.action.reload"] == "restart",
        producer_overrides=overrides("producer", settings),
        consumer_overrides=overrides("consumer", settings),
        admin_overrides=overrides("admin", settings),
    )


def converter_ref(plugins: Plugins, worker: Mapping[str, str], settings: Mapping[str, str], key: str) -> PluginRef:
    """A converter with its settings: the connector's if it names one, else the worker's; the two never mix."""
    kind, _ = WORKER_CONVERTERS[key]
    source = settings if settings.get(key) else worker
    name = settings[key] if source is settings else worker_converter(worker, key)
    entry = is_usable(plugins, parse_value(key, name, Type.CLASS, class_names(plugins)), kind)
    side = key.partition(".")[0]
    return PluginRef(entry.target, {"converter.type": side, **_under(source, f"{key}.")}, entry.version)


def _links(plugins: Plugins, settings: Mapping[str, str]) -> Sequence[TransformRef] | UnknownPredicate:
    try:
        return transform_chain(plugins, settings)
    except UnknownPredicate as unknown:
        return unknown


def transform_chain(plugins: Plugins, settings: Mapping[str, str]) -> list[TransformRef]:
    """The transforms of a connector, in order."""
    known = aliases(settings, "predicates")
    chain = []
    for alias in aliases(settings, "transforms"):
        prefix = f"transforms.{alias}."
        own = _under(settings, prefix)
        predicate = own.pop("predicate", None)
        negate = own.pop("negate", "").lower() == "true"
        transform = _ref(plugins, prefix, own, PluginKind.TRANSFORMATION)
        if predicate is None:
            chain.append(TransformRef(alias, transform))
            continue
        predicate = trim(predicate)
        if predicate not in known:
            raise UnknownPredicate(predicate)
        place = f"predicates.{predicate}."
        test = _ref(plugins, place, _under(settings, place), PluginKind.PREDICATE)
        chain.append(TransformRef(alias, transform, test, negate, predicate))
    return chain


def error_policy(parsed: Mapping[str, Any], settings: Mapping[str, str]) -> ErrorPolicy:
    """The ``errors.*`` keys, from parsed framework keys of a source or sink.

    Kafka Connect defines those of the dead letter queue for sinks only; a source that has them is understood too.
    """
    topic, headers = "errors.deadletterqueue.topic.name", "errors.deadletterqueue.context.headers.enable"
    copies = "errors.deadletterqueue.topic.replication.factor"
    return ErrorPolicy(
        tolerate_all=parsed["errors.tolerance"] == "all",
        retry_timeout_ms=parsed["errors.retry.timeout"],
        retry_delay_max_ms=parsed["errors.retry.delay.max.ms"],
        log=parsed["errors.log.enable"],
        log_messages=parsed["errors.log.include.messages"],
        dead_letter_topic=parsed.get(topic) or trim(settings.get(topic, "")),
        dead_letter_headers=bool(parse_value(headers, settings.get(headers), Type.BOOLEAN)),
        dead_letter_replication=parse_value(copies, settings.get(copies), Type.SHORT) or 3,
    )


def consumer_group(worker: Mapping[str, str], settings: Mapping[str, str]) -> str:
    """The group under which a sink's offsets are kept."""
    return (
        settings.get("consumer.override.group.id")
        or worker.get("consumer.group.id")
        or f"connect-{trim(settings.get('name', ''))}"
    )


def _ref(plugins: Plugins, prefix: str, own: Mapping[str, str], kind: PluginKind) -> PluginRef:
    name = parse_value(prefix + "type", own.get("type"), Type.CLASS, class_names(plugins))
    if name is None:
        raise ConfigError(f'Missing required configuration "{prefix}type" which has no default value.')
    settings = {key: value for key, value in own.items() if key not in ("type", "plugin.version")}
    entry = is_usable(plugins, name, kind)
    return PluginRef(entry.target, settings, entry.version)


def _under(settings: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key[len(prefix) :]: value for key, value in settings.items() if key.startswith(prefix)}
