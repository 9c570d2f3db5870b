"""Checks across the framework keys: those of sinks and those of sources."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from penstock.api.config import ConfigValue, Type, java_pattern
from penstock.api.config_values import parse_value, trim
from penstock.api.connector import SourceConnector
from penstock.api.errors import ConfigError

log = logging.getLogger(__name__)

Values = Mapping[str, ConfigValue]

_SEE_LOGS = "; please see the worker logs for more details."


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


def check_source(
    worker: Mapping[str, str], connector: type[SourceConnector], props: Mapping[str, Any], values: Values
) -> None:
    """Exactly-once only where the worker says it gives it; transactions ended by a connector only by one that can."""
    support, boundary = values["exactly.once.support"], values["transaction.boundary"]
    enabled = (worker.get("exactly.once.source.support") or "disabled").lower() == "enabled"
    if not support.errors and _is(support, "required") and not enabled:
        support.errors.append("This worker does not have exactly-once source support enabled.")
    if not boundary.errors and _is(boundary, "connector"):
        error = _boundary_error(connector, {key: value for key, value in props.items() if value is not None})
        if error is not None:
            boundary.errors.append(error)


def _boundary_error(connector: type[SourceConnector], settings: Mapping[str, str]) -> str | None:
    try:
        can: object = connector().can_define_transaction_boundaries(settings)
    except Exception as error:
        log.exception("%s.can_define_transaction_boundaries() failed", connector.__name__)
        text = str(error).strip()
        return f"An unexpected error occurred during validation{f': {text}' if text else _SEE_LOGS}"
    if can is None:
        return (
            "This connector has returned a null value from its canDefineTransactionBoundaries method, which is not"
            " permitted. The connector will be treated as if it cannot define its own transaction boundaries, and"
            " cannot be configured with 'transaction.boundary' set to 'connector'."
        )
    if can is not True:
        return (
            "The connector does not support connector-defined transaction boundaries with the given configuration."
            " Please reconfigure it to use a different transaction boundary definition."
        )
    return None


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
