"""From configurations to a task that can run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from penstock.api.config import java_pattern
from penstock.api.connector import Connector, SinkConnector
from penstock.api.errors import PluginError
from penstock.api.task import SinkTask, SourceTask
from penstock.spark.splits import PluginRef, TaskSpec

from .connector_config import ConnectorConfig
from .metrics import TaskMetrics
from .pump import Pump
from .requests import State, TaskId
from .services import Services
from .sink_pump import SinkPump
from .source_pump import SourcePump
from .subscription import Subscription

_generation = itertools.count(1)


def too_many_tasks(name: str, made: int, allowed: int) -> PluginError:
    """What a connector with ``tasks.max.enforce`` is told when it made too many task configs."""
    return PluginError(
        f"The connector {name} has generated {made} tasks, which is greater than {allowed}, the maximum number of "
        "tasks it is configured to create. This behaviour should be considered a bug and is disallowed. If necessary, "
        "it can be permitted by reconfiguring the connector with 'tasks.max.enforce' set to false; however, this "
        "option will be removed in a future release of Kafka Connect."
    )


def complete_task_config(
    raw: Mapping[str, str | None], instance: Connector, config: Mapping[str, str], services: Services
) -> dict[str, str]:
    """A task config as it is stored: with its task class and topics, and references put back where they came from."""
    complete = {key: value for key, value in config.items() if value is not None}
    resolved = services.resolve(raw)
    for key, value in raw.items():
        if value is not None and "${" in value and complete.get(key) == resolved.get(key):
            complete[key] = value
    task_class = type(instance).task
    complete["task.class"] = task_class.java_class or f"{task_class.__module__}:{task_class.__qualname__}"
    if isinstance(instance, SinkConnector):
        for key in ("topics", "topics.regex"):
            if raw.get(key):
                complete[key] = str(raw[key])
    return complete


def build_pump(
    task: TaskId,
    connector_config: Mapping[str, str | None],
    task_config: Mapping[str, str | None],
    count: int,
    services: Services,
    report: Callable[[State, str | None], None],
    paused: bool,
) -> Pump:
    """The pump of one task; an exception is the task's failure."""
    resolved = services.resolve(connector_config)
    parsed = services.parse(resolved)
    if parsed.tasks_max_enforce and count > parsed.tasks_max:
        raise too_many_tasks(task.connector, count, parsed.tasks_max)
    task_class: Any = services.connector_plugin(connector_config).load().task
    spec = _spec(task, parsed, services.resolve(task_config), task_class, services)
    instance = task_class()
    metrics = TaskMetrics()
    if isinstance(instance, SourceTask):
        return SourcePump(task, spec, instance, services.pumps, report, metrics, _topic_settings(parsed), paused)
    if isinstance(instance, SinkTask):
        subscription = Subscription(
            group=parsed.group_id,
            topics=parsed.topics,
            pattern=java_pattern(parsed.topics_regex) if parsed.topics_regex else None,
            tasks=count,
            from_latest=parsed.consumer_overrides.get("auto.offset.reset") == "latest",
        )
        return SinkPump(task, spec, instance, services.pumps, report, metrics, subscription, paused)
    raise PluginError(f"{task_class.__module__}:{task_class.__qualname__} is neither a SourceTask nor a SinkTask")


def _topic_settings(parsed: ConnectorConfig) -> Callable[[str], Mapping[str, str]]:
    """Partitions and settings for a topic that a source has to create."""

    def settings(topic: str) -> Mapping[str, str]:
        group = next((group for group in parsed.topic_groups if group.matches(topic)), None)
        own = {} if group is None else group.settings
        return {"partitions": str(parsed.partitions_of_new(topic)), **own}

    return settings


def _spec(
    task: TaskId, parsed: ConnectorConfig, settings: Mapping[str, str], task_class: type[Any], services: Services
) -> TaskSpec:
    return TaskSpec(
        key=f"{task}#{next(_generation)}",
        connector=task.connector,
        task=task.task,
        task_target=PluginRef(f"{task_class.__module__}:{task_class.__qualname__}", settings),
        key_converter=parsed.key_converter,
        value_converter=parsed.value_converter,
        header_converter=parsed.header_converter,
        transforms=parsed.transforms,
        errors=parsed.errors,
        plugin_path=[str(folder) for folder in services.config.plugin_path],
        default_topic_partitions=parsed.default_topic_partitions,
    )
