"""Does the actions of a plan, or undoes them; and sets things going once all are done."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from penstock.runtime.connector_changes import Effects
from penstock.runtime.requests import RequestError
from penstock.storage.faults import reach

from .actions import Action, DeleteConnector, Tools

log = logging.getLogger(__name__)


class ApplyFailed(RequestError):
    """An action could not be done; the text says which, why, and that the others were undone."""

    def __init__(self, action: Action, error: Exception, undone: int, stuck: Sequence[str]) -> None:
        before = "Nothing was done before it." if not undone else f"What was done before it ({undone}) was undone."
        if stuck:
            before = f"Not everything could be undone: {'; '.join(stuck)}. Apply again to reach what the files say."
        super().__init__(f"The files were not applied: {action.title} failed: {error}\n{before}")
        self.status = error.status if isinstance(error, RequestError) else 500


class Applier:
    """Runs on the runtime's loop. Callers hold the locks of all connectors that the actions touch."""

    def __init__(self, tools: Tools, worker: Effects) -> None:
        self._tools = tools
        self._worker = worker
        self._releasing: set[asyncio.Task[None]] = set()

    async def run(self, actions: Sequence[Action]) -> None:
        """Do them in order; if one fails, undo all in reverse order and raise :class:`ApplyFailed`."""
        begun: list[Action] = []
        for action in actions:
            begun.append(action)
            try:
                reach("apply-before-action")
                await action.do(self._tools)
                reach("apply-after-action")
            except Exception as error:
                log.warning("pipeline files: %s failed, undoing", action.title, exc_info=error)
                stuck = await self._undo(begun)
                raise ApplyFailed(action, error, len(begun) - 1, stuck) from error

    async def _undo(self, begun: Sequence[Action]) -> list[str]:
        """Undo in reverse; what cannot be undone is told."""
        stuck = []
        for action in reversed(begun):
            reach("apply-before-undo")
            try:
                await action.undo(self._tools)
            except Exception as error:
                log.exception("pipeline files: %s could not be undone", action.title)
                stuck.append(f"{action.title}: {error}")
        self._keep(begun)
        return stuck

    def release(self, actions: Sequence[Action]) -> None:
        """Everything is written down: let connectors come to what they should be.

        A pipeline that loses connectors starts the others only after the deletion hooks were tried, since a new
        connector may use what an old one has to remove.
        """
        reach("apply-before-release")
        for pipeline in dict.fromkeys(action.pipeline for action in actions):
            group = [action for action in actions if action.pipeline == pipeline]
            gone = [action for action in group if isinstance(action, DeleteConnector)]
            others = [action for action in group if not isinstance(action, DeleteConnector)]
            if gone and others:
                task = asyncio.get_running_loop().create_task(self._after(gone, others), name=f"apply-{pipeline}")
                self._releasing.add(task)
                task.add_done_callback(self._releasing.discard)
            else:
                self._end(gone)
                self._keep(others)

    def stop(self) -> None:
        """What was not set going is at the next start."""
        for task in self._releasing:
            task.cancel()

    async def _after(self, gone: Sequence[DeleteConnector], others: Sequence[Action]) -> None:
        self._end(gone)
        for action in gone:
            await self._tools.services.cleanups.tried(action.name)
        self._keep(others)

    def _end(self, gone: Sequence[DeleteConnector]) -> None:
        for action in gone:
            action.release(self._tools)
            self._worker.remove(action.name)
        self._tools.services.cleanups.look()

    def _keep(self, actions: Sequence[Action]) -> None:
        for action in actions:
            if action.connector is not None:
                self._worker.keep(action.connector)
