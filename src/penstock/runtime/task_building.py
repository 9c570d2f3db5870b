"""From configurations to a task that can run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.api.connector import Connector, SinkConnector
from penstock.api.errors import PluginError
from penstock.api.task import SinkTask, SourceTask, Task
from penstock.spark import copies
from penstock.spark.frames import loads_frames, stores_frames
from penstock.spark.splits import PluginRef, TaskSpec

from .connector_config import ConnectorConfig
from .exactly_once import Boundary, ExactlyOnceFramePump, ExactlyOncePump
from .frame_pumps import FrameSinkPump, FrameSourcePump
from .held_batches import HoldingFramePump, HoldingPump
from .metrics import TaskMetrics
from .pump import Pump
from .requests import State, TaskId
from .services import Services
from .sink_pump import SinkPump
from .source_pump import SourcePump
from .subscription import Subscription
from .topic_homes import connector_home, exactly_once, in_kafka, transaction_boundary

_generation = itertools.count(1)


def task_configs(instance: Connector, raw: Mapping[str, str | None], services: Services) -> list[dict[str, str | None]]:
    """The task configs of a started connector as they are stored. Runs user code."""
    parsed = services.parse(services.resolve(raw))
    answer = list(instance.task_configs(parsed.tasks_max))
    if parsed.tasks_max_enforce and len(answer) > parsed.tasks_max:
        raise too_many_tasks(parsed.name, len(answer), parsed.tasks_max)
    return [_complete(config, raw, instance, services) for config in answer]


def too_many_tasks(name: str, made: int, allowed: int) -> PluginError:
    """What a connector with ``tasks.max.enforce`` is told when it made too many task configs."""
    return PluginError(
        f"The connector {name} has generated {made} tasks, which is greater than {allowed}, the maximum number of "
        "tasks it is configured to create. This behaviour should be considered a bug and is disallowed. If necessary, "
        "it can be permitted by reconfiguring the connector with 'tasks.max.enforce' set to false; however, this "
        "option will be removed in a future release of Kafka Connect."
    )


def _complete(
    config: Mapping[str, str], raw: Mapping[str, str | None], instance: Connector, services: Services
) -> dict[str, str | None]:
    """A task config with its task class and topics, and with references put back where they came from."""
    complete: dict[str, str | None] = dict(config)
    resolved = services.resolve(raw)
    for key, value in raw.items():
        if value is not None and "${" in value and complete.get(key) == resolved.get(key):
            complete[key] = value
    task_class = type(instance).task
    complete["task.class"] = task_class.java_class or f"{task_class.__module__}:{task_class.__qualname__}"
    if isinstance(instance, SinkConnector):
        complete.update({key: raw[key] for key in ("topics", "topics.regex") if raw.get(key)})
    return complete


@dataclass(frozen=True)
class Prepared:
    """What could be made of a task's configuration: all a pump needs."""

    parsed: ConnectorConfig
    spec: TaskSpec
    instance: Task


@dataclass(frozen=True)
class TaskBuilder:
    """Makes one task of ``count`` in two steps: user code first, on its own thread, then the pump, on the loop."""

    task: TaskId
    connector_config: Mapping[str, str | None]
    task_config: Mapping[str, str | None]
    count: int
    services: Services

    def prepare(self) -> Prepared:
        """Resolve, parse, make the driver's copy of the task. Runs user code; an exception is the task's failure."""
        services = self.services
        parsed = services.parse(services.resolve(self.connector_config))
        if parsed.tasks_max_enforce and self.count > parsed.tasks_max:
            raise too_many_tasks(self.task.connector, self.count, parsed.tasks_max)
        services.open_offsets(parsed)
        task_class: Any = parsed.plugin.load().task
        spec = _spec(self.task, parsed, services.resolve(self.task_config), task_class, services)
        chain, instance = copies.check(spec), task_class()
        has_spark_jobs = chain.needs_spark or loads_frames(instance) or stores_frames(instance)
        return Prepared(parsed, replace(spec, has_spark_jobs=has_spark_jobs), instance)

    def pump(self, prepared: Prepared, report: Callable[[State, str | None], None], paused: bool) -> Pump:
        """The pump of the prepared task."""
        parsed, spec, instance = prepared.parsed, prepared.spec, prepared.instance
        home = connector_home(self.services.pumps.topics, self.services.config.properties, parsed)
        pumps, metrics = replace(self.services.pumps, topics=home), TaskMetrics()
        if isinstance(instance, SourceTask):
            settings = _topic_settings(parsed)
            once = exactly_once(self.services.config.properties, parsed, self.services.offsets)
            if once is not None:
                framed = ExactlyOnceFramePump if loads_frames(instance) else ExactlyOncePump
                return framed(self.task, spec, instance, pumps, report, metrics, settings, paused).use(once)
            kind = _source_pump(instance, self.services.config.properties, parsed)
            return kind(self.task, spec, instance, pumps, report, metrics, settings, paused)
        if isinstance(instance, SinkTask):
            subscription = Subscription.of(parsed, self.count, in_kafka(self.services.config.properties))
            taking = FrameSinkPump if stores_frames(instance) else SinkPump
            return taking(self.task, spec, instance, pumps, report, metrics, subscription, paused)
        raise PluginError(f"{spec.task_target.target} is neither a SourceTask nor a SinkTask")


def _source_pump(instance: SourceTask, worker: Mapping[str, str], parsed: ConnectorConfig) -> type[SourcePump]:
    """Without Kafka's transactions: those of the embedded log may be ended by the source, too."""
    if not in_kafka(worker) and transaction_boundary(parsed) is Boundary.CONNECTOR:
        return HoldingFramePump if loads_frames(instance) else HoldingPump
    return FrameSourcePump if loads_frames(instance) else SourcePump


def _topic_settings(parsed: ConnectorConfig) -> Callable[[str], Mapping[str, str]]:
    """Partitions and settings for a topic that a source has to create."""

    def settings(topic: str) -> Mapping[str, str]:
        group = next((group for group in parsed.topic_groups if group.matches(topic)), None)
        if group is None:
            return {}
        numbers = {"partitions": group.partitions, "replication.factor": group.replication_factor}
        return {**{key: str(number) for key, number in numbers.items() if number > 0}, **group.settings}

    return settings


def _spec(
    task: TaskId, parsed: ConnectorConfig, settings: Mapping[str, str], task_class: type[Any], services: Services
) -> TaskSpec:
    return TaskSpec(
        key=f"{task}#{next(_generation)}",
        connector=task.connector,
        task=task.task,
        task_target=PluginRef(f"{task_class.__module__}:{task_class.__qualname__}", settings, parsed.plugin.version),
        key_converter=parsed.key_converter,
        value_converter=parsed.value_converter,
        header_converter=parsed.header_converter,
        transforms=parsed.transforms,
        errors=parsed.errors,
        plugin_path=[str(folder) for folder in services.config.plugin_path],
        default_topic_partitions=parsed.default_topic_partitions,
    )
