"""Offsets of sources whose topic was deleted: written again from what the worker remembers (KIP-875's motivation)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from penstock.api.errors import ConfigError
from penstock.storage.errors import PassingStorageError, StorageError

from .connector_changes import ConnectorChanges
from .connector_offsets import ConnectorOffsets
from .requests import BadRequest, Conflict, OffsetEntry, RestoredOffsets
from .services import Services

OF_A_SINK = (
    "Connector {name} is a sink: its offsets are those of a consumer group, and no worker remembers them. PATCH "
    "offsets sets them while it is stopped."
)
MADE_AGAIN = "If somebody has made the topic again since, set its 'cleanup.policy' to 'compact' and restore again."


class OffsetRestoring:
    """Runs on the loop of the leader, which remembers what any worker has committed before the topic was deleted."""

    def __init__(self, services: Services, changes: ConnectorChanges, offsets: ConnectorOffsets) -> None:
        self._services = services
        self._changes = changes
        self._offsets = offsets

    async def foresee(self, name: str, force: bool) -> RestoredOffsets:
        """What :meth:`restore` would do with the connector as it is, be it running."""
        await self._open(name)
        deleted = await self._services.user_code("looking for offsets topics", lambda: self._offsets.lost_topics(name))
        if not deleted:
            await self._offsets.know(name, self._services)
        all_of_it = force or bool(deleted)
        return self._told(name, deleted, self._entries(name, all_of_it), "Would write")

    async def restore(self, name: str, force: bool) -> RestoredOffsets:
        """Have its topics made again, and write what is remembered and not in them; with ``force`` all that is known.

        The connector must be stopped. Raises ``Conflict`` for topics that cannot be made or used as they are; nothing
        is written then.
        """
        async with self._changes.lock(name):
            self._changes.require_stopped(name)
            await self._open(name)
            deleted = await self._renewed(name)
            await self._changes.stopped(name)
            entries = self._entries(name, force)
            if entries:
                changes = [(entry.partition or {}, entry.offset) for entry in entries]
                await asyncio.wrap_future(self._offsets.change(name, changes))
        return self._told(name, deleted, entries, "Wrote")

    async def _open(self, name: str) -> None:
        services, config = self._services, self._changes.found(name)
        if services.connector_type(config) == "sink":
            raise BadRequest(OF_A_SINK.format(name=name))
        try:
            parsed = services.parse(services.resolve(config))
            await services.user_code("opening offsets", lambda: self._offsets.open(parsed))
        except ConfigError as error:
            raise BadRequest(str(error)) from error

    async def _renewed(self, name: str) -> Sequence[str]:
        try:
            return await self._services.user_code("making topics again", lambda: self._offsets.renew_lost(name))
        except PassingStorageError:
            raise
        except StorageError as error:
            raise Conflict(f"No offsets of {name} were restored: {error} {MADE_AGAIN}") from error

    def _entries(self, name: str, all_of_it: bool) -> Sequence[OffsetEntry]:
        found = self._offsets.all(name) if all_of_it else self._offsets.missing(name)
        return [OffsetEntry(partition, offset) for partition, offset in found]

    def _told(self, name: str, deleted: Sequence[str], entries: Sequence[OffsetEntry], verb: str) -> RestoredOffsets:
        topics = self._offsets.topics(name)
        where = " and ".join(topics)
        if entries:
            text = f"{verb} {len(entries)} offset{'s' * (len(entries) != 1)} of {name} into {where}"
        elif deleted:
            text = f"No offsets of {name} are remembered: there is nothing to write into {where}"
        else:
            text = f"No offsets of {name} were lost: all that are known are in {where}"
        return RestoredOffsets(deleted, topics, entries, text)
