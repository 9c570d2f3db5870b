"""How a source's topics are created: the ``topic.creation.*`` keys of its configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.api.config import ConfigDef, ConfigKey, Type, java_pattern, regex
from penstock.api.config_values import parse_value
from penstock.api.errors import ConfigError

PREFIX = "topic.creation."
DEFAULT_GROUP = "default"
BROKER_DEFAULT = -1


@dataclass(frozen=True)
class TopicGroup:
    """Topics that are created alike. ``-1`` leaves a number to the topics' home; ``settings`` are topic configs."""

    name: str
    partitions: int
    replication_factor: int
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    def matches(self, topic: str) -> bool:
        """Whether the whole name matches an included and no excluded pattern; the default group takes any topic."""
        if self.name == DEFAULT_GROUP:
            return True
        if any(java_pattern(pattern).fullmatch(topic) for pattern in self.exclude):
            return False
        return any(java_pattern(pattern).fullmatch(topic) for pattern in self.include)

    def partitions_or(self, fallback: int) -> int:
        return fallback if self.partitions == BROKER_DEFAULT else self.partitions


def topic_groups(worker: Mapping[str, str], settings: Mapping[str, str]) -> list[TopicGroup]:
    """The groups in the order they are asked, the default one last; empty if the connector does not use any.

    Raises ``ConfigError``.
    """
    enabled = parse_value("topic.creation.enable", worker.get("topic.creation.enable", "true"), Type.BOOLEAN)
    if not enabled or not any(key.startswith(PREFIX) for key in settings):
        return []
    default = _group(settings, DEFAULT_GROUP, None)
    names = parse_value(PREFIX + "groups", settings.get(PREFIX + "groups"), Type.LIST) or []
    return [*(_group(settings, name, default) for name in names if name != DEFAULT_GROUP), default]


def _partitions(name: str, value: Any) -> None:
    if value is None or (value < 1 and value != BROKER_DEFAULT):
        detail = "Number of partitions must be positive, or -1 to use the broker's default"
        raise ConfigError.invalid(name, value, detail)


def _replication(name: str, value: Any) -> None:
    if value is None or (value < 1 and value != BROKER_DEFAULT):
        detail = (
            "Replication factor must be positive and not larger than the number of brokers in the Kafka cluster,"
            " or -1 to use the broker's default"
        )
        raise ConfigError.invalid(name, value, detail)


def _group(settings: Mapping[str, str], name: str, default: TopicGroup | None) -> TopicGroup:
    prefix = f"{PREFIX}{name}."
    fallback: dict[str, Any] = {}
    patterns: list[ConfigKey] = []
    if default is not None:
        fallback = {"partitions": default.partitions, "replication.factor": default.replication_factor}
        patterns = [
            ConfigKey(prefix + "include", Type.LIST, [], validator=regex),
            ConfigKey(prefix + "exclude", Type.LIST, [], validator=regex),
        ]
    keys = ConfigDef(
        _numbered(prefix + "partitions", Type.INT, _partitions, fallback.get("partitions")),
        _numbered(prefix + "replication.factor", Type.SHORT, _replication, fallback.get("replication.factor")),
        *patterns,
    )
    parsed = keys.parse(settings)
    others = {key[len(prefix) :]: v for key, v in settings.items() if key.startswith(prefix) and key not in keys}
    return TopicGroup(
        name,
        parsed[prefix + "partitions"],
        parsed[prefix + "replication.factor"],
        parsed.get(prefix + "include", ()),
        parsed.get(prefix + "exclude", ()),
        others,
    )


def _numbered(name: str, type: Type, validator: Any, default: int | None) -> ConfigKey:
    if default is None:
        return ConfigKey(name, type, validator=validator)
    return ConfigKey(name, type, default, validator=validator)
