"""The herder of one worker that is alone: every request decided and done in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import penstock
from penstock.storage.errors import PassingStorageError, StorageError

from . import offsets as offset_rules
from .dead_letter_desk import DeadLetterDesk
from .dead_letters import DeadLetterPage, ReplayOutcome, ReplayRequest
from .herder import Herder
from .lifecycle_view import cleanup_info, lifecycle_info
from .logging import Loggers
from .offset_changes import OffsetChanges
from .pipeline_files import PipelineFiles
from .provisioning.plan import Declared, Plan
from .provisioning.provisioner import Provisioner
from .requests import (
    CleanupInfo,
    Conflict,
    ConnectorInfo,
    ConnectorStatus,
    CreateRequest,
    Forbidden,
    Health,
    LifecycleInfo,
    LoggerLevel,
    NotFound,
    OffsetEntry,
    RequestError,
    RestartRequest,
    State,
    StoreUnavailable,
    TargetState,
    TaskId,
    Validation,
)
from .restart import RestartPlan, plan_restart
from .services import Services
from .topic_views import RecordPage, TopicView, TopicViews
from .worker import Worker

log = logging.getLogger(__name__)

T = TypeVar("T")

READY = "Worker has completed startup and is ready to handle requests."
STARTING = "Worker is still starting up."


class StandaloneHerder(Herder):
    """State changes run on the runtime's loop, for one connector strictly in order; user code never does."""

    def __init__(self, loop: asyncio.AbstractEventLoop, services: Services, worker: Worker, loggers: Loggers) -> None:
        self._loop = loop
        self._services = services
        self._worker = worker
        self._loggers = loggers
        self._offsets = OffsetChanges(services)
        self._dead_letters = DeadLetterDesk(services, worker)
        self._topics = TopicViews(services.topics)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.provisioner = Provisioner(services, worker, self._lock, self._offsets.write)
        self.ready = False

    def connectors(self) -> Sequence[str]:
        return self._services.configs.snapshot().connectors()

    def connector_info(self, name: str) -> ConnectorInfo:
        snapshot = self._services.configs.snapshot()
        config = snapshot.connector_config(name)
        if config is None:
            raise NotFound(f"Connector {name} not found")
        tasks = [TaskId(name, number) for number in range(len(snapshot.task_configs(name)))]
        return ConnectorInfo(name, config, tasks, self._services.connector_type(config))

    def connector_status(self, name: str) -> ConnectorStatus:
        status = self._services.statuses.of(name)
        if status is None:
            raise NotFound(f"No status found for connector {name}")
        return status

    def task_status(self, name: str, task: int) -> Mapping[str, Any]:
        status = self._services.statuses.of_task(TaskId(name, task))
        if status is None:
            raise NotFound(f"No status found for task {name}-{task}")
        return status

    def task_configs(self, name: str) -> Sequence[tuple[int, Mapping[str, str | None]]]:
        snapshot = self._services.configs.snapshot()
        if snapshot.connector_config(name) is None:
            raise NotFound(f"Connector {name} not found")
        return list(enumerate(snapshot.task_configs(name)))

    def active_topics(self, name: str) -> Sequence[str]:
        if not self._services.topic_tracking:
            raise Forbidden("Topic tracking is disabled.")
        return self._services.statuses.topics(name)

    def reset_active_topics(self, name: str) -> Future[None]:
        if not self._services.topic_tracking:
            raise Forbidden("Topic tracking is disabled.")
        if not self._services.topic_tracking_reset:
            raise Forbidden("Topic tracking reset is disabled.")
        return self._services.statuses.reset_topics(name)

    def create_connector(self, request: CreateRequest) -> Future[ConnectorInfo]:
        return self._submit(lambda: self._create(request))

    def put_config(self, name: str, config: Mapping[str, str | None]) -> Future[tuple[bool, ConnectorInfo]]:
        return self._submit(lambda: self._put(name, config))

    def patch_config(self, name: str, patch: Mapping[str, str | None]) -> Future[ConnectorInfo]:
        return self._submit(lambda: self._patch(name, patch))

    def delete_connector(self, name: str, include_offsets: bool = False) -> Future[None]:
        return self._submit(lambda: self._delete(name, include_offsets))

    def set_target_state(self, name: str, state: TargetState) -> Future[None]:
        return self._submit(lambda: self._target(name, state))

    def restart_connector(self, request: RestartRequest) -> Future[ConnectorStatus | None]:
        return self._submit(lambda: self._restart(request))

    def restart_task(self, name: str, task: int) -> Future[None]:
        return self._submit(lambda: self._restart_task(name, task))

    def offsets(self, name: str) -> Future[Sequence[OffsetEntry]]:
        return self._submit(lambda: self._read_offsets(name))

    def alter_offsets(self, name: str, offsets: Sequence[OffsetEntry] | None) -> Future[str]:
        return self._submit(lambda: self._alter(name, offsets))

    def reset_offsets(self, name: str) -> Future[str]:
        return self._submit(lambda: self._reset(name))

    def lifecycle(self, name: str) -> LifecycleInfo:
        self._require(name, f"Connector {name} not found")
        return lifecycle_info(name, self._services)

    def cleanups(self) -> Sequence[CleanupInfo]:
        found = sorted(self._services.configs.snapshot().cleanups.values(), key=lambda cleanup: cleanup.since)
        return [cleanup_info(cleanup, self._services) for cleanup in found]

    def give_up_cleanup(self, cleanup: str) -> Future[None]:
        return self._submit(lambda: self._give_up_cleanup(cleanup))

    def plan_pipelines(self, files: PipelineFiles, adopt: bool = False) -> Future[Plan]:
        return self._submit(lambda: self.provisioner.plan(files.desired(), adopt))

    def apply_pipelines(self, files: PipelineFiles, plan: str | None = None, adopt: bool = False) -> Future[Plan]:
        return self._submit(lambda: self.provisioner.apply(files.desired(), plan, adopt))

    def pipelines(self) -> Declared:
        return self.provisioner.declared()

    def dead_letters(self, name: str, after: str | None, limit: int) -> Future[DeadLetterPage]:
        return self._submit(lambda: self._dead_letters.page(self._found(name), after, limit))

    def find_dead_letters(self, name: str, ids: Sequence[str]) -> Future[DeadLetterPage]:
        return self._submit(lambda: self._dead_letters.find(self._found(name), ids))

    def replay_dead_letters(self, name: str, request: ReplayRequest) -> Future[ReplayOutcome]:
        return self._submit(lambda: self._dead_letters.replay(self._found(name), request))

    def topics(self) -> Future[Sequence[TopicView]]:
        return self._submit(lambda: self._look("topics", self._topics.all))

    def topic(self, topic: str) -> Future[TopicView]:
        return self._submit(lambda: self._look("topic", lambda: self._topics.one(topic)))

    def topic_offsets(self, topic: str, when: str) -> Future[Sequence[int]]:
        return self._submit(lambda: self._look("offsets by time", lambda: self._topics.offsets_at(topic, when)))

    def topic_records(self, topic: str, start: Mapping[int, int | None], limit: int) -> Future[RecordPage]:
        return self._submit(lambda: self._look("records", lambda: self._topics.records(topic, start, limit)))

    def plugins(self, connectors_only: bool) -> Sequence[Mapping[str, str]]:
        return self._services.plugins.listing(connectors_only)

    def plugin_config(self, plugin: str, version: str | None = None) -> Future[Sequence[Mapping[str, Any]]]:
        services = self._services
        return self._submit(
            lambda: services.user_code(f"config of {plugin}", lambda: services.plugin_config(plugin, version))
        )

    def validate(self, plugin: str, config: Mapping[str, str | None]) -> Future[Validation]:
        services = self._services
        return self._submit(lambda: services.user_code("validate()", lambda: services.validate_for(plugin, config)))

    def loggers(self) -> Mapping[str, LoggerLevel]:
        return self._loggers.all()

    def logger(self, name: str) -> LoggerLevel:
        return self._loggers.get(name)

    def set_logger(self, namespace: str, level: str, cluster: bool) -> Sequence[str]:
        return self._loggers.set(namespace, level)

    def health(self) -> Future[Health]:
        return self._submit(self._health)

    def server_info(self) -> Mapping[str, str]:
        return {
            "version": penstock.__version__,
            "commit": self._services.commit,
            "kafka_cluster_id": self._services.cluster_id,
        }

    async def _create(self, request: CreateRequest) -> ConnectorInfo:
        config = await self._validated(request.config)
        changes = offset_rules.require_entries(request.offsets) if request.offsets is not None else None
        async with self._lock(request.name):
            if self._config(request.name) is not None:
                raise Conflict(f"Connector {request.name} already exists")
            before = self._offsets.read(request.name, config)
            if changes is not None:
                await self._worker.settled(request.name)
                await self._offsets.write(request.name, config, changes)
            try:
                await self._write_new(request.name, config, request.initial_state)
            except Exception:
                if changes is not None:
                    await self._offsets.put_back(request.name, config, before)
                raise
            self._worker.keep(request.name)
            return ConnectorInfo(request.name, config, [], self._services.connector_type(config))

    async def _put(self, name: str, config: Mapping[str, str | None]) -> tuple[bool, ConnectorInfo]:
        validated = await self._validated(config)
        async with self._lock(name):
            created = self._config(name) is None
            if created:
                await self._write_new(name, validated, None)
                self._worker.keep(name)
            else:
                await self._wait(self._services.configs.put_connector(name, validated, None))
                self._worker.reconfigure(name)
            return created, self.connector_info(name)

    async def _write_new(self, name: str, config: Mapping[str, str | None], state: TargetState | None) -> None:
        """A new connector has a status when its creation is answered; both are written in one go."""
        written = self._services.configs.put_connector(name, config, state)
        shown = self._services.statuses.connector(name, State.UNASSIGNED)
        try:
            await self._wait(written)
        except Exception:
            self._services.statuses.forget(name)
            raise
        await self._wait(shown)

    async def _patch(self, name: str, patch: Mapping[str, str | None]) -> ConnectorInfo:
        """Merged and validated while nobody waits; done again when the configuration changed meanwhile."""
        while True:
            before = self._require(name, f"Connector {name} not found")
            merged = {**before, **patch}
            validated = await self._validated({key: merged[key] for key in merged if patch.get(key, "") is not None})
            async with self._lock(name):
                if self._config(name) == before:
                    await self._wait(self._services.configs.put_connector(name, validated, None))
                    self._worker.reconfigure(name)
                    return self.connector_info(name)

    async def _delete(self, name: str, include_offsets: bool) -> None:
        async with self._lock(name):
            config = self._require(name, f"Connector {name} not found")
            if include_offsets:
                await self._stop_and_forget_offsets(name, config)
            cleanup = self._services.hooks.cleanup_for(name)
            await self._wait(self._services.configs.remove_connector(name, cleanup))
            self._worker.remove(name)
            self._services.cleanups.look()

    async def _stop_and_forget_offsets(self, name: str, config: Mapping[str, str | None]) -> None:
        """Offsets can only go when nothing runs that would write them again. A refusal leaves all as it was."""
        before = self._services.configs.snapshot().target_state(name)
        await self._write_target(name, TargetState.STOPPED)
        await self._worker.settled(name)
        try:
            await self._offsets.forget(name, config)
        except Exception:
            await self._write_target(name, before)
            raise

    async def _target(self, name: str, state: TargetState) -> None:
        async with self._lock(name):
            self._require(name, f"Unknown connector {name}")
            if self._services.configs.snapshot().target_state(name) is not state:
                await self._write_target(name, state)

    async def _write_target(self, name: str, state: TargetState) -> None:
        configs = self._services.configs
        stop = state is TargetState.STOPPED
        await self._wait(configs.stop_connector(name) if stop else configs.put_target_state(name, state))
        self._worker.keep(name)

    async def _restart(self, request: RestartRequest) -> ConnectorStatus | None:
        name = request.connector
        async with self._lock(name):
            self._require(name, f"Unknown connector: {name}")
            if not request.only_failed and not request.include_tasks:
                restarted = self._worker.restart(name, True, ())
            else:
                status = self._services.statuses.of(name)
                if status is None:
                    raise NotFound(f"Status for connector {name} not found")
                await self._wait(self._services.configs.put_restart(name, request.only_failed, request.include_tasks))
                plan = plan_restart(request, status)
                if plan.restart_connector or plan.restart_tasks:
                    await self._show_restarting(name, plan)
                    done = self._worker.restart(name, plan.restart_connector, plan.restart_tasks)
                    done.add_done_callback(_log_failed_restart)
                    done.add_done_callback(lambda _: self._services.configs.finish_restart(name))
                else:
                    self._services.configs.finish_restart(name)
                return plan.status
        await restarted
        return None

    async def _show_restarting(self, name: str, plan: RestartPlan) -> None:
        """Whoever looks after the answer must not mistake what ran before for what runs again."""
        statuses = self._services.statuses
        written = [statuses.task(TaskId(name, task), State.RESTARTING) for task in plan.restart_tasks]
        if plan.restart_connector:
            written.append(statuses.connector(name, State.RESTARTING))
        for future in written:
            await self._wait(future)

    async def _restart_task(self, name: str, task: int) -> None:
        async with self._lock(name):
            self._require(name, f"Unknown connector: {name}")
            if not 0 <= task < len(self._services.configs.snapshot().task_configs(name)):
                raise NotFound(f"Unknown task: {name}-{task}")
            restarted = self._worker.restart(name, False, (task,))
        await restarted

    async def _read_offsets(self, name: str) -> Sequence[OffsetEntry]:
        return self._offsets.read(name, self._require(name, f"Connector {name} not found"))

    async def _alter(self, name: str, offsets: Sequence[OffsetEntry] | None) -> str:
        entries = offset_rules.require_entries(offsets)
        async with self._lock(name):
            config = await self._stopped(name)
            return offset_rules.done_message("altered", await self._offsets.write(name, config, entries))

    async def _reset(self, name: str) -> str:
        async with self._lock(name):
            config = await self._stopped(name)
            return offset_rules.done_message("reset", await self._offsets.forget(name, config))

    async def _stopped(self, name: str) -> Mapping[str, str | None]:
        """The checks of KIP-875, in its order, and the end of whatever was still stopping."""
        config = self._require(name, f"Connector {name} not found")
        snapshot = self._services.configs.snapshot()
        offset_rules.require_stopped(name, snapshot.target_state(name), len(snapshot.task_configs(name)))
        await self._worker.settled(name)
        return config

    async def _give_up_cleanup(self, cleanup: str) -> None:
        if await self._services.cleanups.give_up(cleanup) is None:
            raise NotFound(f"Clean-up {cleanup} not found")

    async def _health(self) -> Health:
        return Health("healthy", READY) if self.ready else Health("starting", STARTING, 503)

    async def _validated(self, config: Mapping[str, str | None]) -> Mapping[str, str | None]:
        """The config itself, if it is valid; ``BadRequest`` with every error otherwise."""
        await self._services.user_code("validate()", lambda: self._services.check(config))
        return config

    async def _look(self, what: str, function: Callable[[], T]) -> T:
        """Something that blocks, done on a thread of its own."""
        return await self._services.user_code(what, function)

    def _config(self, name: str) -> Mapping[str, str | None] | None:
        return self._services.configs.snapshot().connector_config(name)

    def _found(self, name: str) -> Mapping[str, str | None]:
        return self._require(name, f"Connector {name} not found")

    def _require(self, name: str, otherwise: str) -> Mapping[str, str | None]:
        config = self._config(name)
        if config is None:
            raise NotFound(otherwise)
        return config

    def _lock(self, name: str) -> asyncio.Lock:
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock

    async def _wait(self, future: Future[T]) -> T:
        return await asyncio.wrap_future(future)

    def _submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(_explained(work()), self._loop)


async def _explained(work: Coroutine[Any, Any, T]) -> T:
    """The work's answer; trouble with the store is told as such."""
    try:
        return await work
    except PassingStorageError as error:
        raise StoreUnavailable(str(error)) from error
    except StorageError as error:
        raise RequestError(str(error)) from error


def _log_failed_restart(done: asyncio.Future[None]) -> None:
    if not done.cancelled() and done.exception() is not None:
        log.warning("restart: %s", done.exception())
