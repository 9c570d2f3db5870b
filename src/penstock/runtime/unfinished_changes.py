"""Changes to a connector and its offsets that a crash has cut in two: taken back, or brought to their end."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from penstock.storage.unfinished_records import Step, Unfinished

from .offset_changes import OffsetChanges
from .requests import Conflict, OffsetEntry, TargetState
from .services import Services

if TYPE_CHECKING:
    from .connector_changes import Effects

log = logging.getLogger(__name__)


class UnfinishedChanges:
    """Looks at the notes in the config log. Runs on the runtime's loop; callers hold the connector's lock."""

    def __init__(self, services: Services, effects: Effects, offsets: OffsetChanges) -> None:
        self._services = services
        self._effects = effects
        self._offsets = offsets

    def names(self) -> list[str]:
        """The connectors that have a note."""
        return list(self._services.configs.snapshot().unfinished)

    def require(self, name: str) -> None:
        """Raises ``Conflict`` when the note is gone: another worker became the leader and has taken the change back."""
        if name not in self._services.configs.snapshot().unfinished:
            raise Conflict(f"Connector {name} was not created: another worker leads now. Please try again.")

    def is_deleting(self, name: str) -> bool:
        """Whether a deletion has got so far that it can only be brought to its end."""
        snapshot = self._services.configs.snapshot()
        change = snapshot.unfinished.get(name)
        return change is not None and change.step is Step.DELETING and name in snapshot

    def require_not_deleting(self, name: str) -> None:
        """Raises ``Conflict``."""
        if self.is_deleting(name):
            raise Conflict(f"Connector {name} is being deleted, and has no offsets. If that failed, delete it again.")

    async def settle(self, name: str) -> None:
        """See to it that a connector and its offsets fit together again. Raises when the stores cannot be written."""
        snapshot = self._services.configs.snapshot()
        change = snapshot.unfinished.get(name)
        if change is None:
            return
        there = name in snapshot
        if change.step is Step.CREATING and not there:
            await self._forget_creation(change)
        elif change.step is Step.STOPPING and there:
            await self.put_back_state(change)
        elif change.step is Step.DELETING and there:
            await self._complete_deletion(change)
        else:
            await asyncio.wrap_future(self._services.configs.finish_change(name))

    async def put_back_state(self, change: Unfinished) -> None:
        """A connector that was stopped to be deleted is what it was before."""
        log.info("connector %s was not deleted: it is %s as before", change.connector, change.state.value)
        await asyncio.wrap_future(self._services.configs.finish_change(change.connector, change.state))
        self._effects.keep(change.connector)

    async def _forget_creation(self, change: Unfinished) -> None:
        name = change.connector
        log.info("connector %s was not created: its offsets are as before", name)
        before = [OffsetEntry(partition, offset) for partition, offset in change.offsets]
        await self._offsets.put_back(name, change.config, before)
        await asyncio.wrap_future(self._services.configs.finish_change(name))

    async def _complete_deletion(self, change: Unfinished) -> None:
        name = change.connector
        log.info("connector %s is deleted with its offsets, as was asked for before", name)
        if self._services.configs.snapshot().target_state(name) is not TargetState.STOPPED:
            await asyncio.wrap_future(self._services.configs.stop_connector(name))
            self._effects.keep(name)
        await self._effects.settled(name)
        await self._offsets.forgotten(name, change.config).write()
        await asyncio.wrap_future(self._services.hooks.remove(name))
        self._effects.remove(name)
        self._services.cleanups.look()
