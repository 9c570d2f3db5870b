"""Pipeline files of a worker: planned, applied, watched, and told about."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.runtime.connector_changes import Effects
from penstock.runtime.pipeline_files import PipelineFiles, load_pipeline_files
from penstock.runtime.requests import BadRequest, Conflict, OffsetEntry
from penstock.runtime.services import Services

from .actions import Action, DeleteConnector, Tools
from .applying import Applier, ApplyFailed
from .declared import declared
from .desired import WORKER, Desired
from .plan import Change, Declared, Plan
from .planning import PipelinePlanner, Planned, located
from .problems import Problem, errors_text
from .watching import POLL_SECONDS, Watch

log = logging.getLogger(__name__)

STALE = (
    "The plan {given} is out of date: connectors, topics or files have changed since it was made, and it would be {now}"
    " now. Look at a new plan and apply that one."
)


@dataclass(frozen=True)
class Applied:
    """What applying the worker's own files came to."""

    changes: Sequence[Change] = ()
    problems: Sequence[Problem] = ()
    unchanged: int = 0


class Provisioner:
    """Runs on the runtime's loop. One apply at a time; plans may be made meanwhile."""

    def __init__(
        self,
        services: Services,
        worker: Effects,
        lock: Callable[[str], asyncio.Lock],
        write_offsets: Callable[[str, Mapping[str, str | None], Sequence[OffsetEntry]], Awaitable[bool]],
    ) -> None:
        self._services = services
        self._worker = worker
        self._lock = lock
        self._planner = PipelinePlanner(services)
        self._write_offsets = write_offsets
        self._applier = Applier(Tools(services, self._write_initial_offsets), worker)
        self._turn = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self._problems: Sequence[Problem] = ()
        self.on_applied: Callable[[Applied], None] = lambda applied: None

    async def plan(self, desired: Desired, adopt: bool = False) -> Plan:
        """What applying would do."""
        return (await self._planner.plan(desired, adopt)).plan

    async def apply(
        self, desired: Desired, expected: str | None = None, adopt: bool = False, delete_many: bool = False
    ) -> Plan:
        """Do it, all or nothing; the plan that was carried out.

        Raises ``BadRequest`` with every error of the files, or when it would delete too many connectors and is not told
        to, ``Conflict`` when the plan is not the ``expected`` one, :class:`~.applying.ApplyFailed` when it had to be
        undone.
        """
        async with self._turn:
            while True:
                planned = await self._planner.plan(desired, adopt)
                if planned.plan.hash is None:
                    raise BadRequest(f"The pipeline files have errors:\n{errors_text(planned.plan.problems)}")
                async with self._locked(planned.touched):
                    fresh = await self._planner.plan(desired, adopt, checked=False)
                    if expected is not None and expected != fresh.plan.hash:
                        raise Conflict(STALE.format(given=expected, now=fresh.plan.hash))
                    if fresh.plan.refused is not None and not delete_many:
                        raise BadRequest(f"Nothing was applied: {fresh.plan.refused}")
                    if set(fresh.touched) <= set(planned.touched):
                        await self._applier.run(fresh.actions)
                        self._applier.release(fresh.actions)
                        return replace(fresh.plan, problems=planned.plan.problems, refused=None)

    def declared(self) -> Declared:
        """What files have declared, and what is wrong with the worker's own."""
        return Declared(declared(self._services.configs.snapshot()), self._problems)

    async def start(self, paths: Sequence[Path]) -> None:
        """Apply the worker's own files, then let all connectors come to what they should be.

        What the files leave alone begins at once; what they change or no longer declare never runs as it was.
        """
        touched: set[str] = set()
        applied: Sequence[Action] = ()
        try:
            files = await asyncio.to_thread(load_pipeline_files, paths)
            desired = files.desired(WORKER)
            touched = set((await self._planner.plan(desired, checked=False)).touched)
            self._keep(name for name in self._services.configs.snapshot().connectors() if name not in touched)
            applied = await self._apply_own(desired, files)
        except Exception:
            log.exception("The pipeline files could not be applied; connectors go on as they were")
        await self._forget_statuses(action.name for action in applied if isinstance(action, DeleteConnector))
        done = {action.connector for action in applied}
        self._keep(name for name in self._services.configs.snapshot().connectors() if name not in done)

    def watch(self, paths: Sequence[Path]) -> None:
        """Apply the worker's own files again whenever they change."""
        self._watching = asyncio.get_running_loop().create_task(self._watch(paths), name="pipeline-files")

    def stop(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        self._applier.stop()

    async def _forget_statuses(self, names: Iterable[str]) -> None:
        """Whoever asks once the worker is ready finds no status of what is deleted."""
        forgotten = [asyncio.wrap_future(self._services.statuses.forget(name)) for name in names]
        for failed in await asyncio.gather(*forgotten, return_exceptions=True):
            if failed is not None:
                log.warning("The status of a deleted connector stays until the next start: %s", failed)

    async def _watch(self, paths: Sequence[Path]) -> None:
        watch = await asyncio.to_thread(Watch, paths)
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                if await asyncio.to_thread(watch.changed):
                    files = await asyncio.to_thread(load_pipeline_files, paths)
                    await self._apply_own(files.desired(WORKER), files)
            except Exception:
                log.exception("The changed pipeline files could not be applied")

    async def _apply_own(self, desired: Desired, files: PipelineFiles) -> Sequence[Action]:
        """Each pipeline by itself: errors of one never keep another from being applied. The actions that were done."""
        async with self._turn:
            planned = await self._planner.plan(desired)
            failures: list[Problem] = []
            done: list[Action] = []
            async with self._locked(planned.touched):
                fresh = await self._planner.plan(desired, checked=False)
                for pipeline, actions in _by_pipeline(fresh, planned).items():
                    try:
                        await self._applier.run(actions)
                        done += actions
                    except ApplyFailed as error:
                        failures.append(Problem(str(error), file=_file(planned, pipeline), pipeline=pipeline))
                self._applier.release(done)
        self._problems = located([*planned.plan.problems, *failures], files.documents)
        self._report(planned, done)
        return done

    def _report(self, planned: Planned, done: Sequence[Action]) -> None:
        pipelines = {action.pipeline for action in done}
        changes = [change for change in planned.plan.changes if change.pipeline in pipelines]
        for problem in self._problems:
            (log.error if problem.is_error else log.warning)("pipeline files: %s", problem)
        for change in changes:
            log.info("pipeline files: %s", change.summary)
        self.on_applied(Applied(changes, self._problems, planned.plan.unchanged))

    async def _write_initial_offsets(
        self, name: str, config: Mapping[str, str | None], entries: Sequence[OffsetEntry]
    ) -> bool:
        """Nothing of an earlier connector of this name may write after us."""
        await self._worker.settled(name)
        return await self._write_offsets(name, config, entries)

    @asynccontextmanager
    async def _locked(self, names: Sequence[str]) -> AsyncIterator[None]:
        """Nobody else changes these connectors meanwhile. Always in the same order, so nobody waits for ever."""
        async with AsyncExitStack() as stack:
            for name in sorted(names):
                await stack.enter_async_context(self._lock(name))
            yield

    def _keep(self, names: Iterable[str]) -> None:
        for name in names:
            self._worker.keep(name)


def _by_pipeline(fresh: Planned, planned: Planned) -> dict[str, list[Action]]:
    """The fresh actions of what was planned, checked and locked."""
    pipelines = {action.pipeline for action in planned.actions}
    locked = set(planned.touched)
    groups: dict[str, list[Action]] = {}
    for action in fresh.actions:
        if action.pipeline in pipelines and (action.connector is None or action.connector in locked):
            groups.setdefault(action.pipeline, []).append(action)
    return groups


def _file(planned: Planned, pipeline: str) -> str:
    return next((change.file for change in planned.plan.changes if change.pipeline == pipeline), "")
