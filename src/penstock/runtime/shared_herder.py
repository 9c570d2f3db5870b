"""What every herder answers in the same way: from memory, or on the runtime's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import penstock
from penstock.storage.errors import PassingStorageError, StorageError

from .connector_changes import ConnectorChanges, Effects
from .dead_letter_desk import DeadLetterDesk
from .dead_letters import DeadLetterPage
from .health import ConnectorHealth
from .health_desk import HealthDesk
from .herder import Herder
from .lifecycle_view import cleanup_info, lifecycle_info, masked
from .logging import Loggers
from .metrics import Capacity, MeasuredTask, WorkerMetrics
from .offset_changes import OffsetChanges
from .provisioning.plan import Declared
from .provisioning.provisioner import Provisioner
from .recent_log import LogLine, keep_recent
from .requests import (
    CleanupInfo,
    ConnectorInfo,
    ConnectorStatus,
    Forbidden,
    LifecycleInfo,
    LoggerLevel,
    NotFound,
    OffsetEntry,
    RequestError,
    State,
    StoreUnavailable,
    TaskId,
    Validation,
)
from .services import Services
from .sink_lag import Lags, SinkLags
from .topic_views import RecordPage, TopicView, TopicViews
from .worker import Worker

T = TypeVar("T")


class SharedHerder(Herder):
    """State changes run on the runtime's loop; user code never does.

    ``effects`` bring what runs to what the stores say: in this process, or on all workers of a cluster.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        services: Services,
        worker: Worker,
        loggers: Loggers,
        effects: Effects,
    ) -> None:
        self.loop = loop
        self.services = services
        self.local_loggers = loggers
        self.worker = worker
        offsets = OffsetChanges(services)
        self.changes = ConnectorChanges(services, effects, offsets)
        self.desk = DeadLetterDesk(services, worker)
        self.healths = HealthDesk(services, worker, worker.auto_restarts)
        self.provisioner = Provisioner(services, effects, self.changes.lock, offsets.write)
        self._topics = TopicViews(services.topics)
        self._lags = SinkLags(services)
        services.statuses.observe = self._observe
        self._recent = keep_recent(services.config.worker_id)
        self.ready = False

    def connectors(self) -> Sequence[str]:
        return self.services.configs.snapshot().connectors()

    def connector_info(self, name: str) -> ConnectorInfo:
        return self.changes.info(name)

    def connector_status(self, name: str) -> ConnectorStatus:
        status = self.services.statuses.of(name)
        if status is None:
            raise NotFound(f"No status found for connector {name}")
        return status

    def task_status(self, name: str, task: int) -> Mapping[str, Any]:
        status = self.services.statuses.of_task(TaskId(name, task))
        if status is None:
            raise NotFound(f"No status found for task {name}-{task}")
        return status

    def task_configs(self, name: str) -> Sequence[tuple[int, Mapping[str, str | None]]]:
        self.changes.found(name)
        return list(enumerate(self.services.configs.snapshot().task_configs(name)))

    def masked(
        self, config: Mapping[str, str | None], connector: Mapping[str, str | None] | None = None
    ) -> Mapping[str, str | None]:
        return masked(config, self.services, connector)

    def holds_secrets(self, topic: str) -> bool:
        return topic == self.services.config.properties.get("config.storage.topic", "").strip()

    def active_topics(self, name: str) -> Sequence[str]:
        if not self.services.topic_tracking:
            raise Forbidden("Topic tracking is disabled.")
        return self.services.statuses.topics(name)

    def reset_active_topics(self, name: str) -> Future[None]:
        if not self.services.topic_tracking:
            raise Forbidden("Topic tracking is disabled.")
        if not self.services.topic_tracking_reset:
            raise Forbidden("Topic tracking reset is disabled.")
        return self.services.statuses.reset_topics(name)

    def offsets(self, name: str) -> Future[Sequence[OffsetEntry]]:
        return self.submit(lambda: self.changes.read_offsets(name))

    def sink_lag(self, name: str) -> Future[Lags]:
        return self.submit(lambda: self._lags.of(name, self.changes.found(name)))

    def lifecycle(self, name: str) -> LifecycleInfo:
        self.changes.found(name)
        return lifecycle_info(name, self.services)

    def cleanups(self) -> Sequence[CleanupInfo]:
        found = sorted(self.services.configs.snapshot().cleanups.values(), key=lambda cleanup: cleanup.since)
        return [cleanup_info(cleanup, self.services) for cleanup in found]

    def pipelines(self) -> Declared:
        return self.provisioner.declared()

    def dead_letters(self, name: str, after: str | None, limit: int) -> Future[DeadLetterPage]:
        return self.submit(lambda: self.desk.page(self.changes.found(name), after, limit))

    def find_dead_letters(self, name: str, ids: Sequence[str]) -> Future[DeadLetterPage]:
        return self.submit(lambda: self.desk.find(self.changes.found(name), ids))

    def topics(self) -> Future[Sequence[TopicView]]:
        return self.submit(lambda: self._look("topics", self._topics.all))

    def topic(self, topic: str) -> Future[TopicView]:
        return self.submit(lambda: self._look("topic", lambda: self._topics.one(topic)))

    def topic_offsets(self, topic: str, when: str) -> Future[Sequence[int]]:
        return self.submit(lambda: self._look("offsets by time", lambda: self._topics.offsets_at(topic, when)))

    def topic_records(self, topic: str, start: Mapping[int, int | None], limit: int) -> Future[RecordPage]:
        return self.submit(lambda: self._look("records", lambda: self._topics.records(topic, start, limit)))

    def plugins(self, connectors_only: bool) -> Sequence[Mapping[str, str]]:
        return self.services.plugins.listing(connectors_only)

    def plugin_config(self, plugin: str, version: str | None = None) -> Future[Sequence[Mapping[str, Any]]]:
        services = self.services
        return self.submit(
            lambda: services.user_code(f"config of {plugin}", lambda: services.plugin_config(plugin, version))
        )

    def validate(self, plugin: str, config: Mapping[str, str | None]) -> Future[Validation]:
        services = self.services
        return self.submit(lambda: services.user_code("validate()", lambda: services.validate_for(plugin, config)))

    def loggers(self) -> Mapping[str, LoggerLevel]:
        return self.local_loggers.all()

    def logger(self, name: str) -> LoggerLevel:
        return self.local_loggers.get(name)

    def connector_healths(self, names: Sequence[str], others: bool = True) -> Future[Mapping[str, ConnectorHealth]]:
        return self.submit(lambda: self._healths(names, others))

    async def _healths(self, names: Sequence[str], others: bool) -> Mapping[str, ConnectorHealth]:
        """What this worker knows."""
        return self.healths.all(names)

    def recent_log(self, name: str, lines: int, others: bool = True) -> Future[Sequence[LogLine]]:
        return self.submit(lambda: self._recent_log(name, lines, others))

    async def _recent_log(self, name: str, lines: int, others: bool) -> Sequence[LogLine]:
        """What was logged here."""
        self.changes.found(name)
        return self._recent.lines(name, lines)

    def _observe(self, connector: str, task: int | None, state: State) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.worker.auto_restarts.observe, connector, task, state)

    def measured(self) -> Sequence[MeasuredTask]:
        return self.worker.measured()

    def worker_metrics(self) -> WorkerMetrics:
        return self.services.metrics

    def spark_capacity(self) -> Future[Capacity]:
        return self.services.capacity()

    @property
    def worker_id(self) -> str:
        return self.services.config.worker_id

    def server_info(self) -> Mapping[str, str]:
        return {
            "version": penstock.__version__,
            "commit": self.services.commit,
            "kafka_cluster_id": self.services.cluster_id,
        }

    async def _look(self, what: str, function: Callable[[], T]) -> T:
        """Something that blocks, done on a thread of its own."""
        return await self.services.user_code(what, function)

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Run on the runtime's loop; trouble with the store is told as such."""
        return asyncio.run_coroutine_threadsafe(_explained(work()), self.loop)


async def _explained(work: Coroutine[Any, Any, T]) -> T:
    try:
        return await work
    except PassingStorageError as error:
        raise StoreUnavailable(str(error)) from error
    except StorageError as error:
        raise RequestError(str(error)) from error
