"""Framework keys that are the same for every connector and worker: Kafka Connect's names, groups and order."""

from __future__ import annotations

from typing import Any

from penstock.api.config import (
    ConfigKey,
    Importance,
    Type,
    Width,
    at_least,
    non_empty_string,
    non_empty_string_without_control_chars,
    one_of,
    one_of_ignoring_case,
    regex,
    unique_list,
)
from penstock.api.errors import ConfigError

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW


def _unique_aliases(name: str, value: Any) -> None:
    if value and len(set(value)) < len(value):
        raise ConfigError.invalid(name, f"[{', '.join(value)}]", "Duplicate alias provided.")


def framework_key(
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
    """A key with everything that a form shows."""
    return ConfigKey(
        name, type, importance=importance, doc=doc, group=group, order=order, width=width, display_name=title, **more
    )


IDENTITY_KEYS = [
    framework_key(
        "name",
        Type.STRING,
        "Common",
        1,
        Width.MEDIUM,
        "Connector name",
        HIGH,
        "The name of the connector, unique among all connectors of the worker or cluster.",
        validator=non_empty_string_without_control_chars,
    ),
    framework_key(
        "connector.class",
        Type.STRING,
        "Common",
        2,
        Width.LONG,
        "Connector class",
        HIGH,
        "The connector to run: its Java class name, a short form of it (FileStreamSource), or module:Class.",
    ),
]

TASK_KEYS = [
    framework_key(
        "tasks.max",
        Type.INT,
        "Common",
        4,
        Width.SHORT,
        "Tasks max",
        HIGH,
        "The most tasks the connector may use.",
        default=1,
        validator=at_least(1),
    ),
    framework_key(
        "tasks.max.enforce",
        Type.BOOLEAN,
        "Common",
        5,
        Width.SHORT,
        "Enforce tasks max",
        LOW,
        "Whether a connector that asks for more than tasks.max tasks fails.",
        default=True,
    ),
]

CHAIN_KEYS = [
    framework_key(
        "transforms",
        Type.LIST,
        "Transforms",
        12,
        Width.LONG,
        "Transforms",
        LOW,
        "Aliases of the transforms that records pass, in this order.",
        default=[],
        validator=_unique_aliases,
    ),
    framework_key(
        "predicates",
        Type.LIST,
        "Predicates",
        13,
        Width.LONG,
        "Predicates",
        LOW,
        "Aliases of the predicates that transforms may refer to.",
        default=[],
        validator=_unique_aliases,
    ),
    framework_key(
        "config.action.reload",
        Type.STRING,
        "Common",
        14,
        Width.MEDIUM,
        "Reload Action",
        LOW,
        "What happens when a config provider reports that a value changed: none, or restart of the connector.",
        default="restart",
        validator=one_of("none", "restart"),
    ),
]

_ERRORS = "Error Handling"
ERROR_KEYS = [
    framework_key(
        "errors.retry.timeout",
        Type.LONG,
        _ERRORS,
        1,
        Width.MEDIUM,
        "Retry Timeout for Errors",
        MEDIUM,
        "How long, in milliseconds, a failed operation is repeated; 0 never, -1 for ever.",
        default=0,
    ),
    framework_key(
        "errors.retry.delay.max.ms",
        Type.LONG,
        _ERRORS,
        2,
        Width.MEDIUM,
        "Maximum Delay Between Retries for Errors",
        MEDIUM,
        "The longest pause, in milliseconds, between two attempts.",
        default=60_000,
    ),
    framework_key(
        "errors.tolerance",
        Type.STRING,
        _ERRORS,
        3,
        Width.SHORT,
        "Error Tolerance",
        MEDIUM,
        "none: a record that fails makes the task fail. all: it is skipped.",
        default="none",
        validator=one_of("none", "all"),
    ),
    framework_key(
        "errors.log.enable",
        Type.BOOLEAN,
        _ERRORS,
        4,
        Width.SHORT,
        "Log Errors",
        MEDIUM,
        "Whether every failed record leaves a line in the log, tolerated or not.",
        default=False,
    ),
    framework_key(
        "errors.log.include.messages",
        Type.BOOLEAN,
        _ERRORS,
        5,
        Width.SHORT,
        "Log Error Details",
        MEDIUM,
        "Whether that line tells which record failed.",
        default=False,
    ),
]

_EXACTLY_ONCE = "Exactly Once Support"
SOURCE_KEYS = [
    framework_key(
        "topic.creation.groups",
        Type.LIST,
        "Topic Creation",
        1,
        Width.LONG,
        "Topic Creation Groups",
        LOW,
        "Names of groups of topics; topic.creation.<group>.* say which topics are in one and how they are created.",
        default=[],
        validator=_unique_aliases,
    ),
    framework_key(
        "exactly.once.support",
        Type.STRING,
        _EXACTLY_ONCE,
        2,
        Width.SHORT,
        "Exactly once support",
        MEDIUM,
        "required: refuse to run unless worker and connector give exactly-once; requested: try.",
        default="requested",
        validator=one_of_ignoring_case("REQUIRED", "REQUESTED"),
    ),
    framework_key(
        "transaction.boundary",
        Type.STRING,
        _EXACTLY_ONCE,
        3,
        Width.SHORT,
        "Transaction Boundary",
        MEDIUM,
        "Where transactions end: with each batch (poll), after a time (interval), or where the connector says.",
        default="poll",
        validator=one_of_ignoring_case("INTERVAL", "POLL", "CONNECTOR"),
    ),
    framework_key(
        "transaction.boundary.interval.ms",
        Type.LONG,
        _EXACTLY_ONCE,
        4,
        Width.SHORT,
        "Transaction boundary interval",
        LOW,
        "The time between commits, in milliseconds, if transaction.boundary is interval.",
        default=None,
        validator=lambda name, value: None if value is None else at_least(0)(name, value),
    ),
    framework_key(
        "offsets.storage.topic",
        Type.STRING,
        "offsets.topic",
        1,
        Width.LONG,
        "Offsets topic",
        LOW,
        "A topic of its own for the source offsets of this connector.",
        default=None,
        validator=non_empty_string,
    ),
]

SINK_KEYS = [
    framework_key(
        "topics",
        Type.LIST,
        "Common",
        4,
        Width.LONG,
        "Topics",
        HIGH,
        "The topics to read, separated by commas.",
        default=[],
        validator=unique_list(),
    ),
    framework_key(
        "topics.regex",
        Type.STRING,
        "Common",
        4,
        Width.LONG,
        "Topics regex",
        HIGH,
        "A regular expression; topics whose whole name matches are read. Instead of topics.",
        default="",
        validator=regex,
    ),
    framework_key(
        "errors.deadletterqueue.topic.name",
        Type.STRING,
        _ERRORS,
        6,
        Width.MEDIUM,
        "Dead Letter Queue Topic Name",
        MEDIUM,
        "The topic that takes the records that failed; none if empty.",
        default="",
    ),
    framework_key(
        "errors.deadletterqueue.topic.replication.factor",
        Type.SHORT,
        _ERRORS,
        7,
        Width.MEDIUM,
        "Dead Letter Queue Topic Replication Factor",
        MEDIUM,
        "Copies of the dead letter topic, if it must be created.",
        default=3,
    ),
    framework_key(
        "errors.deadletterqueue.context.headers.enable",
        Type.BOOLEAN,
        _ERRORS,
        8,
        Width.MEDIUM,
        "Enable Error Context Headers",
        MEDIUM,
        "Whether dead letters carry headers that say where and why they failed.",
        default=False,
    ),
]
