"""The JSON shapes of answers that are not plain values of the herder."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.runtime.health import ConnectorHealth
from penstock.runtime.requests import ComponentStatus, ConnectorInfo, ConnectorStatus, OffsetEntry, TaskId

from .users import Role


class ServerInfo(msgspec.Struct):
    """Who answers."""

    version: str
    commit: str
    kafka_cluster_id: str


class UserView(msgspec.Struct):
    """Who asks. ``name`` is null where the worker does not tell users apart, or was told none."""

    name: str | None
    role: Role


class HealthView(msgspec.Struct):
    """``status`` is ``healthy``, ``starting`` or ``unhealthy``."""

    status: str
    message: str


class ComponentView(msgspec.Struct, omit_defaults=True):
    """The state of a connector instance. Restarts are told where the connector asks for automatic ones."""

    state: str
    worker_id: str
    version: str | None = None
    trace: str | None = None
    restarts: int | None = None
    next_restart: int | None = None


class TaskView(msgspec.Struct, omit_defaults=True):
    """The state of a task."""

    id: int
    state: str
    worker_id: str
    version: str | None = None
    trace: str | None = None
    restarts: int | None = None
    next_restart: int | None = None


class StatusView(msgspec.Struct):
    """The state of a connector and its tasks."""

    name: str
    connector: ComponentView
    tasks: list[TaskView]
    type: str


class ExpandedConnector(msgspec.Struct, omit_defaults=True):
    """What ``expand`` asked for."""

    status: StatusView | None = None
    info: ConnectorInfo | None = None
    health: ConnectorHealth | None = None


class TaskInfo(msgspec.Struct):
    """The raw configuration of a task."""

    id: TaskId
    config: dict[str, str | None]


class CreatedView(msgspec.Struct, omit_defaults=True):
    """A connector that was created. ``offsets_status`` is there when it was created with offsets."""

    name: str
    config: dict[str, str | None]
    tasks: list[TaskId]
    type: str
    offsets_status: str | None = None


class ActiveTopics(msgspec.Struct):
    """Topics that a connector has used since it was created or reset."""

    topics: list[str]


class OffsetsView(msgspec.Struct):
    """Committed offsets."""

    offsets: list[OffsetEntry]


class Message(msgspec.Struct):
    """The result in words."""

    message: str


class PluginView(msgspec.Struct, rename={"class_name": "class"}, omit_defaults=True):
    """An installed plugin."""

    class_name: str
    type: str
    version: str | None = None


class KeyDefinition(msgspec.Struct):
    """What a configuration key means."""

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    group: str | None
    width: str
    display_name: str
    dependents: list[str]
    order: int
    order_in_group: int


class KeyValue(msgspec.Struct):
    """A configuration key with the errors of its value."""

    name: str
    value: str | None
    recommended_values: list[Any]
    errors: list[str]
    visible: bool


class KeyReport(msgspec.Struct):
    """One key of a validated configuration."""

    definition: KeyDefinition | None
    value: KeyValue | None


class ValidationView(msgspec.Struct):
    """A validated configuration."""

    name: str
    error_count: int
    groups: list[str]
    configs: list[KeyReport]


def component_view(status: ComponentStatus) -> ComponentView:
    return ComponentView(status.state.value, status.worker_id, status.version, status.trace or None)


def status_view(status: ConnectorStatus) -> StatusView:
    tasks = [
        TaskView(number, task.state.value, task.worker_id, task.version, task.trace or None)
        for number, task in status.tasks
    ]
    return StatusView(status.name, component_view(status.connector), tasks, status.type)
