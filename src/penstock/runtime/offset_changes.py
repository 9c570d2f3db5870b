"""Reading, altering and forgetting the offsets of a connector that does not run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.errors import UnsupportedOperationError
from penstock.topics.interface import TopicPartition

from . import offsets as rules
from .requests import BadRequest, OffsetEntry, RequestError, TimedOut
from .services import Services

Raw = Mapping[str, str | None]


class OffsetChanges:
    """One flow for sources and sinks. The connector's own ``alter_offsets`` is asked before anything is written.

    Callers have made sure that nothing of the connector runs.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    def read(self, name: str, config: Raw) -> list[OffsetEntry]:
        """The committed offsets."""
        if self._is_sink(config):
            return rules.sink_entries(self._services.topics.positions(self._services.group(config)))
        return [OffsetEntry(partition, offset) for partition, offset in self._services.offsets.all(name)]

    async def write(self, name: str, config: Raw, entries: Sequence[OffsetEntry]) -> bool:
        """Alter offsets; whether the connector has checked them."""
        if self._is_sink(config):
            positions = rules.sink_changes(name, entries)
            checked = await self._ask(name, config, positions)
            group = self._services.group(config)
            await asyncio.wrap_future(self._services.topics.alter_positions(group, positions))
        else:
            changes = rules.source_changes(entries)
            checked = await self._ask(name, config, changes)
            await asyncio.wrap_future(self._services.offsets.put(name, changes))
        return checked

    async def forget(self, name: str, config: Raw) -> bool:
        """Reset all offsets; whether the connector has checked that."""
        if self._is_sink(config):
            group = self._services.group(config)
            known: dict[TopicPartition, int | None] = dict.fromkeys(self._services.topics.positions(group))
            checked = await self._ask(name, config, known)
            await asyncio.wrap_future(self._services.topics.delete_group(group))
        else:
            changes = [(partition, None) for partition, _ in self._services.offsets.all(name)]
            checked = await self._ask(name, config, changes)
            if changes:
                await asyncio.wrap_future(self._services.offsets.put(name, changes))
        return checked

    async def put_back(self, name: str, config: Raw, before: Sequence[OffsetEntry]) -> None:
        """Undo a change without asking the connector: what was not there before goes, the rest is as it was."""
        if self._is_sink(config):
            group = self._services.group(config)
            old = rules.sink_changes(name, before)
            changes = {**dict.fromkeys(self._services.topics.positions(group)), **old}
            await asyncio.wrap_future(self._services.topics.alter_positions(group, changes))
        else:
            gone = [(partition, None) for partition, _ in self._services.offsets.all(name)]
            await asyncio.wrap_future(self._services.offsets.put(name, [*gone, *rules.source_changes(before)]))

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
