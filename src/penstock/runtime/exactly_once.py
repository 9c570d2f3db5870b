"""Source tasks whose records and offsets become visible in one Kafka transaction (KIP-618).

The transaction is open in the process of one lane: the works of a batch write into it there, and a last small work in
the same lane adds the offsets and commits. When that process is lost, Kafka aborts what was open as soon as the next
session begins, and the batch is planned again from the offsets that were committed.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from penstock.api.task import SourceOffset, SourcePartition
from penstock.spark.letters import Letter
from penstock.spark.splits import Receipt, TransactionWork, Work
from penstock.storage.json_records import canonical
from penstock.storage.offset_store import OffsetStore
from penstock.topics.interface import SinkCommit, Staged, Stager, Transaction

from .frame_pumps import FrameSourcePump
from .pump import TaskFailed
from .source_pump import CommittedOffsets, SourcePump

log = logging.getLogger(__name__)

OWN_OFFSETS_TOPIC = "Source tasks may not produce to their own offsets topics when exactly-once support is enabled"

Offsets = Sequence[tuple[SourcePartition, SourceOffset]]


@dataclass(frozen=True)
class ExactlyOnce:
    """How a worker's exactly-once sources commit: into which offsets topic, and how to know all that is in it.

    ``interval_seconds`` is the least time between commits; ``None`` commits every batch.
    """

    group: str
    offsets_topic: str
    read_to_end: Callable[[], Future[None]]
    interval_seconds: float | None = None


class SessionOffsets(CommittedOffsets):
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
        self.pending.update({canonical(partition): (partition, offset) for partition, offset in offsets})

    def settle(self) -> None:
        """The open transaction was committed."""
        self._committed.update(self.pending)
        self.pending.clear()

    def forget(self) -> None:
        """Only the store counts."""
        self._committed.clear()
        self.pending.clear()


class ExactlyOncePump(SourcePump):
    """A source pump that commits with transactions."""

    exactly_once: ExactlyOnce

    def use(self, exactly_once: ExactlyOnce) -> ExactlyOncePump:
        """Call once, before ``run``."""
        self.exactly_once = exactly_once
        self._id = f"{exactly_once.group}-{self.task.connector}-{self.task.task}"
        self._session: str | None = None
        self._batch = 0
        self._began: float | None = None
        self._topics: set[str] = set()
        self._untold: list[tuple[SourcePartition, SourceOffset]] = []
        self._offsets: SessionOffsets = SessionOffsets(self.services.offsets, self.task.connector)
        return self

    async def step(self) -> bool:
        await self._ready()
        try:
            moved = await super().step()
            if self._began is not None and self._is_due():
                await self._commit_transaction()
        except BaseException:
            self._give_up()
            self._session = None
            raise
        return moved

    async def replay_works(self, letters: Sequence[Letter]) -> list[Work]:
        await self._ready()
        return await super().replay_works(letters)

    def commit_replay(self, receipts: Sequence[Receipt], mark: SinkCommit) -> Future[None]:
        async def commit() -> None:
            self._begin()
            self._topics |= {part.topic for receipt in receipts for part in receipt.staged}
            await self._commit_transaction()
            await asyncio.wrap_future(self.services.topics.commit_sink(mark))

        return asyncio.run_coroutine_threadsafe(commit(), asyncio.get_running_loop())

    def drop(self, receipts: Sequence[Receipt]) -> None:
        self._give_up()

    def _writing(self) -> tuple[Stager, Mapping[str, int]]:
        _, counts = super()._writing()
        return self._transaction(), counts

    async def _write(self, staged: Sequence[Staged], offsets: Sequence[Any], receipts: Sequence[Receipt]) -> None:
        if any(receipt.failure is not None for receipt in receipts):
            return
        topics = {part.topic for part in staged}
        if self.exactly_once.offsets_topic in topics:
            raise TaskFailed(OWN_OFFSETS_TOPIC)
        self._begin()
        self._offsets.add(offsets)
        self._topics |= topics
        if self.exactly_once.interval_seconds is None:
            await self._commit_transaction()

    async def _tell_committed(self, offsets: Offsets) -> None:
        if self._began is None:
            await super()._tell_committed(offsets)
        else:
            self._untold += offsets

    async def _park(self) -> None:
        if self._began is not None:
            try:
                await self._commit_transaction()
            except Exception as error:
                log.warning("%s: the open transaction was given up: %s", self.task, error)
                self._give_up()
        await super()._park()

    def _begin(self) -> None:
        if self._began is None:
            self._began = asyncio.get_running_loop().time()

    def _is_due(self) -> bool:
        interval = self.exactly_once.interval_seconds or 0.0
        return self._began is not None and asyncio.get_running_loop().time() - self._began >= interval

    async def _ready(self) -> None:
        """Have a session: fence who was there before us, then know every offset they committed."""
        if self._session is not None and self.services.runner.holds(self._id):
            return
        self._forget_transaction()
        self._session = None
        session = uuid.uuid4().hex
        opened = self.services.topics.transaction(self._id, session, self._batch)
        self.raise_failures(await self.dispatch_once([TransactionWork(opened, "open")]))
        await self.unless_aborted(asyncio.wrap_future(self.exactly_once.read_to_end()))
        self._offsets.forget()
        self._session = session

    async def _commit_transaction(self) -> None:
        records = self.services.offsets.records(self.task.connector, list(self._offsets.pending.values()))
        work = TransactionWork(self._transaction(), "commit", self.exactly_once.offsets_topic, records)
        try:
            with self.metrics.committing():
                self.raise_failures(await self.dispatch_once([work]))
        except BaseException:
            self._session = None
            raise
        self._offsets.settle()
        self.services.topics.written(self._topics)
        untold, self._untold = self._untold, []
        self._forget_transaction()
        if untold and self._tells_commits:
            await super()._tell_committed(untold)

    def _give_up(self) -> None:
        """Nothing of the open transaction will be seen. Best effort: beginning the next one aborts it, too."""
        if self._session is not None and self.services.runner.holds(self._id):
            self.services.runner.submit(self.spec.key, [TransactionWork(self._transaction(), "abort")], _ignore)
        self._forget_transaction()

    def _forget_transaction(self) -> None:
        self._batch += 1
        self._began = None
        self._topics = set()
        self._untold = []
        self._offsets.pending.clear()

    def _transaction(self) -> Transaction:
        dead_letters = self.spec.errors.dead_letter_topic
        return self.services.topics.transaction(self._id, self._session or "", self._batch, dead_letters)


class ExactlyOnceFramePump(ExactlyOncePump, FrameSourcePump):
    """The same for a task that gives DataFrames."""


def _ignore(receipts: Sequence[Receipt]) -> None:
    """What became of an abort does not matter."""
