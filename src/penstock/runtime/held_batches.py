"""Source tasks that end transactions themselves, where the driver makes commits: what they staged waits for the end.

Nothing of an open transaction is in a topic, so giving one up costs its staged records and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from penstock.api.task import SourceOffset, SourcePartition, SourceTask, TransactionEnd
from penstock.spark.endings import EndingLater
from penstock.spark.splits import Receipt, SourceWork, TaskSpec, Work
from penstock.topics.interface import SourceCommit, Staged

from .frame_pumps import FrameSourcePump
from .metrics import TaskMetrics
from .open_offsets import OpenOffsets
from .pump import PumpServices
from .requests import State, TaskId
from .source_pump import SourcePump, count_records


class HoldingPump(SourcePump):
    """A source pump that holds what was staged back until the source ends the transaction."""

    def __init__(
        self,
        task: TaskId,
        spec: TaskSpec,
        source: SourceTask,
        services: PumpServices,
        report: Callable[[State, str | None], None],
        metrics: TaskMetrics,
        topic_settings: Callable[[str], Mapping[str, str]],
        paused: bool = False,
    ) -> None:
        super().__init__(task, spec, source, services, report, metrics, topic_settings, paused)
        self._offsets: OpenOffsets = OpenOffsets(services.offsets, task.connector)
        self._held: list[Staged] = []
        self._untold: list[tuple[SourcePartition, SourceOffset]] = []

    @property
    def _source_ends(self) -> bool:
        return True

    async def dispatch(self, works: Sequence[Work]) -> list[Receipt]:
        return await super().dispatch(
            [replace(work, ending=EndingLater()) if isinstance(work, SourceWork) else work for work in works]
        )

    async def _write(
        self,
        staged: Sequence[Staged],
        offsets: Sequence[tuple[SourcePartition, SourceOffset]],
        receipts: Sequence[Receipt],
        end: TransactionEnd | None,
    ) -> None:
        dead = [part for receipt in receipts for part in receipt.dead_letters]
        if dead:
            await super()._write(dead, (), receipts, None)
        if any(receipt.failure is not None for receipt in receipts):
            return
        try:
            for receipt in receipts:
                for ended in receipt.ended:
                    self._hold(ended.staged, ended.progress)
                    await self._end_transaction(ended.how)
                self._hold(receipt.staged, receipt.progress)
            self._offsets.add(offsets)
            if end is not None:
                await self._end_transaction(end)
        except BaseException:
            self.drop(receipts)
            self._give_up()
            raise

    def _hold(self, staged: Sequence[Staged], progress: Sequence[tuple[SourcePartition, SourceOffset]]) -> None:
        self._held += staged
        self._offsets.add(progress)

    async def _end_transaction(self, how: TransactionEnd) -> None:
        if how is TransactionEnd.ABORT:
            self.services.topics.discard(self._held)
            self._held = []
        offsets = list(self._offsets.pending.values())
        commit = SourceCommit(self.task.connector, self._held, offsets, self._topic_settings)
        with self.metrics.committing():
            await asyncio.wrap_future(self.services.topics.commit_source(commit))
        if how is TransactionEnd.COMMIT:
            self.metrics.transactions.record(count_records(self._held))
        self._held = []
        settled = self._offsets.settle()
        if self._tells_commits:
            self._untold += settled

    async def _tell_committed(self, offsets: Sequence[tuple[SourcePartition, SourceOffset]]) -> None:
        untold, self._untold = self._untold, []
        if untold:
            await super()._tell_committed(untold)

    async def _park(self) -> None:
        self._give_up()
        await super()._park()

    async def _finish(self) -> None:
        self._give_up()
        await super()._finish()

    def _give_up(self) -> None:
        """The open transaction is read again from its beginning."""
        self.services.topics.discard(self._held)
        self._held = []
        self._offsets.forget()


class HoldingFramePump(HoldingPump, FrameSourcePump):
    """The same for a task that gives DataFrames."""
