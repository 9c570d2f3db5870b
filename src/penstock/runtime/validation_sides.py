"""Checks across the framework keys: those of sinks and those of sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.config import ConfigValue, Type, java_pattern
from penstock.api.config_values import parse_value, trim
from penstock.api.errors import ConfigError


def check_sink(worker: Mapping[str, str], props: Mapping[str, Any], values: dict[str, ConfigValue]) -> None:
    """One way to name topics, a dead letter topic that is not read, a consumer group that is not the worker's."""
    topics, pattern = values["topics"], values["topics.regex"]
    has_topics, has_pattern = bool(trim(props.get("topics") or "")), bool(trim(props.get("topics.regex") or ""))
    error = None
    if has_topics and has_pattern:
        error = "topics and topics.regex are mutually exclusive options, but both are set."
    elif not has_topics and not has_pattern:
        error = "Must configure one of topics or topics.regex"
    if error is not None:
        topics.errors.append(error)
        pattern.errors.append(error)
    _check_dead_letters(props, topics, pattern)
    _check_group(worker, props, values)


def check_source(worker: Mapping[str, str], values: Mapping[str, ConfigValue]) -> None:
    """Exactly-once only where the worker gives it; transactions are never ended by a connector."""
    support, boundary = values["exactly.once.support"], values["transaction.boundary"]
    enabled = (worker.get("exactly.once.source.support") or "disabled").lower() == "enabled"
    if not support.errors and _is(support, "required") and not enabled:
        support.errors.append("This worker does not have exactly-once source support enabled.")
    if not boundary.errors and _is(boundary, "connector"):
        boundary.errors.append(
            "The connector does not support connector-defined transaction boundaries with the given configuration."
            " Please reconfigure it to use a different transaction boundary definition."
        )


def _is(value: ConfigValue, word: str) -> bool:
    return str(value.value).lower() == word


def _check_dead_letters(props: Mapping[str, Any], topics: ConfigValue, pattern: ConfigValue) -> None:
    dead = trim(props.get("errors.deadletterqueue.topic.name") or "")
    if not dead:
        return
    names = parse_value("topics", props.get("topics"), Type.LIST) or []
    if dead in names:
        topics.errors.append(
            f"The DLQ topic '{dead}' may not be included in the list of topics"
            f" ('topics=[{', '.join(names)}]') consumed by the connector"
        )
    text = props.get("topics.regex") or ""
    try:
        matched = bool(trim(text)) and java_pattern(text).fullmatch(dead) is not None
    except ConfigError:
        return
    if matched:
        pattern.errors.append(
            f"The DLQ topic '{dead}' may not be matched by the regex for the topics"
            f" ('topics.regex={text}') consumed by the connector"
        )


def _check_group(worker: Mapping[str, str], props: Mapping[str, Any], values: dict[str, ConfigValue]) -> None:
    """Only in a cluster, where the workers are a group themselves."""
    group, key = worker.get("group.id"), "consumer.override.group.id"
    name, override = props.get("name"), props.get(key)
    if group is None:
        return
    if override is None and group == f"connect-{name}":
        error = f"Consumer group for sink connector named {name} conflicts with Connect worker group {group}"
        values["name"].errors.append(error)
    elif override == group:
        error = f"Consumer group {override} conflicts with Connect worker group {group}"
        values.setdefault(key, ConfigValue(key, override)).errors.append(error)
