"""One task while it runs: its pump, and the statuses it writes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping

from penstock.storage.config_snapshot import ConfigSnapshot

from .logging import connector_context
from .pump import Pump
from .requests import RequestError, State, TaskId
from .services import Services
from .task_building import TaskBuilder
from .traces import trace_of

log = logging.getLogger(__name__)

FIRST_FENCE_WAIT_SECONDS = 0.25
LONGEST_FENCE_WAIT_SECONDS = 1.0
FENCE_SECONDS = 60.0
LOOK_SECONDS = 0.02
HEAR_SECONDS = 2.0
"""How long after its end a task of another worker may still be shown."""


class TaskRunner:
    """Builds and runs a pump and reports for it until it is stopped; afterwards nothing it says is written."""

    def __init__(self, builder: TaskBuilder, services: Services, paused: bool) -> None:
        self.task = builder.task
        self.pump: Pump | None = None
        self._services = services
        self._paused = paused
        self._stopping = False
        self._starting = True
        services.metrics.tasks.begin()
        with connector_context(self.task.connector, f"task-{self.task.task}"):
            self._running = asyncio.get_running_loop().create_task(self._run(builder), name=f"task-{self.task}")

    async def _run(self, builder: TaskBuilder) -> None:
        what = f"{self.task}: the task's class"
        try:
            await self._fence()
            preparing = self._services.calls.run(what, self._services.call_seconds, builder.prepare)
            prepared = await asyncio.wrap_future(preparing)
            if self._stopping:
                return
            self.pump = builder.pump(prepared, self.report, self._paused)
        except Exception as error:
            self.report(State.FAILED, trace_of(error))
            return
        self._services.tasks_changed()
        await self.pump.run()

    async def _fence(self) -> None:
        """Those who ran the task before must not write any more. Who has to see to it may have to be found first."""
        wait, until = FIRST_FENCE_WAIT_SECONDS, time.monotonic() + FENCE_SECONDS
        while self._services.fence is not None and not self._stopping:
            try:
                return await self._services.fence(self.task.connector)
            except RequestError as error:
                if error.status in (400, 404) or time.monotonic() > until:
                    raise
                log.warning("task %s is not fenced yet; next try in %g s: %s", self.task, wait, error)
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_FENCE_WAIT_SECONDS)

    def report(self, state: State, trace: str | None) -> None:
        """A new state of the task, unless it was stopped meanwhile."""
        if self._starting:
            self._starting = False
            startups = self._services.metrics.tasks
            (startups.failed if state is State.FAILED else startups.succeeded)()
        if self.pump is not None:
            self.pump.metrics.enter(state)
        if not self._stopping:
            self._services.statuses.task(self.task, state, trace)
            if state is State.FAILED:
                log.error("task %s failed: %s", self.task, trace)

    def pause(self) -> None:
        self._paused = True
        if self.pump is not None:
            self.pump.pause()

    def resume(self) -> None:
        self._paused = False
        if self.pump is not None:
            self.pump.resume()

    async def stop(self, state: State) -> None:
        """End the task and write its last state; after the limit it is abandoned and can commit nothing any more."""
        self._stopping = True
        if self.pump is not None:
            self.pump.stop()
        seconds = self._services.stop_seconds
        done, _ = await asyncio.wait({self._running}, timeout=seconds)
        if not done:
            log.warning("task %s did not stop within %g s and is abandoned", self.task, seconds)
            if self.pump is not None:
                self.pump.abandon()
        self._services.tasks_changed()
        if state is State.DESTROYED:
            self._services.statuses.forget_task(self.task)
        else:
            self._services.statuses.task(self.task, state, None)


class TaskSet:
    """The tasks of one connector that run here, by number."""

    def __init__(self, connector: str, services: Services) -> None:
        self._connector = connector
        self._services = services
        self._runners: dict[int, TaskRunner] = {}
        self._made_from = -1
        self._ending = 0

    def __iter__(self) -> Iterator[TaskRunner]:
        return iter(list(self._runners.values()))

    def __len__(self) -> int:
        return len(self._runners)

    def numbers(self) -> list[int]:
        """The numbers of the tasks that run."""
        return list(self._runners)

    def start(self, config: Mapping[str, str | None], paused: bool, only: Collection[int] | None = None) -> None:
        """Start the configured tasks that do not run, or ``only`` some of them, for this connector configuration."""
        snapshot = self._services.configs.snapshot()
        configs = snapshot.task_configs(self._connector)
        self._made_from = _commit_of(snapshot, self._connector)
        for number in sorted(self._services.ownership.tasks(self._connector, snapshot)):
            if number not in self._runners and (only is None or number in only):
                task = TaskId(self._connector, number)
                builder = TaskBuilder(task, config, configs[number], len(configs), self._services)
                self._runners[number] = TaskRunner(builder, self._services, paused)

    async def stop(self, numbers: Collection[int], state: State) -> None:
        """End tasks, side by side, and write their last state."""
        runners = [self._runners.pop(number) for number in numbers if number in self._runners]
        self._ending += len(runners)
        try:
            await asyncio.gather(*(runner.stop(state) for runner in runners))
        finally:
            self._ending -= len(runners)

    async def have_ended_elsewhere(self, still: Callable[[], bool]) -> bool:
        """Wait for the tasks of other workers, so that whoever sees STOPPED reads offsets that do not change any more.

        A worker that says nothing is waited for as long as its tasks have to end. ``False`` when the wait has no use
        any more, which ``still`` tells.
        """
        until = time.monotonic() + self._services.stop_seconds + HEAR_SECONDS
        others = self._services.ownership.shared
        while others and self._services.statuses.runs_elsewhere(self._connector) and time.monotonic() < until:
            await asyncio.sleep(LOOK_SECONDS)
            if not still():
                return False
        return True

    async def leave(self) -> None:
        """End what is :meth:`leaving`; tasks that are not configured any more have no status either."""
        count = len(self._services.configs.snapshot().task_configs(self._connector))
        leaving = self.leaving()
        gone = [number for number in leaving if number >= count]
        kept = [number for number in leaving if number < count]
        await asyncio.gather(self.stop(gone, State.DESTROYED), self.stop(kept, State.UNASSIGNED))

    def leaving(self) -> list[int]:
        """The tasks that run but belong elsewhere now, or were made from other task configs than the current ones."""
        snapshot = self._services.configs.snapshot()
        if self._runners and _commit_of(snapshot, self._connector) != self._made_from:
            return list(self._runners)
        mine = self._services.ownership.tasks(self._connector, snapshot)
        return [number for number in self._runners if number not in mine]

    @property
    def is_ending(self) -> bool:
        """Whether some task was told to stop and has not yet."""
        return self._ending > 0

    def pause(self) -> None:
        for runner in self:
            runner.pause()

    def resume(self) -> None:
        for runner in self:
            runner.resume()


def _commit_of(snapshot: ConfigSnapshot, connector: str) -> int:
    entry = snapshot.entries.get(connector)
    return -1 if entry is None else entry.committed_at
