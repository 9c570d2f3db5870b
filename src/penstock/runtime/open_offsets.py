"""Source offsets while a transaction is open: what is committed, and what will be with it."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.api.task import SourceOffset, SourcePartition
from penstock.storage.json_records import canonical
from penstock.storage.offset_store import OffsetStore

from .source_pump import CommittedOffsets

Offsets = Sequence[tuple[SourcePartition, SourceOffset]]


class OpenOffsets(CommittedOffsets):
    """The offset store, and what this session has committed or written since it was last read to its end."""

    def __init__(self, store: OffsetStore, connector: str) -> None:
        super().__init__(store, connector)
        self._committed: dict[str, tuple[SourcePartition, SourceOffset]] = {}
        self.pending: dict[str, tuple[SourcePartition, SourceOffset]] = {}

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        name = canonical(partition)
        found = self.pending.get(name) or self._committed.get(name)
        return super().get(partition) if found is None else found[1]

    def all(self) -> Sequence[tuple[SourcePartition, SourceOffset]]:
        stored = {canonical(partition): (partition, offset) for partition, offset in super().all()}
        return list({**stored, **self._committed, **self.pending}.values())

    def add(self, offsets: Offsets) -> None:
        """In the open transaction."""
        for partition, offset in offsets:
            if self.get(partition) != offset:
                self.pending[canonical(partition)] = (partition, offset)

    def settle(self) -> Offsets:
        """The open transaction was committed; its offsets."""
        settled = list(self.pending.values())
        self._committed.update(self.pending)
        self.pending.clear()
        return settled

    def forget(self) -> None:
        """Only the store counts."""
        self._committed.clear()
        self.pending.clear()
