"""Reading, altering and forgetting the offsets of a connector that does not run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from penstock.api.errors import ConfigError, UnsupportedOperationError
from penstock.storage.errors import StorageError
from penstock.storage.json_records import canonical
from penstock.storage.offset_store import Change
from penstock.storage.sqlite import Database
from penstock.storage.sqlite_log import SqliteLog
from penstock.topics.errors import GroupInUse, TopicError
from penstock.topics.interface import TopicHome, TopicPartition

from . import offsets as rules
from .connector_config import ConnectorConfig
from .plugins import UnknownPlugin
from .requests import BadRequest, OffsetEntry, RequestError, TimedOut
from .services import Services
from .topic_homes import connector_home, in_kafka

Raw = Mapping[str, str | None]


@dataclass(frozen=True)
class AgreedChange:
    """Offsets to be written that the connector has agreed to; ``checked`` tells whether it really looked at them.

    ``begin`` starts the write.
    """

    checked: bool
    begin: Callable[[], Future[None]]
    explain: Callable[[Exception], Exception] = lambda error: error

    async def write(self) -> bool:
        """Write them; whether the connector has checked them."""
        try:
            await asyncio.wrap_future(self.begin())
        except Exception as error:
            explained = self.explain(error)
            raise explained from (None if explained is error else error)
        return self.checked


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

    def database(self, config: Raw) -> Database | None:
        """The database that keeps the connector's offsets next to all else; ``None`` when they are in Kafka."""
        if self._is_sink(config) and in_kafka(self._services.config.properties):
            return None
        log = self._services.offsets.log
        return log.database if isinstance(log, SqliteLog) else None

    async def write(self, name: str, config: Raw, entries: Sequence[OffsetEntry]) -> bool:
        """Alter offsets; whether the connector has checked them."""
        return await (await self.altering(name, config, entries)).write()

    async def altering(self, name: str, config: Raw, entries: Sequence[OffsetEntry]) -> AgreedChange:
        """Check them, and ask the connector whether offsets may be altered."""
        if self._is_sink(config):
            return await self._altering_positions(name, config, await self._checked(name, config, entries))
        return await self._altering_source(name, config, rules.source_changes(entries))

    async def replacing(self, name: str, config: Raw, entries: Sequence[OffsetEntry]) -> AgreedChange:
        """The same for the only offsets that there shall be: what is there else is forgotten."""
        if self._is_sink(config):
            positions = await self._checked(name, config, entries)
            gone = dict.fromkeys(await self._positions(config))
            return await self._altering_positions(name, config, {**gone, **positions})
        changes = rules.source_changes(entries)
        kept = {canonical(partition) for partition, _ in changes}
        old = [partition for partition, _ in self._services.offsets.all(name)]
        left = [(partition, None) for partition in old if canonical(partition) not in kept]
        return await self._altering_source(name, config, [*left, *changes])

    async def open(self, config: Raw) -> None:
        """Know the offsets topic of a connector's own and its login, be the connector new."""
        services = self._services
        if not self._is_sink(config):
            with _refused():
                await services.user_code("opening offsets", lambda: services.open_offsets(self._parsed(config)))

    async def _checked(
        self, name: str, config: Raw, entries: Sequence[OffsetEntry]
    ) -> Mapping[TopicPartition, int | None]:
        positions = rules.sink_changes(name, entries)
        rules.require_partitions(name, positions, await self._topics(config))
        return positions

    async def _altering_positions(
        self, name: str, config: Raw, positions: Mapping[TopicPartition, int | None]
    ) -> AgreedChange:
        return self._positions_change(name, config, positions, await self._ask(name, config, positions))

    async def _altering_source(self, name: str, config: Raw, changes: Sequence[Change]) -> AgreedChange:
        checked = await self._ask(name, config, changes)
        await self.open(config)
        return AgreedChange(checked, lambda: self._services.offsets.change(name, changes))

    async def forget(self, name: str, config: Raw) -> bool:
        """Reset all offsets; whether the connector has checked that."""
        return await (await self.forgetting(name, config)).write()

    async def forgetting(self, name: str, config: Raw) -> AgreedChange:
        """Ask the connector whether all its offsets may be reset."""
        changes: Any
        if self._is_sink(config):
            changes = dict.fromkeys(await self._positions_to_reset(name, config))
        else:
            changes = [(partition, None) for partition, _ in self._services.offsets.all(name)]
        checked = await self._ask(name, config, changes)
        await self.open(config)
        return self.forgotten(name, config, checked)

    def forgotten(self, name: str, config: Raw, checked: bool = True) -> AgreedChange:
        """The reset of all offsets of a connector that has agreed to it before."""
        if not self._is_sink(config):
            return AgreedChange(checked, lambda: self._services.offsets.reset(name))
        home, group = self._home(config)
        return AgreedChange(checked, lambda: home.delete_group(group), lambda error: _sink_error(name, "reset", error))

    async def put_back(self, name: str, config: Raw, before: Sequence[OffsetEntry]) -> None:
        """Undo a change without asking the connector: what was not there before goes, the rest is as it was."""
        if self._is_sink(config):
            old = rules.sink_changes(name, before)
            changes = {**dict.fromkeys(await self._positions(config)), **old}
            await self._positions_change(name, config, changes).write()
        else:
            with contextlib.suppress(BadRequest, UnknownPlugin):
                await self.open(config)
            gone = [(partition, None) for partition, _ in self._services.offsets.all(name)]
            await asyncio.wrap_future(self._services.offsets.change(name, [*gone, *rules.source_changes(before)]))

    def _positions_change(
        self, name: str, config: Raw, positions: Mapping[TopicPartition, int | None], checked: bool = False
    ) -> AgreedChange:
        home, group = self._home(config)
        return AgreedChange(
            checked, lambda: home.alter_positions(group, positions), lambda error: _sink_error(name, "alter", error)
        )

    async def _topics(self, config: Raw) -> Mapping[str, int]:
        home, _ = self._home(config)
        return await self._services.user_code("looking for partitions", home.topics_now)

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

    def _home(self, config: Raw) -> tuple[TopicHome, str]:
        """The topics as the connector sees them, and its group."""
        services = self._services
        worker, home = services.config.properties, services.topics
        if in_kafka(worker):
            with _refused():
                home = connector_home(home, worker, self._parsed(config))
        return home.waiting(), services.group(config)

    def _parsed(self, config: Raw) -> ConnectorConfig:
        return self._services.parse(self._services.resolve(config))

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


@contextlib.contextmanager
def _refused() -> Iterator[None]:
    """Client settings that nobody can use are the caller's: their error names the key."""
    try:
        yield
    except ConfigError as error:
        raise BadRequest(str(error)) from error


def _sink_error(name: str, verb: str, error: Exception) -> Exception:
    """Kafka Connect's texts for a group of a sink that could not be changed. ``verb``: alter or reset."""
    if isinstance(error, GroupInUse):
        return RequestError(
            f"Failed to {verb} consumer group offsets for connector {name} either because its tasks haven't "
            "stopped completely yet or the connector was resumed before the request to "
            f"{verb} its offsets could be successfully completed. If the connector is in a stopped state, this "
            "operation can be safely retried. If it doesn't eventually succeed, the Connect cluster may need to be "
            "restarted to get rid of the zombie sink tasks."
        )
    if isinstance(error, TopicError | StorageError):
        sink = "sink " if verb == "reset" else ""
        return RequestError(f"Failed to {verb} consumer group offsets for {sink}connector {name}: {error}")
    return error
