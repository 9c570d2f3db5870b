"""Deletion hooks that still have to succeed: tried again with back-off, over restarts, until done or given up."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace

from penstock.storage.config_store import ConfigStore
from penstock.storage.lifecycle_records import Cleanup

from .hooks import HookFailed, Hooks, now_ms

log = logging.getLogger(__name__)

FIRST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 300.0
LOOK_SECONDS = 0.02
NOTE_SECONDS = 30.0
"""What the result of a hook takes to get into the config log, at most."""


@dataclass(frozen=True)
class Peers:
    """The workers of a cluster, as clean-ups see them. Only the leader begins clean-ups.

    ``here`` is the name of this worker, ``is_there`` tells whether a worker of that name lives, ``leads`` whether this
    one is the leader. A call of a hook is over after ``seconds``, wherever it was made.
    """

    here: str
    is_there: Callable[[str], bool]
    leads: Callable[[], bool]
    seconds: float


class Cleanups:
    """One loop for each clean-up that is left. Runs on the runtime's loop.

    ``settled`` waits until nothing of a connector runs any more and all that was noted of it is known; when it raises,
    it is asked again. ``done`` is told the name of a connector one of whose clean-ups is over, since a new connector of
    that name may be waiting for it. ``peers`` is ``None`` for a worker that is alone.
    """

    def __init__(
        self,
        configs: ConfigStore,
        hooks: Hooks,
        settled: Callable[[str], Awaitable[None]],
        done: Callable[[str], None],
        peers: Peers | None = None,
    ) -> None:
        self._configs = configs
        self._hooks = hooks
        self._settled = settled
        self._done = done
        self._peers = peers
        self._running: dict[str, asyncio.Task[None]] = {}
        self._calling: set[str] = set()
        self._held: set[str] = set()
        self._tried = asyncio.Event()

    def hold(self, cleanup_id: str) -> None:
        """Do not begin this clean-up before :meth:`let_go`: the deletion it follows may still be taken back."""
        self._held.add(cleanup_id)

    def let_go(self, cleanup_id: str) -> None:
        """The end of :meth:`hold`."""
        self._held.discard(cleanup_id)

    async def tried(self, connector: str) -> None:
        """Wait until each clean-up of a connector is over or has failed at least once."""
        while any(not cleanup.tries for cleanup in self._configs.snapshot().cleanups_of(connector)):
            self._tried.clear()
            await self._tried.wait()

    def look(self) -> None:
        """Start what the store has and nobody works on, where that is for this worker to do."""
        if not self._leads():
            return
        self._configs.sweep()
        for cleanup in self._configs.snapshot().cleanups.values():
            if cleanup.id not in self._running and cleanup.id not in self._held:
                task = asyncio.get_running_loop().create_task(self._work(cleanup.id), name=f"cleanup-{cleanup.id}")
                self._running[cleanup.id] = task

    async def give_up(self, cleanup_id: str) -> Cleanup | None:
        """Forget a clean-up for good; ``None`` when there is no such one. What it would have removed stays."""
        cleanup = self._find(cleanup_id)
        if cleanup is None:
            return None
        self.hold(cleanup_id)
        running = self._running.get(cleanup_id)
        if running is not None:
            running.cancel()
        try:
            await asyncio.wrap_future(self._configs.finish_cleanup(cleanup))
        finally:
            self.let_go(cleanup_id)
        self._tried.set()
        log.warning("the clean-up %s of connector %s was given up", cleanup_id, cleanup.connector)
        self._done(cleanup.connector)
        return cleanup

    def stop(self) -> None:
        """End all loops; what is left goes on at the next start."""
        for running in self._running.values():
            running.cancel()

    def rest(self) -> None:
        """Another worker leads: begin nothing more. A call in progress is brought to its end, and that is noted."""
        for cleanup_id, running in self._running.items():
            if cleanup_id not in self._calling:
                running.cancel()

    async def _work(self, cleanup_id: str) -> None:
        connector = None
        try:
            while (cleanup := self._find(cleanup_id)) is not None and self._leads():
                connector = cleanup.connector
                if await self._try(cleanup):
                    break
                self._tried.set()
        finally:
            self._running.pop(cleanup_id, None)
            self._tried.set()
        if connector is not None and self._find(cleanup_id) is None:
            self._configs.sweep()
            self._done(connector)

    async def _try(self, cleanup: Cleanup) -> bool:
        """Whether it is over. What is left to be done may only be known when nothing of the connector runs any more."""
        if not self._hooks.has_to_clean_up(cleanup):
            return await self._finish(cleanup)
        if cleanup.next_try is not None:
            left = (cleanup.next_try - now_ms()) / 1000
            await asyncio.sleep(min(max(0.0, left), LONGEST_RETRY_SECONDS))
        try:
            await self._settled(cleanup.connector)
        except Exception as error:
            log.warning("Whether connector %s has ended is not known, its clean-up waits: %s", cleanup.connector, error)
            await asyncio.sleep(FIRST_RETRY_SECONDS)
            return False
        await self._others_have_told(cleanup.id)
        current = self._find(cleanup.id)
        return current is None or await self._call(current)

    async def _others_have_told(self, cleanup_id: str) -> None:
        """Wait until no other worker calls a hook of this connector, and may still tell what came of it."""
        if self._peers is None:
            return
        until = time.monotonic() + self._peers.seconds + NOTE_SECONDS
        while time.monotonic() < until:
            cleanup = self._find(cleanup_id)
            if cleanup is None or not self._may_still_tell(cleanup, self._peers):
                return
            await asyncio.sleep(LOOK_SECONDS)

    def _may_still_tell(self, cleanup: Cleanup, peers: Peers) -> bool:
        other = cleanup.worker if cleanup.worker != peers.here else None
        return any(worker is not None and peers.is_there(worker) for worker in (cleanup.awaited, other))

    async def _call(self, cleanup: Cleanup) -> bool:
        """Call the hook, in a cluster with a note before it: who leads next waits for what comes of it."""
        self._calling.add(cleanup.id)
        try:
            if self._peers is not None:
                here = self._peers.here
                begun = replace(cleanup, worker=here, instead_of=cleanup.worker)
                if not await self._write(self._configs.put_cleanup(begun), finished=True):
                    return False
                noted = self._find(cleanup.id)
                if noted is None or noted.worker != here:
                    return noted is None
                cleanup = noted
            try:
                await self._hooks.clean_up(cleanup)
            except HookFailed as failed:
                return await self._write(self._configs.put_cleanup(self._failed(cleanup, failed)), finished=False)
            if not await self._finish(cleanup):
                return False
        finally:
            self._calling.discard(cleanup.id)
        log.info("cleaned up after connector %s", cleanup.connector)
        return True

    async def _finish(self, cleanup: Cleanup) -> bool:
        return await self._write(self._configs.finish_cleanup(cleanup), finished=True)

    def _failed(self, cleanup: Cleanup, failed: HookFailed) -> Cleanup:
        wait = min(FIRST_RETRY_SECONDS * 2 ** min(cleanup.tries, 16), LONGEST_RETRY_SECONDS)
        log.warning(
            "on_deleted() of connector %s failed and is tried again in %g s: %s", cleanup.connector, wait, failed
        )
        next_try = now_ms() + int(wait * 1000)
        return replace(
            cleanup,
            tries=cleanup.tries + 1,
            error=str(failed),
            next_try=next_try,
            worker=None,
            instead_of=cleanup.worker,
        )

    async def _write(self, written: Future[None], finished: bool) -> bool:
        """Wait for a write; when it cannot be made, the hook is simply called again after a while."""
        try:
            await asyncio.wrap_future(written)
        except Exception as error:
            log.warning("What became of a clean-up could not be written and it is repeated: %s", error)
            await asyncio.sleep(FIRST_RETRY_SECONDS)
            return False
        return finished

    def _leads(self) -> bool:
        return self._peers is None or self._peers.leads()

    def _find(self, cleanup_id: str) -> Cleanup | None:
        return self._configs.snapshot().cleanups.get(cleanup_id)
