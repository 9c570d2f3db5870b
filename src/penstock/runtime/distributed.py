"""The herder of a worker in a cluster: the leader changes connectors, others pass requests on to it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import penstock

from .cluster_effects import ClusterEffects
from .cluster_member import ClusterMember
from .cluster_reads import LatestView
from .connector_offsets import ConnectorOffsets
from .dead_letters import ReplayOutcome, ReplayRequest
from .forwarding import AskAnotherWorker, InternalClient, config_position, elsewhere
from .group_members import with_versions
from .group_protocol import SESSIONED, Unit
from .health import ConnectorHealth
from .logging import Loggers, level_number
from .metrics import GroupView
from .offset_restoring import OffsetRestoring
from .other_workers import OtherWorkers
from .pipeline_files import PipelineFiles
from .provisioning.plan import Plan
from .recent_log import LogLine
from .requests import (
    BadRequest,
    ConnectorInfo,
    ConnectorStatus,
    CreateRequest,
    Health,
    OffsetEntry,
    RequestError,
    RestartRequest,
    RestoredOffsets,
    StoreUnavailable,
    TargetState,
    WorkerInfo,
)
from .restart import RestartPlan
from .services import Services
from .session_keys import SigningSettings, verify, verify_question
from .shared_herder import SharedHerder
from .standalone import STARTING, healthy
from .worker import Worker
from .zombie_fencing import ZombieFencing

log = logging.getLogger(__name__)

T = TypeVar("T")
Raw = Mapping[str, str | None]

UNHEALTHY = "Worker was unable to handle this request and may be unable to handle other requests."
READ_SECONDS = 10.0
FIRST_RETRY_SECONDS = 0.25
LONGEST_RETRY_SECONDS = 60.0
BEGIN_SECONDS = 2.0
BEGIN_LOOK_SECONDS = 0.01


class DistributedHerder(SharedHerder):
    """Reads are answered by any worker, changes by the leader, plain restarts by the owner of what is restarted.

    A request for another worker fails with :class:`~.forwarding.AskAnotherWorker`.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        services: Services,
        worker: Worker,
        loggers: Loggers,
        member: ClusterMember,
        effects: ClusterEffects,
        fencing: ZombieFencing,
        internal: InternalClient,
        signing: SigningSettings,
        read_to_end: Callable[[], Future[None]],
        read_statuses: Callable[[], Future[None]],
        source_offsets: ConnectorOffsets,
    ) -> None:
        super().__init__(loop, services, worker, loggers, effects)
        self._member = member
        self._fencing = fencing
        self._internal = internal
        self._signing = signing
        self._other_workers = OtherWorkers(internal, services.config.advertised.protocol)
        self._read_to_end = read_to_end
        self._read_statuses = read_statuses
        self._source_offsets = source_offsets
        self._restoring = OffsetRestoring(services, self.changes, source_offsets)
        self._latest = LatestView(read_to_end, read_statuses)

    def create_connector(self, request: CreateRequest) -> Future[ConnectorInfo]:
        return self._lead(lambda: self.changes.create(request))

    def put_config(self, name: str, config: Raw) -> Future[tuple[bool, ConnectorInfo]]:
        return self._lead(lambda: self.changes.put(name, config))

    def patch_config(self, name: str, patch: Raw) -> Future[ConnectorInfo]:
        return self._lead(lambda: self.changes.patch(name, patch))

    def delete_connector(self, name: str, include_offsets: bool = False) -> Future[None]:
        return self._lead(lambda: self.changes.delete(name, include_offsets))

    def set_target_state(self, name: str, state: TargetState) -> Future[None]:
        if state is TargetState.STOPPED:
            return self._lead(lambda: self.changes.set_target(name, state))
        return self.submit(lambda: self._pause_or_resume(name, state))

    def restart_connector(self, request: RestartRequest) -> Future[ConnectorStatus | None]:
        if request.only_failed or request.include_tasks:
            return self._lead(lambda: self._restart_as_planned(request))
        return self.submit(lambda: self._restart_connector(request.connector))

    def restart_task(self, name: str, task: int) -> Future[None]:
        return self.submit(lambda: self._restart_task(name, task))

    def offsets(self, name: str) -> Future[Sequence[OffsetEntry]]:
        return self.submit(lambda: self._offsets_of(name))

    def alter_offsets(self, name: str, offsets: Sequence[OffsetEntry] | None) -> Future[str]:
        return self._lead(lambda: self.changes.alter_offsets(name, offsets))

    def reset_offsets(self, name: str) -> Future[str]:
        return self._lead(lambda: self.changes.reset_offsets(name))

    def restore_offsets(self, name: str, force: bool = False, dry_run: bool = False) -> Future[RestoredOffsets]:
        do = self._restoring.foresee if dry_run else self._restoring.restore
        return self._lead(lambda: do(name, force))

    def workers(self) -> Future[Sequence[WorkerInfo]]:
        return self.submit(self._workers)

    def give_up_cleanup(self, cleanup: str) -> Future[None]:
        return self._lead(lambda: self.changes.give_up_cleanup(cleanup))

    def plan_pipelines(self, files: PipelineFiles, adopt: bool = False) -> Future[Plan]:
        return self._lead(lambda: self.provisioner.plan(files.desired(), adopt))

    def apply_pipelines(
        self, files: PipelineFiles, plan: str | None = None, adopt: bool = False, delete_many: bool = False
    ) -> Future[Plan]:
        return self._lead(lambda: self.provisioner.apply(files.desired(), plan, adopt, delete_many))

    def replay_dead_letters(self, name: str, request: ReplayRequest) -> Future[ReplayOutcome]:
        return self.submit(lambda: self._replay(name, request))

    def is_signed_question(self, target: bytes, headers: Mapping[str, str]) -> bool:
        try:
            verify_question(target, headers, self.services.configs.snapshot().session_key, self._signing)
        except RequestError:
            return False
        return True

    def set_logger(self, namespace: str, level: str, cluster: bool) -> Sequence[str]:
        if not cluster:
            return self.local_loggers.set(namespace, level)
        level_number(level)
        self.services.configs.put_logger_level(namespace, level.upper())
        return []

    def health(self) -> Future[Health]:
        return self.submit(self._health)

    def group(self) -> GroupView:
        return self._member.group

    def latest(self) -> Future[None]:
        return self._latest.known()

    def take_task_configs(self, name: str, body: bytes, headers: Mapping[str, str]) -> Future[None]:
        return self.submit(lambda: self._take_task_configs(name, body, headers))

    def fence_zombies(self, name: str, body: bytes, headers: Mapping[str, str]) -> Future[None]:
        return self.submit(lambda: self._fence_for_others(name, body, headers))

    async def publish_tasks(self, name: str, configs: Sequence[Raw], known: int) -> None:
        """What a keeper calls: write task configs, or let the leader do it. Tried until it is done."""
        wait = FIRST_RETRY_SECONDS
        while True:
            try:
                if self._member.is_leader:
                    await self.changes.put_tasks(name, configs, known)
                else:
                    await self._internal.put_tasks(self._leader(), name, configs, known)
                await self._caught_up()
                return
            except Exception as error:
                log.warning("Task configs of %s could not be published; next try in %g s: %s", name, wait, error)
                await asyncio.sleep(wait)
                wait = min(2 * wait, LONGEST_RETRY_SECONDS)

    async def fence(self, name: str) -> None:
        """What a task calls before it starts with exactly-once support: old tasks of a source must be fenced."""
        if self.services.connector_type_of(name) == "sink":
            return
        if self._member.is_leader:
            await self._fencing.run(name)
        else:
            await self._internal.fence(self._leader(), name)
        await self._caught_up()

    async def _healths(self, names: Sequence[str], others: bool) -> Mapping[str, ConnectorHealth]:
        known = self.healths.all(names)
        return await self._other_workers.completed(known) if others else known

    async def _workers(self) -> Sequence[WorkerInfo]:
        """The leader knows who is in the group; each worker its version."""
        if not self._member.is_leader:
            raise elsewhere(self._member.leader_url)
        known = self._member.workers
        others = [worker.worker_id for worker in known if worker.worker_id != self.worker_id]
        versions = await self._other_workers.versions(others)
        return with_versions(known, {**versions, self.worker_id: penstock.__version__})

    async def _recent_log(self, name: str, lines: int, others: bool) -> Sequence[LogLine]:
        known = await super()._recent_log(name, lines, others)
        status = self.services.statuses.of(name)
        if not others or status is None:
            return known
        workers = {status.connector.worker_id, *(task.worker_id for _, task in status.tasks)} - {self.worker_id}
        return await self._other_workers.log_lines(name, lines, sorted(workers), known)

    async def _offsets_of(self, name: str) -> Sequence[OffsetEntry]:
        """With all that tasks on other workers have committed, as far as it can still be read."""
        self.changes.found(name)
        await self._source_offsets.remember(name, self.services)
        return await self.changes.read_offsets(name)

    async def _pause_or_resume(self, name: str, state: TargetState) -> None:
        await self._caught_up()
        await self.changes.set_target(name, state)

    async def _restart_as_planned(self, request: RestartRequest) -> ConnectorStatus | None:
        async with self.changes.lock(request.connector):
            self.changes.require(request.connector, f"Unknown connector: {request.connector}")
            await self._known(self._read_statuses())
            before = self.services.statuses.of(request.connector)
            plan = await self.changes.plan_restart(request)
        await self._begun(plan, before)
        return plan.status

    async def _begun(self, plan: RestartPlan, before: ConnectorStatus | None) -> None:
        """Whoever looks after the answer should not mistake what ran before for what runs again."""
        until = self.loop.time() + BEGIN_SECONDS
        old = {} if before is None else dict(before.tasks)
        while self.loop.time() < until:
            now = self.services.statuses.of(plan.status.name)
            if now is None or before is None:
                return
            left = plan.restart_connector and now.connector is before.connector
            tasks = dict(now.tasks)
            if not left and all(tasks.get(number) is not old.get(number) for number in plan.restart_tasks):
                return
            await asyncio.sleep(BEGIN_LOOK_SECONDS)

    async def _restart_connector(self, name: str) -> None:
        await self._caught_up()
        await self._restart(Unit(name))

    async def _restart_task(self, name: str, task: int) -> None:
        await self._caught_up()
        self.changes.require_task(name, task)
        await self._restart(Unit(name, task))

    async def _restart(self, unit: Unit) -> None:
        name = unit.connector
        self.changes.require(name, f"Unknown connector: {name}")
        if not self._runs_here(unit):
            raise self._owner(unit)
        await self.worker.restart(name, unit.is_connector, () if unit.is_connector else (unit.task,))

    async def _replay(self, name: str, request: ReplayRequest) -> ReplayOutcome:
        config = self.changes.found(name)
        if not self.worker.pumps(name):
            raise self._owner(Unit(name, 0))
        return await self.desk.replay(config, request)

    def _runs_here(self, unit: Unit) -> bool:
        ownership = self.services.ownership
        if unit.is_connector:
            return ownership.connector(unit.connector)
        return unit.task in ownership.tasks(unit.connector, self.services.configs.snapshot())

    def _owner(self, unit: Unit) -> RequestError:
        """Where to ask for something that does not run here: the leader knows."""
        if self._member.is_leader:
            return elsewhere(self._member.rounds.owner_url(unit))
        return elsewhere(self._member.leader_url)

    async def _take_task_configs(self, name: str, body: bytes, headers: Mapping[str, str]) -> None:
        self._check_signature(body, headers)
        try:
            configs = [dict(config) for config in json.loads(body)]
        except (ValueError, TypeError) as error:
            raise BadRequest(f"A list of task configurations is expected: {error}") from error
        known = config_position(headers)
        await self._as_leader(lambda: self._put_tasks(name, configs, known))

    async def _put_tasks(self, name: str, configs: Sequence[Raw], known: int | None) -> None:
        """A worker that does not tell what it knows, one of Kafka Connect's, is taken to know what this one does."""
        position = self.services.configs.snapshot().position if known is None else known
        await self.changes.put_tasks(name, configs, position)

    async def _fence_for_others(self, name: str, body: bytes, headers: Mapping[str, str]) -> None:
        self._check_signature(body, headers)
        await self._as_leader(lambda: self._fencing.run(name))

    def _check_signature(self, body: bytes, headers: Mapping[str, str]) -> None:
        """As in Kafka Connect, a group of workers that do not all sign is trusted; not so where there are users."""
        joined = self._member.joined_as
        if joined is None or joined.version >= SESSIONED or self.services.config.values["rest.auth.users.file"]:
            verify(body, headers, self.services.configs.snapshot().session_key, self._signing)

    async def _health(self) -> Health:
        if self._member.is_member:
            return healthy(self.services)
        return Health("unhealthy", UNHEALTHY, 500) if self.ready else Health("starting", STARTING, 503)

    def _lead(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        return self.submit(lambda: self._as_leader(work))

    async def _as_leader(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do it if this worker is the leader; otherwise the leader has to be asked."""
        if not self._member.is_leader:
            raise elsewhere(self._member.leader_url)
        await self._caught_up()
        return await work()

    async def _caught_up(self) -> None:
        """Know all that other workers have written."""
        await self._known(self._read_to_end())

    async def _known(self, reading: Future[None]) -> None:
        try:
            await asyncio.wait_for(asyncio.wrap_future(reading), READ_SECONDS)
        except TimeoutError:
            raise StoreUnavailable(
                f"The internal topics could not be read to their end within {READ_SECONDS:g} s: Kafka does not answer. "
                "Nothing was done; try again when it does."
            ) from None

    def _leader(self) -> str:
        error = elsewhere(self._member.leader_url)
        if not isinstance(error, AskAnotherWorker):
            raise error
        return error.url
