"""The herder of one worker that is alone: every request decided and done in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future

import penstock

from .cluster_ownership import configured_units
from .dead_letters import ReplayOutcome, ReplayRequest
from .group_members import worker_info
from .logging import Loggers
from .pipeline_files import PipelineFiles
from .provisioning.plan import Plan
from .requests import (
    BadRequest,
    ConnectorInfo,
    ConnectorStatus,
    CreateRequest,
    Health,
    OffsetEntry,
    RestartRequest,
    RestoredOffsets,
    State,
    TargetState,
    TaskId,
    WorkerInfo,
)
from .restart import RestartPlan
from .services import Services
from .shared_herder import SharedHerder
from .worker import Worker

log = logging.getLogger(__name__)

READY = "Worker has completed startup and is ready to handle requests."
STARTING = "Worker is still starting up."
NO_CLUSTER = (
    "This worker is no member of a cluster: only those restore offsets from their memory, since they keep them in "
    "'offset.storage.topic'. PATCH offsets sets offsets of a stopped connector."
)


class StandaloneHerder(SharedHerder):
    """Nobody has to be asked, and everything runs here."""

    def __init__(self, loop: asyncio.AbstractEventLoop, services: Services, worker: Worker, loggers: Loggers) -> None:
        super().__init__(loop, services, worker, loggers, worker)

    def create_connector(self, request: CreateRequest) -> Future[ConnectorInfo]:
        return self.submit(lambda: self.changes.create(request))

    def put_config(self, name: str, config: Mapping[str, str | None]) -> Future[tuple[bool, ConnectorInfo]]:
        return self.submit(lambda: self.changes.put(name, config))

    def patch_config(self, name: str, patch: Mapping[str, str | None]) -> Future[ConnectorInfo]:
        return self.submit(lambda: self.changes.patch(name, patch))

    def delete_connector(self, name: str, include_offsets: bool = False) -> Future[None]:
        return self.submit(lambda: self.changes.delete(name, include_offsets))

    def set_target_state(self, name: str, state: TargetState) -> Future[None]:
        return self.submit(lambda: self.changes.set_target(name, state))

    def restart_connector(self, request: RestartRequest) -> Future[ConnectorStatus | None]:
        return self.submit(lambda: self._restart(request))

    def restart_task(self, name: str, task: int) -> Future[None]:
        return self.submit(lambda: self._restart_task(name, task))

    def alter_offsets(self, name: str, offsets: Sequence[OffsetEntry] | None) -> Future[str]:
        return self.submit(lambda: self.changes.alter_offsets(name, offsets))

    def reset_offsets(self, name: str) -> Future[str]:
        return self.submit(lambda: self.changes.reset_offsets(name))

    def restore_offsets(self, name: str, force: bool = False, dry_run: bool = False) -> Future[RestoredOffsets]:
        self.changes.found(name)
        raise BadRequest(NO_CLUSTER)

    def workers(self) -> Future[Sequence[WorkerInfo]]:
        return self.submit(self._workers)

    def give_up_cleanup(self, cleanup: str) -> Future[None]:
        return self.submit(lambda: self.changes.give_up_cleanup(cleanup))

    def plan_pipelines(self, files: PipelineFiles, adopt: bool = False) -> Future[Plan]:
        return self.submit(lambda: self.provisioner.plan(files.desired(), adopt))

    def apply_pipelines(
        self, files: PipelineFiles, plan: str | None = None, adopt: bool = False, delete_many: bool = False
    ) -> Future[Plan]:
        return self.submit(lambda: self.provisioner.apply(files.desired(), plan, adopt, delete_many))

    def replay_dead_letters(self, name: str, request: ReplayRequest) -> Future[ReplayOutcome]:
        return self.submit(lambda: self.desk.replay(self.changes.found(name), request))

    def set_logger(self, namespace: str, level: str, cluster: bool) -> Sequence[str]:
        return self.local_loggers.set(namespace, level)

    def health(self) -> Future[Health]:
        return self.submit(self._health)

    async def _restart(self, request: RestartRequest) -> ConnectorStatus | None:
        name = request.connector
        async with self.changes.lock(name):
            self.changes.require(name, f"Unknown connector: {name}")
            if not request.only_failed and not request.include_tasks:
                restarted = self.worker.restart(name, True, ())
            else:
                plan = await self.changes.plan_restart(request)
                if plan.restart_connector or plan.restart_tasks:
                    await self._show_restarting(name, plan)
                    done = self.worker.restart(name, plan.restart_connector, plan.restart_tasks)
                    done.add_done_callback(_log_failed_restart)
                    done.add_done_callback(lambda _: self.services.configs.finish_restart(name))
                else:
                    self.services.configs.finish_restart(name)
                return plan.status
        await restarted
        return None

    async def _show_restarting(self, name: str, plan: RestartPlan) -> None:
        """Whoever looks after the answer must not mistake what ran before for what runs again."""
        statuses = self.services.statuses
        written = [statuses.task(TaskId(name, task), State.RESTARTING) for task in plan.restart_tasks]
        if plan.restart_connector:
            written.append(statuses.connector(name, State.RESTARTING))
        for future in written:
            await asyncio.wrap_future(future)

    async def _restart_task(self, name: str, task: int) -> None:
        async with self.changes.lock(name):
            self.changes.require_task(name, task)
            restarted = self.worker.restart(name, False, (task,))
        await restarted

    async def _workers(self) -> Sequence[WorkerInfo]:
        units = configured_units(self.services.configs.snapshot())
        return [worker_info(self.services.config.url, True, units, penstock.__version__)]

    async def _health(self) -> Health:
        return healthy(self.services) if self.ready else Health("starting", STARTING, 503)


def healthy(services: Services) -> Health:
    """A worker that takes requests; whether records flow as well is in the message."""
    trouble = services.spark_trouble()
    if trouble is None:
        return Health("healthy", READY)
    reason = trouble.partition("\n")[0]
    return Health("healthy", f"{READY} But no records flow, for Spark did not start and is tried again. {reason}")


def _log_failed_restart(done: asyncio.Future[None]) -> None:
    if not done.cancelled() and done.exception() is not None:
        log.warning("restart: %s", done.exception())
