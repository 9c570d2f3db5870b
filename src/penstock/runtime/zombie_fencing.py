"""Fencing of old source tasks before new ones start (KIP-618), and the record of how many there were."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakValueDictionary

from penstock.storage.config_snapshot import ConnectorEntry

from .requests import BadRequest, Conflict, NotFound, RequestError
from .services import Services
from .topic_homes import connection

SECONDS = 30.0
AT_ONCE = 8


class ZombieFencing:
    """The leader's side. Concurrent requests for one connector share a round. Runs on the runtime's loop.

    ``fence`` takes over transactional ids in the cluster that a connector writes to, given by client settings, so that
    whoever used them before cannot commit any more; it blocks.
    """

    def __init__(
        self, services: Services, group: str, fence: Callable[[Mapping[str, Any], Sequence[str]], None]
    ) -> None:
        self._services = services
        self._group = group
        self._fence = fence
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, name: str) -> None:
        """Fence what ran before the current task configs. ``Conflict`` when newer ones came meanwhile."""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        async with lock:
            entry = self._entry(name)
            if not entry.pending_fencing:
                return
            before = entry.fenced_tasks
            if before is not None and not (before == 1 and entry.task_count == 1):
                await self._fence_tasks(name, entry.config, before)
            if self._entry(name).committed_at != entry.committed_at:
                raise Conflict("Failed to complete zombie fencing because a new set of task configs was generated")
            await asyncio.wrap_future(self._services.configs.put_task_count(name, entry.task_count))

    async def _fence_tasks(self, name: str, config: Mapping[str, str | None], count: int) -> None:
        services = self._services
        ids = [f"{self._group}-{name}-{task}" for task in range(count)]

        def fence() -> None:
            parsed = services.parse(services.resolve(config))
            self._fence(connection(services.config.properties, parsed), ids)

        work = services.calls.run(f"fencing {name}", SECONDS, fence)
        try:
            await asyncio.wrap_future(work)
        except Exception as error:
            raise RequestError(f"Failed to perform zombie fencing: {error}") from error

    def _entry(self, name: str) -> ConnectorEntry:
        entry = self._services.configs.snapshot().entries.get(name)
        if entry is None:
            raise NotFound(f"Connector {name} not found")
        if self._services.connector_type(entry.config) == "sink":
            raise BadRequest(f"Connector {name} is not a source connector")
        return entry


def fence_transactions(settings: Mapping[str, Any], ids: Sequence[str]) -> None:
    """Initialising transactions under an id ends those of its former user."""
    from confluent_kafka import Producer

    def fence(transactional_id: str) -> None:
        Producer({**settings, "transactional.id": transactional_id}).init_transactions(SECONDS)

    with ThreadPoolExecutor(AT_ONCE, "fencing") as pool:
        list(pool.map(fence, ids))
