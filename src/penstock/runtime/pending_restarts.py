"""Restarts of one connector that somebody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from .requests import RequestError


class PendingRestarts:
    """Asked for, then taken (they are being tried), then over. What is asked for meanwhile comes after. On the loop."""

    def __init__(self, connector: str) -> None:
        self._connector = connector
        self._instance: list[asyncio.Future[None]] = []
        self._tasks: dict[int, list[asyncio.Future[None]]] = {}
        self._tried: list[asyncio.Future[None]] = []

    def ask(self, connector: bool, tasks: Sequence[int]) -> asyncio.Future[None]:
        """Restart the instance and these tasks; the future ends when it was tried."""
        waits: list[asyncio.Future[None]] = []
        loop = asyncio.get_running_loop()
        if connector:
            waits.append(loop.create_future())
            self._instance.append(waits[-1])
        for task in tasks:
            waits.append(loop.create_future())
            self._tasks.setdefault(task, []).append(waits[-1])
        return asyncio.ensure_future(_all(waits))

    @property
    def of_instance(self) -> bool:
        """Whether somebody wants the instance restarted."""
        return bool(self._instance)

    def take_instance(self) -> bool:
        """The instance is being restarted; whether anybody wanted it."""
        taken, self._instance = self._instance, []
        self._tried += taken
        return bool(taken)

    def take_tasks(self) -> list[int]:
        """These tasks are being restarted."""
        taken, self._tasks = self._tasks, {}
        self._tried += [waiter for waiters in taken.values() for waiter in waiters]
        return sorted(taken)

    def fail(self, error: Exception) -> None:
        """What is being tried did not succeed."""
        for waiter in self._tried:
            if not waiter.done():
                waiter.set_exception(RequestError(f"Failed to start connector: {self._connector}: {error}"))

    def release(self) -> None:
        """What was being tried is over."""
        tried, self._tried = self._tried, []
        for waiter in tried:
            if not waiter.done():
                waiter.set_result(None)


async def _all(waits: Sequence[asyncio.Future[None]]) -> None:
    results = await asyncio.gather(*waits, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
