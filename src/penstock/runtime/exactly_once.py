"""Source tasks whose records and offsets become visible in one Kafka transaction (KIP-618).

The transaction is open in the process of one lane: the works of a batch write into it there, and a last small work in
the same lane adds the offsets and commits. Where the source itself says that a transaction ends, amid what a work
reads, the work does that. When that process is lost, Kafka aborts what was open as soon as the next session begins, and
the batch is planned again from the offsets that were committed.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from enum import Enum

from penstock.api.task import SourceOffset, SourcePartition, TransactionEnd
from penstock.spark.endings import OWN_OFFSETS_TOPIC, EndingInLane
from penstock.spark.letters import Letter
from penstock.spark.splits import Receipt, SourceWork, TransactionWork, Work
from penstock.topics.errors import FENCED
from penstock.topics.interface import SinkCommit, Staged, Stager, Transaction

from .frame_pumps import FrameSourcePump
from .loose_end import LooseEnd
from .open_offsets import OpenOffsets
from .pump import TaskFailed
from .source_pump import SourcePump, count_records

log = logging.getLogger(__name__)

_EXPIRED = (
    "org.apache.kafka.connect.errors.ConnectException: The task {} was unable to finish writing records to Kafka "
    "before its producer transaction expired. It may be necessary to reconfigure this connector in order for it to run "
    "healthily with exactly-once support. Options for this include: tune the connector's producer configuration for "
    "higher throughput, increase the transaction timeout for the connector's producers, decrease the offset commit "
    "interval (if using interval-based transaction boundaries), or use the 'poll' transaction boundary (if the "
    "connector is not already configured to use it)."
)
"""Kafka Connect's text."""

LOOSE_END_SHARE = 0.9
"""Of the time that a task has to end: so much may pass until nothing is open any more."""

Offsets = Sequence[tuple[SourcePartition, SourceOffset]]


class Boundary(Enum):
    """``transaction.boundary``: what ends a transaction."""

    POLL = "poll"
    INTERVAL = "interval"
    CONNECTOR = "connector"


@dataclass(frozen=True)
class ExactlyOnce:
    """How a worker's exactly-once sources commit: into which offsets topic, and how to know all that is in it.

    ``interval_seconds`` is how long transactions collect batches where an interval is their boundary, and
    ``timeout_seconds`` how long Kafka lets one be open.
    """

    group: str
    offsets_topic: str
    read_to_end: Callable[[], Future[None]]
    boundary: Boundary = Boundary.POLL
    interval_seconds: float = 0.0
    timeout_seconds: float = 60.0


