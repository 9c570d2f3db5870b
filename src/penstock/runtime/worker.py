"""Owns what runs in this process: a keeper for each connector."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence

from .auto_restart import AutoRestarts
from .keeper import ConnectorKeeper
from .metrics import MeasuredTask
from .pump import Pump
from .services import Services
from .sink_pump import SinkPump

log = logging.getLogger(__name__)


class Worker:
    """Keepers by connector name. Everything here runs on the runtime's loop."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._keepers: dict[str, ConnectorKeeper] = {}
        self._readers: dict[str, list[SinkPump]] = {}
        self.auto_restarts = AutoRestarts(services, self.restart)

    def keep(self, name: str) -> None:
        """The connector was created, changed or removed: bring it to what the stores say."""
        keeper = self._keeper(name)
        if keeper is not None:
            keeper.poke()

    def reconfigure(self, name: str) -> None:
        """The configuration of a connector was written, be it the same as before."""
        keeper = self._keeper(name)
        if keeper is not None:
            keeper.reconfigure()

    def remove(self, name: str) -> None:
        """The connector was deleted."""
        keeper = self._keepers.get(name)
        if keeper is not None:
            keeper.remove()

    def forget(self, name: str) -> None:
        """A removed connector has come to its end."""
        if self._services.configs.snapshot().connector_config(name) is None:
            self._keepers.pop(name, None)

    def keep_all(self) -> None:
        """What belongs here may have changed for every connector."""
        for name in {*self._services.configs.snapshot().connectors(), *self._keepers}:
            self.keep(name)

    @property
    def is_leaving(self) -> bool:
        """Whether something still runs that belongs to another worker now."""
        return any(keeper.is_leaving for keeper in self._keepers.values())

    def restart(self, name: str, connector: bool, tasks: Sequence[int]) -> asyncio.Future[None]:
        """Restart parts of a connector; the future ends when it was tried, at once where nothing of it belongs here."""
        keeper = self._keeper(name)
        if keeper is not None:
            return keeper.restart(connector, tasks)
        nothing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        nothing.set_result(None)
        return nothing

    async def settled(self, name: str) -> None:
        """Wait until the connector is what the stores say."""
        keeper = self._keepers.get(name)
        if keeper is not None:
            await keeper.settled()

    def pumps(self, name: str) -> list[Pump]:
        """What moves the records of a connector's tasks, in the order of the tasks."""
        keeper = self._keepers.get(name)
        runners = [] if keeper is None else sorted(keeper.tasks, key=lambda runner: runner.task.task)
        return [runner.pump for runner in runners if runner.pump is not None]

    def measured(self) -> list[MeasuredTask]:
        """The tasks that move records here, with their counters. May be called from any thread."""
        runners = [runner for keeper in list(self._keepers.values()) for runner in keeper.tasks]
        return [runner.pump.measured() for runner in runners if runner.pump is not None]

    def topics_changed(self, topics: set[str]) -> None:
        """Wake the sinks that read these topics."""
        for topic in topics:
            readers = self._readers.get(topic)
            if readers is None:
                readers = self._readers[topic] = [pump for pump in self._sinks() if pump.wants(topic)]
            for pump in readers:
                pump.wake()

    def tasks_changed(self) -> None:
        """Tasks came or went: who reads which topic must be found out again."""
        self._readers.clear()

    async def stop(self) -> None:
        """Stop every clean-up, task and connector, side by side."""
        self._services.cleanups.stop()
        await asyncio.gather(*(keeper.close() for keeper in list(self._keepers.values())))

    def _keeper(self, name: str) -> ConnectorKeeper | None:
        """The one of a connector that runs here, or has a part that belongs here."""
        keeper = self._keepers.get(name)
        if keeper is None:
            known = self._services.configs.snapshot().connector_config(name) is not None
            if known and self._services.ownership.has_part(name):
                keeper = self._keepers[name] = ConnectorKeeper(name, self._services)
        return keeper

    def _sinks(self) -> Iterator[SinkPump]:
        for keeper in self._keepers.values():
            for runner in keeper.tasks:
                if isinstance(runner.pump, SinkPump):
                    yield runner.pump
