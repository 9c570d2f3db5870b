"""Reading, altering and forgetting the offsets of a connector that does not run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from penstock.api.errors import UnsupportedOperationError
from penstock.storage.errors import StorageError
from penstock.topics.errors import GroupInUse, TopicError
from penstock.topics.interface import TopicHome, TopicPartition

from . import offsets as rules
from .requests import BadRequest, OffsetEntry, RequestError, TimedOut
from .services import Services
from .topic_homes import connector_home, in_kafka

Raw = Mapping[str, str | None]


class OffsetChanges:
    """One flow for sources and sinks. The connector's own ``alter_offsets`` is asked before anything is written.

    Callers have made sure that nothing of the connector runs.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    async def current(self, name: str, config: Raw) -> list[OffsetEntry]:
        """The committed offsets."""
        if self._is_sink(config):
            return rules.sink_entries(await self._positions(config))
        return [OffsetEntry(partition, offset) for partition, offset in self._services.offsets.all(name)]

    async def write(self, name: str, config: Raw, entries: Sequence[OffsetEntry]) -> bool:
        """Alter offsets; whether the connector has checked them."""
        if self._is_sink(config):
            positions = rules.sink_changes(name, entries)
            checked = await self._ask(name, config, positions)
            await self._change(name, config, "alter", lambda home, group: home.alter_positions(group, positions))
        else:
            changes = rules.source_changes(entries)
            checked = await self._ask(name, config, changes)
            await asyncio.wrap_future(self._services.offsets.put(name, changes))
        return checked

    async def forget(self, name: str, config: Raw) -> bool:
        """Reset all offsets; whether the connector has checked that."""
        if self._is_sink(config):
            known: dict[TopicPartition, int | None] = dict.fromkeys(await self._positions_to_reset(name, config))
            checked = await self._ask(name, config, known)
            await self._change(name, config, "reset", lambda home, group: home.delete_group(group))
        else:
            changes = [(partition, None) for partition, _ in self._services.offsets.all(name)]
            checked = await self._ask(name, config, changes)
            if changes:
                await asyncio.wrap_future(self._services.offsets.put(name, changes))
        return checked

    async def put_back(self, name: str, config: Raw, before: Sequence[OffsetEntry]) -> None:
        """Undo a change without asking the connector: what was not there before goes, the rest is as it was."""
        if self._is_sink(config):
            old = rules.sink_changes(name, before)
            changes = {**dict.fromkeys(await self._positions(config)), **old}
            await self._change(name, config, "alter", lambda home, group: home.alter_positions(group, changes))
        else:
            gone = [(partition, None) for partition, _ in self._services.offsets.all(name)]
            await asyncio.wrap_future(self._services.offsets.put(name, [*gone, *rules.source_changes(before)]))

    async def _positions(self, config: Raw) -> Mapping[TopicPartition, int]:
        home, group = self._home(config)
        return await self._services.user_code("reading offsets", lambda: home.positions(group))

    async def _positions_to_reset(self, name: str, config: Raw) -> Mapping[TopicPartition, int]:
        try:
            return await self._positions(config)
        except (TopicError, StorageError) as error:
            raise RequestError(
                f"Failed to list offsets prior to resetting offsets for sink connector {name}: {error}"
            ) from error

    async def _change(
        self, name: str, config: Raw, verb: str, change: Callable[[TopicHome, str], Future[None]]
    ) -> None:
        """Change the group of a sink, with Kafka Connect's texts where that fails. ``verb``: alter or reset."""
        try:
            await asyncio.wrap_future(change(*self._home(config)))
        except GroupInUse as error:
            raise RequestError(
                f"Failed to {verb} consumer group offsets for connector {name} either because its tasks haven't "
                "stopped completely yet or the connector was resumed before the request to "
                f"{verb} its offsets could be successfully completed. If the connector is in a stopped state, this "
                "operation can be safely retried. If it doesn't eventually succeed, the Connect cluster may need to be "
                "restarted to get rid of the zombie sink tasks."
            ) from error
        except (TopicError, StorageError) as error:
            sink = "sink " if verb == "reset" else ""
            raise RequestError(
                f"Failed to {verb} consumer group offsets for {sink}connector {name}: {error}"
            ) from error

    def _home(self, config: Raw) -> tuple[TopicHome, str]:
        """The topics as the connector sees them, and its group."""
        services = self._services
        worker, home = services.config.properties, services.topics
        if in_kafka(worker):
            home = connector_home(home, worker, services.parse(services.resolve(config)))
        return home.waiting(), services.group(config)

    async def _ask(self, name: str, config: Raw, changes: Any) -> bool:
        kind = self._services.connector_type(config)
        try:
            asked = self._services.user_code("alter_offsets()", lambda: self._services.alter_offsets(config, changes))
            return bool(await asked)
        except UnsupportedOperationError:
            raise BadRequest(
                f"Failed to modify offsets for connector {name} because it doesn't support external modification of "
                "offsets"
            ) from None
        except TimedOut:
            raise TimedOut(f"Timed out while calling the 'alterOffsets' method for {kind} connector {name}") from None
        except RequestError:
            raise
        except Exception as error:
            raise BadRequest(f"Failed to modify offsets for {kind} connector {name}: {error}") from error

    def _is_sink(self, config: Raw) -> bool:
        return self._services.connector_type(config) == "sink"