class ExactlyOncePump(SourcePump):
    """A source pump that commits with transactions."""

    exactly_once: ExactlyOnce

    def use(self, exactly_once: ExactlyOnce) -> ExactlyOncePump:
        """Call once, before ``run``."""
        self.exactly_once = exactly_once
        self._id = f"{exactly_once.group}-{self.task.connector}-{self.task.task}"
        self._session: str | None = None
        owned = self.services.topics.require_ownership
        self._loose_end = LooseEnd(self.services.runner, self.spec.key, self._writer, owned)
        self._must_end_by: float | None = None
        self._has_ended = False
        self._batch = 0
        self._began: float | None = None
        self._interval_began = self._now()
        self._topics: set[str] = set()
        self._written = 0
        self._untold: list[tuple[SourcePartition, SourceOffset]] = []
        self._offsets: OpenOffsets = OpenOffsets(self.services.offsets, self.task.connector)
        return self

    @property
    def _source_ends(self) -> bool:
        return self.exactly_once.boundary is Boundary.CONNECTOR

    async def step(self) -> bool:
        await self._ready()
        try:
            moved = await super().step()
            if self._is_due():
                self._interval_began = self._now()
                if self._began is not None:
                    await self._commit_transaction()
                    await self._tell_committed(())
        except BaseException as error:
            expired = _is_fenced(error) and self._has_expired()
            if _is_fenced(error):
                self._loose_end.is_over()
            self._give_up()
            self._session = None
            if expired:
                raise TaskFailed(f"{_EXPIRED.format(self.task)}\nCaused by: {error}") from error
            raise
        return moved

    async def dispatch(self, works: Sequence[Work]) -> list[Receipt]:
        """As of every source. Works that may end transactions run one by one: each has to know what was open."""
        if not self._source_ends:
            return await super().dispatch(works)
        receipts: list[Receipt] = []
        for work in works:
            assert isinstance(work, SourceWork)
            self._loose_end.works_write()
            receipts += await super().dispatch([replace(work, ending=self._ending())])
            if receipts[-1].failure is not None:
                break
            self._take(receipts[-1])
        return receipts

    def _ending(self) -> EndingInLane:
        keys = self.services.offsets.keys(self.task.connector)
        return EndingInLane(self.exactly_once.offsets_topic, keys, list(self._offsets.pending.values()))

    def _take(self, receipt: Receipt) -> None:
        """What a work has ended is done; the rest is in the transaction that the next one writes to."""
        for ended in receipt.ended:
            self._offsets.add(ended.progress)
            self._topics |= {part.topic for part in ended.staged}
            self._written += count_records(ended.staged)
            self.metrics.commits += 1
            self._settle(ended.how)
        if receipt.staged:
            self._loose_end.works_write()
        self._written += count_records(receipt.staged)
        self._offsets.add(receipt.progress)

    async def replay_works(self, letters: Sequence[Letter]) -> list[Work]:
        await self._ready()
        if self._source_ends and self._began is not None:
            self._give_up()
        return await super().replay_works(letters)

    def commit_replay(self, receipts: Sequence[Receipt], mark: SinkCommit) -> Future[None]:
        async def commit() -> None:
            self._begin()
            self._topics |= {part.topic for receipt in receipts for part in receipt.staged}
            self._count(receipts)
            await self._commit_transaction()
            await asyncio.wrap_future(self.services.topics.commit_sink(mark))

        return asyncio.run_coroutine_threadsafe(commit(), asyncio.get_running_loop())

    def drop(self, receipts: Sequence[Receipt]) -> None:
        if not self._has_ended:
            self._give_up()

    def stop(self) -> None:
        self._must_end_by = self._now() + self.services.stop_seconds
        super().stop()

    def _writing(self) -> tuple[Stager, Mapping[str, int]]:
        _, counts = super()._writing()
        self._loose_end.works_write()
        return self._transaction(), counts

    async def _write(
        self, staged: Sequence[Staged], offsets: Offsets, receipts: Sequence[Receipt], end: TransactionEnd | None
    ) -> None:
        if any(receipt.failure is not None for receipt in receipts):
            return
        topics = {part.topic for receipt in receipts for part in receipt.staged}
        if self.exactly_once.offsets_topic in topics:
            raise TaskFailed(OWN_OFFSETS_TOPIC)
        self._offsets.add(offsets)
        self._topics |= topics
        self._count(receipts)
        if topics or self._offsets.pending:
            self._begin()
        if self.exactly_once.boundary is Boundary.POLL:
            await self._commit_transaction()
        elif self._source_ends and end is not None:
            await self._end_transaction(end)

    def _count(self, receipts: Sequence[Receipt]) -> None:
        """Records of the open transaction; where its source ends it, they were counted when they were taken."""
        if not self._source_ends:
            self._written += sum(count_records(receipt.staged) for receipt in receipts)

    async def _tell_committed(self, offsets: Offsets) -> None:
        untold, self._untold = self._untold, []
        if untold:
            await super()._tell_committed(untold)

    async def _park(self) -> None:
        if self._began is not None:
            await self._close_for_pause()
        await super()._park()
        self._interval_began = self._now()

    async def _close_for_pause(self) -> None:
        """A transaction must not be open for long. What only its source may end is given up, to be read again."""
        if self._source_ends:
            self._give_up()
            return
        try:
            await self._commit_transaction()
            await self._tell_committed(())
        except Exception as error:
            log.warning("%s: the open transaction was given up: %s", self.task, error)
            self._give_up()

    async def _finish(self) -> None:
        if self._session is not None:
            self._give_up()
        await asyncio.gather(self._leave_nothing_open(), super()._finish())
        self._has_ended = True

    async def _leave_nothing_open(self) -> None:
        """Others wait for what is open; but a task that was given up must not touch it any more."""
        if not self._loose_end.may_be_open:
            return
        seconds = self.services.stop_seconds if self._must_end_by is None else self._must_end_by - self._now()
        try:
            await asyncio.wait_for(self._loose_end.end(), LOOSE_END_SHARE * seconds)
        except (Exception, asyncio.CancelledError) as error:
            reason = "there was no answer in time" if isinstance(error, asyncio.TimeoutError) else str(error)
            timeout = self.exactly_once.timeout_seconds
            log.warning("%s: a transaction may be open for %g s. It could not be ended: %s", self.task, timeout, reason)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _begin(self) -> None:
        if self._began is None:
            self._began = self._now()
            self.services.runner.hold(self._id, True)

    def _is_due(self) -> bool:
        passed = self._now() - self._interval_began
        return self.exactly_once.boundary is Boundary.INTERVAL and passed >= self.exactly_once.interval_seconds

    def _has_expired(self) -> bool:
        """Whether Kafka may have ended the open transaction because it took too long."""
        return self._began is not None and self._now() - self._began >= self.exactly_once.timeout_seconds

    async def _ready(self) -> None:
        """Have a session: fence who was there before us, then know every offset they committed."""
        if self._session is not None and self.services.runner.holds(self._id):
            return
        self._forget_transaction()
        self._session = None
        session = uuid.uuid4().hex
        self.services.topics.require_ownership()
        self.raise_failures(await self.dispatch_once([TransactionWork(self._writer(session), "open")]))
        self._loose_end.is_over()
        self.services.topics.require_ownership()
        await self.unless_aborted(asyncio.wrap_future(self.exactly_once.read_to_end()))
        self._offsets.forget()
        self._session = session

    async def _end_transaction(self, how: TransactionEnd) -> None:
        if how is TransactionEnd.ABORT:
            self.raise_failures(await self.dispatch_once([TransactionWork(self._transaction(), "abort")]))
        await self._commit_transaction(how)

    async def _commit_transaction(self, how: TransactionEnd = TransactionEnd.COMMIT) -> None:
        records = self.services.offsets.records(self.task.connector, list(self._offsets.pending.values()))
        work = TransactionWork(self._transaction(), "commit", self.exactly_once.offsets_topic, records)
        try:
            with self.metrics.committing():
                self.raise_failures(await self.dispatch_once([work]))
        except BaseException as error:
            if _is_fenced(error):
                self._loose_end.is_over()
            self._session = None
            raise
        self._settle(how)
        self._batch += 1

    def _settle(self, how: TransactionEnd) -> None:
        """The open transaction has ended, with its offsets committed."""
        settled = self._offsets.settle()
        if self._tells_commits:
            self._untold += settled
        if how is TransactionEnd.COMMIT:
            self.metrics.transactions.record(self._written)
            self.services.topics.written(self._topics)
        else:
            log.info("%s: its source has aborted a transaction", self.task)
        self._loose_end.is_over()
        self._nothing_open()

    def _give_up(self) -> None:
        """Nothing of the open transaction will be seen. Should the abort fail, the next session aborts it, too."""
        if self._session is not None:
            self._loose_end.abort(self._session)
        self._forget_transaction()

    def _forget_transaction(self) -> None:
        self._batch += 1
        self._nothing_open()

    def _nothing_open(self) -> None:
        self._began = None
        self._topics = set()
        self._written = 0
        self._offsets.pending.clear()
        self.services.runner.hold(self._id, False)

    def _writer(self, session: str) -> Transaction:
        return self.services.topics.transaction(self._id, session, self._batch)

    def _transaction(self) -> Transaction:
        dead_letters = self.spec.errors.dead_letter_topic
        return self.services.topics.transaction(self._id, self._session or "", self._batch, dead_letters)


class ExactlyOnceFramePump(ExactlyOncePump, FrameSourcePump):
    """The same for a task that gives DataFrames."""


def _is_fenced(error: BaseException) -> bool:
    """Whether another has the transactional id by now."""
    return isinstance(error, TaskFailed) and FENCED in str(error)
