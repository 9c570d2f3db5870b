"""Keeps one connector as it is wanted: compares what runs with what the config store says, and acts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.api.connector import Connector
from penstock.storage.faults import reach

from .hooks import ConnectorGone, HookFailed
from .logging import connector_context
from .pending_restarts import PendingRestarts
from .requests import RequestError, State, TargetState
from .services import Services
from .starts import Start
from .task_building import task_configs
from .tasks import TaskSet
from .traces import trace_of

log = logging.getLogger(__name__)

T = TypeVar("T")

PUBLISH_LOOK_SECONDS = 0.1

WAITING = (
    "Waiting for the clean-up of an earlier connector of this name: its on_deleted() has not succeeded yet and is "
    "tried again. GET /lifecycle/cleanups shows it, DELETE /lifecycle/cleanups/{id} gives it up."
)


@dataclass(frozen=True)
class Wanted:
    """What the config store says of a connector, and whether its instance belongs here.

    ``written_at`` tells the configuration from the same one written again, be it for a new connector of the name.
    ``known`` is the position up to which the config log was read.
    """

    config: Mapping[str, str | None]
    target: TargetState
    mine: bool
    written_at: int
    known: int = field(compare=False)


class Superseded(Exception):
    """A call into the connector was given up because somebody asked for something else meanwhile."""


class ConnectorKeeper:
    """Owns the connector instance and the tasks of one connector. Lives on the runtime's loop.

    Requests only change the stores and ``poke`` the keeper; it works on its own, one step at a time, so a
    connector that hangs delays nobody but itself. A failed connector stays FAILED until it is restarted,
    reconfigured or stopped.
    """

    def __init__(self, name: str, services: Services) -> None:
        self.name = name
        self.tasks = TaskSet(name, services)
        self._services = services
        self._instance: Connector | None = None
        self._instance_config: Mapping[str, str | None] | None = None
        self._started = False
        self._failed = False
        self._fresh = True
        self._closing = False
        self._removed = False
        self._reconfigured = False
        self._working_for: Wanted | None = None
        self._dirty = False
        self._changed = asyncio.Event()
        self._in_hook = False
        self._restarting = False
        self._restarts = PendingRestarts(name)
        self._regenerate = False
        self._worker: asyncio.Task[None] | None = None

    def poke(self) -> None:
        """Something about this connector changed: look again."""
        self._dirty = True
        self._changed.set()
        if self._worker is None or self._worker.done():
            with connector_context(self.name):
                self._worker = asyncio.get_running_loop().create_task(self._work(), name=f"keeper-{self.name}")

    def reconfigure(self) -> None:
        """The configuration was written again, be it the same: a new instance starts with it."""
        self._reconfigured = True
        self.poke()

    def remove(self) -> None:
        """The connector was deleted: end what runs, even if a new one of its name is there already."""
        reach("connector-removed")
        self._removed = True
        self.poke()

    def restart(self, connector: bool, tasks: Sequence[int]) -> asyncio.Future[None]:
        """Stop and start the instance and the given tasks; the future ends when it was tried."""
        done = self._restarts.ask(connector, tasks)
        self.poke()
        return done

    async def close(self) -> None:
        """The worker stops: end tasks and instance, keep everything the stores know. A hook in progress is left."""
        self._closing = True
        self.poke()
        working = self._worker
        if working is not None:
            await asyncio.wait({working}, timeout=2 * self._services.stop_seconds)
            working.cancel()

    @property
    def is_leaving(self) -> bool:
        """Whether something still runs here that belongs elsewhere, is gone, or was made from old task configs.

        A hook that is called for a connector that is gone does not count: its clean-up waits for what comes of it.
        """
        working = self._worker is not None and not self._worker.done()
        gone = working and (self._removed or self.name not in self._services.configs.snapshot())
        instance = self._instance_config is not None and not self._services.ownership.connector(self.name)
        hooked = gone and self._in_hook
        return ((gone or instance) and not hooked) or self.tasks.is_ending or bool(self.tasks.leaving())

    async def settled(self) -> None:
        """Wait until nothing is left to do."""
        while self._worker is not None and not self._worker.done():
            await asyncio.wait({self._worker})

    async def _work(self) -> None:
        while self._dirty:
            self._dirty = False
            self._changed.clear()
            try:
                await self._reconcile()
            except Superseded:
                self._dirty = True
            except Exception as error:
                log.exception("connector %s could not be brought to its wanted state", self.name)
                self._fail(trace_of(error))
            if not self._dirty:
                self._restarts.release()

    async def _reconcile(self) -> None:
        if self._removed or self._closing:
            await self._end(forget=self._removed)
            self._removed = False
        wanted = self._working_for = self._wanted()
        if self._closing or wanted is None:
            return
        if self._services.ownership.shared:
            await self.tasks.leave()
        if not wanted.mine:
            return await self._keep_tasks_only(wanted)
        changed = self._instance_config is not None and self._instance_config != wanted.config
        if changed or self._reconfigured:
            self._reconfigured = False
            await self._drop_instance()
            self._failed = False
            self._regenerate = True
        self._restarting = self._restarts.take_instance()
        if self._restarting:
            await self._drop_instance(State.RESTARTING)
            self._failed = False
        await self._restart_chosen_tasks(wanted)
        if wanted.target is TargetState.STARTED:
            await self._run(wanted)
        elif wanted.target is TargetState.PAUSED:
            await self._pause(wanted)
        else:
            await self._stop(wanted)

    def _wanted(self) -> Wanted | None:
        snapshot = self._services.configs.snapshot()
        entry = snapshot.entries.get(self.name)
        if entry is None:
            return None
        mine = self._services.ownership.connector(self.name)
        return Wanted(entry.config, entry.target_state, mine, entry.written_at, snapshot.position)

    async def _keep_tasks_only(self, wanted: Wanted) -> None:
        """The connector instance runs on another worker of the cluster, some of its tasks may run here."""
        if self._instance_config is not None or self._failed:
            await self._drop_instance(State.UNASSIGNED)
        self._failed, self._reconfigured, self._fresh = False, False, True
        self._restarts.take_instance()
        await self._restart_chosen_tasks(wanted)
        if wanted.target is TargetState.STOPPED:
            await self.tasks.stop(self.tasks.numbers(), State.DESTROYED)
        elif not self._accepted(wanted):
            await self.tasks.stop(self.tasks.numbers(), State.UNASSIGNED)
        else:
            self._start_tasks(wanted)
        (self.tasks.pause if wanted.target is TargetState.PAUSED else self.tasks.resume)()

    async def _run(self, wanted: Wanted) -> None:
        if not self._failed and not self._started:
            if not await self._prepare(wanted):
                return
            await self._start(wanted)
            self._regenerate = True
        if self._started and self._regenerate:
            self._regenerate = False
            try:
                await self._generate_tasks(wanted)
            except Superseded:
                self._regenerate = True
                raise
        if self._accepted(wanted):
            if self._fresh or not self.tasks or self._services.ownership.shared:
                self._start_tasks(wanted)
            self.tasks.resume()
        self._fresh = False

    async def _pause(self, wanted: Wanted) -> None:
        if not self._failed:
            if self._started:
                await self._stop_instance()
            if not self._failed:
                self._instance_config = wanted.config
                self._status(State.PAUSED)
        stopped = not self.tasks and not self._services.hooks.is_due(self.name, wanted.config)
        if self._fresh or stopped or self._services.ownership.shared:
            self._start_tasks(wanted)
        self.tasks.pause()
        self._fresh = False

    async def _stop(self, wanted: Wanted) -> None:
        await self.tasks.stop(self.tasks.numbers(), State.DESTROYED)
        if self._started:
            await self._stop_instance()
        self._instance = None
        self._failed = False
        self._instance_config = wanted.config
        if not await self.tasks.have_ended_elsewhere(lambda: not self._closing and self._wanted() == wanted):
            raise Superseded
        self._services.statuses.forget_tasks(self.name)
        self._status(State.STOPPED)
        self._fresh = False

    async def _end(self, forget: bool) -> None:
        await self.tasks.stop(self.tasks.numbers(), State.DESTROYED if forget else State.UNASSIGNED)
        held = self._instance_config is not None or not self._services.ownership.shared
        await self._drop_instance(State.UNASSIGNED if held and not forget else None)
        self._failed, self._fresh = False, True
        if forget:
            snapshot, statuses = self._services.configs.snapshot(), self._services.statuses
            if self.name in snapshot:
                statuses.forget_former(self.name, len(snapshot.task_configs(self.name)))
            else:
                statuses.forget(self.name)
            self._services.removed(self.name)

    async def _prepare(self, wanted: Wanted) -> bool:
        """Call the hook that is due, with nothing running. ``False`` when the connector may not start now."""
        self._instance_config = wanted.config
        if self._fresh:
            self._status(State.UNASSIGNED)
        hooks = self._services.hooks
        if not hooks.is_due(self.name, wanted.config):
            return True
        await self.tasks.stop(self.tasks.numbers(), State.UNASSIGNED)
        self._require_still_wanted()
        if not self._restarting:
            self._status(State.UNASSIGNED)
        self._in_hook = True
        try:
            if await hooks.before_start(self.name, wanted.config):
                self._require_still_wanted()
                return True
        except ConnectorGone:
            raise Superseded from None
        except HookFailed as failed:
            self._fail(failed.trace)
            self._restarts.fail(failed)
            return False
        finally:
            self._in_hook = False
        self._status(State.UNASSIGNED, WAITING)
        self._services.cleanups.look()
        return False

    def _accepted(self, wanted: Wanted) -> bool:
        """Whether tasks may run: not on a configuration that its hook has refused or not seen yet."""
        return wanted.target is TargetState.PAUSED or not self._services.hooks.is_due(self.name, wanted.config)

    async def _start(self, wanted: Wanted) -> None:
        """Make and start the instance; a failure becomes the connector's status."""
        services, regenerate = self._services, self._threadsafe_regenerate()
        start = Start(lambda: services.start_connector(wanted.config, regenerate), lambda instance: instance.stop())
        try:
            with services.metrics.connectors.attempt(Superseded):
                self._instance = await self._call("start()", start)
            self._started = True
            self._status(State.RUNNING)
        except (Superseded, asyncio.CancelledError):
            self._give_up(start)
            raise
        except Exception as error:
            self._give_up(start)
            self._fail(trace_of(error))
            self._restarts.fail(error)

    def _give_up(self, start: Start[Connector]) -> None:
        start.give_up(self._services.calls, f"{self.name}: stop()", self._services.stop_seconds)

    def _threadsafe_regenerate(self) -> Callable[[], None]:
        loop = asyncio.get_running_loop()

        def regenerate() -> None:
            self._regenerate = True
            self.poke()

        def ask() -> None:
            loop.call_soon_threadsafe(regenerate)

        return ask

    async def _generate_tasks(self, wanted: Wanted) -> None:
        """Ask the instance for task configs; write and restart when they, or the connector's own config, changed."""
        instance = self._instance
        if instance is None:
            return
        try:
            configs = await self._call("task_configs()", lambda: task_configs(instance, wanted.config, self._services))
        except (Superseded, asyncio.CancelledError):
            raise
        except Exception as error:
            self._fail(trace_of(error))
            return
        snapshot = self._services.configs.snapshot()
        same = snapshot.task_configs(self.name) == configs and snapshot.applied_config(self.name) == wanted.config
        if not same:
            await self.tasks.stop(self.tasks.numbers(), State.UNASSIGNED)
            await self._published(configs)
        gone = [task for task in self.tasks.numbers() if task >= len(configs)]
        await self.tasks.stop(gone, State.DESTROYED)
        self._require_still_wanted()
        if not self._services.ownership.shared:
            self._services.statuses.forget_tasks(self.name, beyond=len(configs))
        self._start_tasks(wanted)

    async def _published(self, configs: Sequence[Mapping[str, str | None]]) -> None:
        """Make task configs the current ones, unless something else is wanted meanwhile."""
        known = self._require_still_wanted().known
        publishing = asyncio.ensure_future(self._services.publish_tasks(self.name, configs, known))
        try:
            while not publishing.done():
                await asyncio.wait({publishing}, timeout=PUBLISH_LOOK_SECONDS)
                if not publishing.done() and self._is_superseded():
                    raise Superseded
        finally:
            publishing.cancel()
        try:
            publishing.result()
        except RequestError:
            raise Superseded from None

    def _start_tasks(self, wanted: Wanted, only: Collection[int] | None = None) -> None:
        self.tasks.start(wanted.config, wanted.target is TargetState.PAUSED, only)

    async def _restart_chosen_tasks(self, wanted: Wanted) -> None:
        chosen = self._restarts.take_tasks()
        if chosen:
            await self.tasks.stop(chosen, State.RESTARTING)
            if wanted.target is not TargetState.STOPPED and self._accepted(wanted):
                self._start_tasks(wanted, chosen)

    async def _stop_instance(self) -> None:
        """``stop()`` for a pause or stop; while stopping an error does not matter, while pausing it is a failure."""
        instance, self._started = self._instance, False
        self._instance = None
        if instance is None:
            return
        try:
            await self._call("stop()", instance.stop, self._services.stop_seconds)
        except (Superseded, asyncio.CancelledError):
            raise
        except Exception as error:
            self._fail(trace_of(error))

    async def _drop_instance(self, state: State | None = None) -> None:
        """End the instance for good, whatever its ``stop`` says."""
        instance, started = self._instance, self._started
        self._instance, self._started, self._instance_config = None, False, None
        if state is not None:
            self._status(state)
        if instance is not None and started:
            call = self._services.calls.run(f"{self.name}: stop()", self._services.stop_seconds, instance.stop)
            try:
                await asyncio.wrap_future(call)
            except Exception as error:
                log.warning("connector %s did not stop cleanly: %s", self.name, error)

    async def _call(self, what: str, function: Callable[[], T], seconds: float | None = None) -> T:
        """User code of this connector. When something else is asked for meanwhile, it gets a short grace only."""
        limit = seconds or self._services.call_seconds
        waiting = asyncio.wrap_future(self._services.calls.run(f"{self.name}: {what}", limit, function))
        while not waiting.done():
            changed = asyncio.ensure_future(self._changed.wait())
            either: list[asyncio.Future[Any]] = [waiting, changed]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            self._changed.clear()
            if self._is_superseded():
                await asyncio.wait({waiting}, timeout=self._services.stop_seconds)
                break
        if not waiting.done():
            log.warning("connector %s: %s is still busy and was abandoned for a newer request", self.name, what)
            raise Superseded
        return waiting.result()

    def _is_superseded(self) -> bool:
        return self._was_asked_meanwhile() or self._wanted() != self._working_for

    def _require_still_wanted(self) -> Wanted:
        """What is being worked for, as it is known now. Raises :class:`Superseded` if something else is wanted."""
        wanted = self._wanted()
        if wanted is None or wanted != self._working_for or self._was_asked_meanwhile():
            raise Superseded
        return wanted

    def _was_asked_meanwhile(self) -> bool:
        restart = self._restarts.of_instance and not self._restarting
        return self._removed or self._closing or self._reconfigured or restart

    def _status(self, state: State, trace: str | None = None) -> None:
        self._services.statuses.connector(self.name, state, trace)

    def _fail(self, trace: str) -> None:
        self._failed = True
        log.error("connector %s failed: %s", self.name, trace)
        self._status(State.FAILED, trace)
