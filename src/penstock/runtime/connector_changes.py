"""Creating, changing, stopping and deleting connectors, and changing their offsets: checks and writes, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

from penstock.storage.faults import reach
from penstock.storage.unfinished_records import Step, Unfinished

from . import offsets as offset_rules
from .offset_changes import OffsetChanges
from .requests import (
    BadRequest,
    Conflict,
    ConnectorInfo,
    CreatedConnector,
    CreateRequest,
    NotFound,
    OffsetEntry,
    RequestError,
    RestartRequest,
    State,
    TargetState,
    TaskId,
)
from .restart import RestartPlan, plan_restart
from .services import Services
from .unfinished_changes import UnfinishedChanges

T = TypeVar("T")
Raw = Mapping[str, str | None]

NOT_FENCED = "Failed to perform zombie fencing for source connector prior to modifying offsets"
"""Kafka Connect's text."""


class Effects(Protocol):
    """Brings what runs to what the stores say."""

    def keep(self, name: str) -> None:
        """The connector was created or changed."""

    def reconfigure(self, name: str) -> None:
        """Its configuration was written, be it the same as before."""

    def remove(self, name: str) -> None:
        """It was deleted."""

    async def settled(self, name: str) -> None:
        """Wait until the connector is what the stores say."""


class ConnectorChanges:
    """Changes to one connector happen strictly one after the other. Runs on the runtime's loop.

    In a cluster only the leader makes them, but for pausing and resuming.
    """

    def __init__(self, services: Services, effects: Effects, offsets: OffsetChanges) -> None:
        self._services = services
        self._effects = effects
        self._offsets = offsets
        self._unfinished = UnfinishedChanges(services, effects, offsets)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock(self, name: str) -> asyncio.Lock:
        """Nobody else changes the connector while it is held."""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock

    def info(self, name: str) -> ConnectorInfo:
        """Raises ``NotFound``."""
        snapshot = self._services.configs.snapshot()
        config = self.found(name)
        tasks = [TaskId(name, number) for number in range(len(snapshot.task_configs(name)))]
        return ConnectorInfo(name, config, tasks, self._services.connector_type(config))

    def found(self, name: str) -> Raw:
        """The configuration of a connector. Raises ``NotFound``."""
        return self.require(name, f"Connector {name} not found")

    def require(self, name: str, otherwise: str) -> Raw:
        """The configuration of a connector; ``NotFound`` with a text when there is none."""
        config = self._config(name)
        if config is None:
            raise NotFound(otherwise)
        return config

    async def create(self, request: CreateRequest) -> ConnectorInfo:
        config = await self._validated(request.config)
        changes = offset_rules.require_entries(request.offsets) if request.offsets is not None else None
        async with self.lock(request.name):
            await self._unfinished.settle(request.name)
            if self._config(request.name) is not None:
                raise Conflict(f"Connector {request.name} already exists")
            if changes is None:
                await self._write_new(request.name, config, request.initial_state)
                made = ConnectorInfo(request.name, config, [], self._services.connector_type(config))
            else:
                made = await self._write_new_with_offsets(request, config, changes)
            self._effects.keep(request.name)
            return made

    async def _write_new_with_offsets(
        self, request: CreateRequest, config: Raw, entries: Sequence[OffsetEntry]
    ) -> CreatedConnector:
        """A new connector and its first offsets, both or neither, whatever fails and wherever the worker dies."""
        name, state = request.name, request.initial_state
        await self._offsets.open(config)
        await self._effects.settled(name)
        altering = await self._offsets.replacing(name, config, entries)
        told = offset_rules.done_message("altered", altering.checked)
        made = CreatedConnector(name, config, [], self._services.connector_type(config), told)
        database = self._offsets.database(config)
        if database is not None:
            with database.together():
                written = [altering.begin(), *self._begin_new(name, config, state)]
            await self._wait_for_all(written)
            return made
        before = [(entry.partition or {}, entry.offset) for entry in await self._offsets.current(name, config)]
        await self._wait(self._services.configs.put_unfinished(Unfinished(name, Step.CREATING, config, before)))
        reach("creation-noted")
        try:
            await altering.write()
            reach("creation-offsets-written")
            self._unfinished.require(name)
            await self._write_new(name, config, state)
        except Exception:
            await self._unfinished.settle(name)
            raise
        return made

    async def put(self, name: str, config: Raw) -> tuple[bool, ConnectorInfo]:
        validated = await self._validated(config)
        async with self.lock(name):
            await self._unfinished.settle(name)
            created = self._config(name) is None
            if created:
                await self._write_new(name, validated, None)
                self._effects.keep(name)
            else:
                await self._wait(self._services.configs.put_connector(name, validated, None))
                self._effects.reconfigure(name)
            return created, self.info(name)

    async def _write_new(self, name: str, config: Raw, state: TargetState | None) -> None:
        """A new connector has a status when its creation is answered; both are written in one go."""
        written, shown = self._begin_new(name, config, state)
        try:
            await self._wait(written)
        except Exception:
            self._services.statuses.forget(name)
            raise
        await self._wait(shown)

    def _begin_new(self, name: str, config: Raw, state: TargetState | None) -> tuple[Future[None], Future[None]]:
        written = self._services.configs.put_connector(name, config, state)
        return written, self._services.statuses.connector(name, State.UNASSIGNED)

    async def patch(self, name: str, patch: Raw) -> ConnectorInfo:
        """Merged and validated while nobody waits; done again when the configuration changed meanwhile."""
        while True:
            before = self.found(name)
            merged = {**before, **patch}
            validated = await self._validated({key: merged[key] for key in merged if patch.get(key, "") is not None})
            async with self.lock(name):
                await self._unfinished.settle(name)
                if self._config(name) == before:
                    await self._wait(self._services.configs.put_connector(name, validated, None))
                    self._effects.reconfigure(name)
                    return self.info(name)

    async def delete(self, name: str, include_offsets: bool) -> None:
        async with self.lock(name):
            deleting = self._unfinished.is_deleting(name)
            await self._unfinished.settle(name)
            if deleting:
                return
            config = self.found(name)
            if include_offsets:
                await self._remove_with_offsets(name, config)
            else:
                await self._wait(self._services.hooks.remove(name))
            self._effects.remove(name)
            self._services.cleanups.look()

    async def _remove_with_offsets(self, name: str, config: Raw) -> None:
        """Both or neither, whatever fails and wherever the worker dies. A refusal leaves all as it was.

        Offsets can only go when nothing runs that would write them again. Once they are gone, a removal that fails is
        brought to its end later.
        """
        state = self._services.configs.snapshot().target_state(name)
        stopping = Unfinished(name, Step.STOPPING, config, state=state)
        await self._wait(self._services.configs.stop_connector(name, stopping))
        reach("deletion-stopping")
        self._effects.keep(name)
        try:
            await self._effects.settled(name)
            forgetting = await self._offsets.forgetting(name, config)
            database = self._offsets.database(config)
            if database is not None:
                reach("deletion-agreed")
                with database.together():
                    written = [forgetting.begin(), self._services.hooks.remove(name)]
                await self._wait_for_all(written)
                return
            await self._wait(self._services.configs.put_unfinished(replace(stopping, step=Step.DELETING)))
            reach("deletion-noted")
            await forgetting.write()
        except Exception:
            await self._unfinished.put_back_state(stopping)
            raise
        reach("deletion-offsets-forgotten")
        await self._wait(self._services.hooks.remove(name))

    async def settle_unfinished(self) -> None:
        """Take back, or bring to their end, the changes that a crash has cut in two. Raises when that has to wait."""
        for name in self._unfinished.names():
            if not self.lock(name).locked():
                async with self.lock(name):
                    await self._unfinished.settle(name)

    async def set_target(self, name: str, state: TargetState) -> None:
        """Pause, resume or stop. Written even where it seems to be so already: somebody else may just have changed it.

        Raises ``NotFound`` as well when the connector was deleted before that came into the log.
        """
        unknown = f"Unknown connector {name}"
        async with self.lock(name):
            self.require(name, unknown)
            self._unfinished.require_not_deleting(name)
            await self._write_target(name, state)
            self.require(name, unknown)
            self._effects.keep(name)

    async def _write_target(self, name: str, state: TargetState) -> None:
        configs = self._services.configs
        snapshot = configs.snapshot()
        is_stopped = snapshot.target_state(name) is TargetState.STOPPED and not snapshot.task_count(name)
        if state is TargetState.STOPPED and not is_stopped:
            await self._wait(configs.stop_connector(name))
        else:
            await self._wait(configs.put_target_state(name, state))

    async def plan_restart(self, request: RestartRequest) -> RestartPlan:
        """Write a restart with flags down and show what it will do. Callers hold the connector's lock."""
        name = request.connector
        status = self._services.statuses.of(name)
        if status is None:
            raise NotFound(f"Status for connector {name} not found")
        await self._wait(self._services.configs.put_restart(name, request.only_failed, request.include_tasks))
        return plan_restart(request, status)

    async def put_tasks(self, name: str, configs: Sequence[Raw], known: int) -> None:
        """Make task configs the current ones.

        Raises when they are of no use any more: the connector is gone or stopped, or its configuration has been written
        since, be it for a new connector of the name. ``known`` is the position of the config log up to which whoever
        made them had read it.
        """
        async with self.lock(name):
            self.found(name)
            entry = self._services.configs.snapshot().entries[name]
            if entry.written_at >= known:
                raise Conflict(f"The configuration of connector {name} was written after its task configs were made")
            if configs and entry.target_state is TargetState.STOPPED:
                raise BadRequest(f"Cannot submit non-empty set of task configs for stopped connector {name}")
            await self._wait(self._services.configs.put_task_configs(name, configs))

    def require_task(self, name: str, task: int) -> None:
        """Raises ``NotFound`` for a connector or task that is not there, ``Conflict`` for one that may not run now."""
        config, snapshot = self.require(name, f"Unknown connector: {name}"), self._services.configs.snapshot()
        if not 0 <= task < len(snapshot.task_configs(name)):
            raise NotFound(f"Unknown task: {name}-{task}")
        obstacle = self._services.hooks.obstacle(name, config)
        if obstacle is not None:
            raise Conflict(f"Task {name}-{task} cannot be restarted: {obstacle}")

    async def read_offsets(self, name: str) -> Sequence[OffsetEntry]:
        return await self._offsets.current(name, self.found(name))

    async def alter_offsets(self, name: str, offsets: Sequence[OffsetEntry] | None) -> str:
        entries = offset_rules.require_entries(offsets)
        async with self.lock(name):
            config = await self.stopped(name)
            return offset_rules.done_message("altered", await self._offsets.write(name, config, entries))

    async def reset_offsets(self, name: str) -> str:
        async with self.lock(name):
            config = await self.stopped(name)
            return offset_rules.done_message("reset", await self._offsets.forget(name, config))

    async def stopped(self, name: str) -> Raw:
        """The checks of KIP-875, in its order, and the end of whatever was still stopping.

        A task that somebody has cut off or frozen could write offsets after us: with exactly-once support it is fenced.
        """
        self.require_stopped(name)
        await self._effects.settled(name)
        if self._services.fence is not None:
            try:
                await self._services.fence(name)
            except Exception as error:
                raise RequestError(NOT_FENCED) from error
        return self.require_stopped(name)

    def require_stopped(self, name: str) -> Raw:
        """The configuration of a connector whose offsets may be changed. Raises ``BadRequest`` for one that runs."""
        config = self.found(name)
        self._unfinished.require_not_deleting(name)
        snapshot = self._services.configs.snapshot()
        offset_rules.require_stopped(name, snapshot.target_state(name), len(snapshot.task_configs(name)))
        return config

    async def give_up_cleanup(self, cleanup: str) -> None:
        if await self._services.cleanups.give_up(cleanup) is None:
            raise NotFound(f"Clean-up {cleanup} not found")

    async def _validated(self, config: Raw) -> Raw:
        """The config itself, if it is valid; ``BadRequest`` with every error otherwise."""
        await self._services.user_code("validate()", lambda: self._services.check(config))
        return config

    def _config(self, name: str) -> Raw | None:
        return self._services.configs.snapshot().connector_config(name)

    async def _wait(self, future: Future[T]) -> T:
        return await asyncio.wrap_future(future)

    async def _wait_for_all(self, futures: Sequence[Future[Any]]) -> None:
        await asyncio.gather(*map(asyncio.wrap_future, futures))
