"""What the leader of a cluster sees to besides requests: the session key, statuses, clean-ups."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future

from .cluster_member import ClusterMember
from .services import Services
from .session_keys import SigningSettings, is_due, new_key

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0


class Leadership:
    """One loop that does what is due after each round of the group, and every few seconds, on the runtime's loop."""

    def __init__(
        self,
        services: Services,
        member: ClusterMember,
        signing: SigningSettings,
        read_to_end: Callable[[], Future[None]],
        settle_unfinished: Callable[[], Awaitable[None]],
    ) -> None:
        self._services = services
        self._member = member
        self._signing = signing
        self._read_to_end = read_to_end
        self._settle_unfinished = settle_unfinished
        self._round = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._member.on_round = self._round.set
        self._task = asyncio.get_running_loop().create_task(self._work(), name="leadership")

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._round.wait(), LOOK_SECONDS)
            self._round.clear()
            try:
                await self._look()
            except Exception as error:
                log.warning("What the leader has to do could not be done and is tried again: %s", error)

    async def _look(self) -> None:
        if not self._member.is_leader:
            self._services.cleanups.rest()
            return
        shown = self._services.statuses.shown()
        await asyncio.wrap_future(self._read_to_end())
        snapshot = self._services.configs.snapshot()
        counts = {name: len(snapshot.task_configs(name)) for name in snapshot.connectors()}
        self._services.statuses.forget_gone(shown, counts)
        if is_due(snapshot.session_key, self._signing):
            await asyncio.wrap_future(self._services.configs.put_session_key(new_key(self._signing)))
        self._services.cleanups.look()
        await self._settle_unfinished()
