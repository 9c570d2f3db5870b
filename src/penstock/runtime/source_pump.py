"""The loop of a source task: plan from committed offsets, read on Spark, commit records and offsets together."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

from penstock.api.errors import PluginError
from penstock.api.task import Plan, SourceOffset, SourceOffsets, SourcePartition, SourceTask, TransactionEnd
from penstock.spark.endings import ONLY_ITS_OWN
from penstock.spark.letters import Letter, source_spec, source_split
from penstock.spark.splits import Receipt, SourceWork, TaskSpec, Work
from penstock.storage.faults import reach
from penstock.storage.offset_store import OffsetStore
from penstock.topics.interface import SinkCommit, SourceCommit, Staged, Stager

from .metrics import MeasuredTask, TaskMetrics
from .pace import Pace
from .pump import Pump, PumpServices
from .requests import State, TaskId
from .task_parts import TaskParts

log = logging.getLogger(__name__)


class CommittedOffsets(SourceOffsets):
    """The offset store as one connector sees it."""

    def __init__(self, store: OffsetStore, connector: str) -> None:
        self._store = store
        self._connector = connector

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        return self._store.get(self._connector, partition)

    def all(self) -> Sequence[tuple[SourcePartition, SourceOffset]]:
        return self._store.all(self._connector)


class SourcePump(Pump):
    """Moves a source task's batches into topics."""

    small_batch_seconds = 0.03

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
        super().__init__(task, spec, services, report, metrics, paused)
        self._source = source
        self._topic_settings = topic_settings
        self._offsets = CommittedOffsets(services.offsets, task.connector)
        self._tells_commits = type(source).committed is not SourceTask.committed
        self._pace = Pace()

    async def begin(self) -> None:
        await self.start_copy(self._source)

    async def step(self) -> bool:
        plan = await self.next_plan()
        if plan is None or self._stopping:
            self._pace.found_nothing()
            return False
        self._pace.found(asyncio.get_running_loop().time())
        works = [SourceWork(self.spec, split, *self._writing()) for split in plan.splits]
        reach("source-planned")
        try:
            if plan.transaction_end is TransactionEnd.ABORT and not self._source_ends:
                raise PluginError(ONLY_ITS_OWN)
            receipts = await self.dispatch(works)
            reach("source-read")
            with self.metrics.holding(receipts):
                await self._commit(plan, receipts)
        finally:
            self.done_with(plan)
        return True

    @property
    def _source_ends(self) -> bool:
        """Whether the source ends transactions itself."""
        return False

    async def replay_works(self, letters: Sequence[Letter]) -> list[Work]:
        return [SourceWork(source_spec(self.spec), source_split(self.spec, letters), *self._writing())]

    def commit_replay(self, receipts: Sequence[Receipt], mark: SinkCommit) -> Future[None]:
        staged = [part for receipt in receipts for part in (*receipt.staged, *receipt.dead_letters)]
        commit = SourceCommit(self.task.connector, staged, (), self._topic_settings, [mark])
        return self.services.topics.commit_source(commit)

    def measured(self) -> MeasuredTask:
        return MeasuredTask(self.task, "source", self.metrics, TaskParts.of(self.spec))

    async def next_plan(self) -> Plan | None:
        """What to read next, or ``None``."""
        return await self.unless_aborted(self.services.planner.run(f"{self.task}: plan()", self._plan))

    def done_with(self, plan: Plan) -> None:
        """The batch of a plan was committed or dropped."""

    def _plan(self) -> Plan | None:
        return self._source.plan(self._offsets)

    async def dispatch(self, works: Sequence[Work]) -> list[Receipt]:
        """As of every pump; works that miss topics run again when these were made."""
        receipts = await super().dispatch(works)
        while again := [number for number, receipt in enumerate(receipts) if receipt.missing_topics]:
            topics = {topic for number in again for topic in receipts[number].missing_topics}
            made = self.services.topics.ensure(sorted(topics), self._topic_settings)
            await self.unless_aborted(asyncio.wrap_future(made))
            stager, counts = self._writing()
            rest = [replace(works[number], stager=stager, topic_partitions=counts) for number in again]
            for number, later in zip(again, await super().dispatch(rest), strict=True):
                receipts[number] = later
        return receipts

    def _writing(self) -> tuple[Stager, Mapping[str, int]]:
        """How executors write, and into how many partitions."""
        home = self.services.topics
        return home.stager(), home.partition_counts(self.spec.default_topic_partitions)

    async def _commit(self, plan: Plan, receipts: Sequence[Receipt]) -> None:
        dead = [staged for receipt in receipts for staged in receipt.dead_letters]
        failed = any(receipt.failure is not None for receipt in receipts)
        for line in (line for receipt in receipts for line in receipt.error_log):
            log.error("%s", line)
        staged = [part for receipt in receipts for part in receipt.staged]
        if failed:
            self.services.topics.discard([part for receipt in receipts for part in receipt.all_staged])
            if dead:
                await self._write(dead, (), receipts, None)
            self.metrics.add_failed(receipts)
            self.raise_failures(receipts)
        offsets = latest_offsets(plan, receipts)
        await self._write([*staged, *dead], offsets, receipts, plan.transaction_end)
        reach("source-committed")
        self.metrics.add(receipts)
        for topic in {part.topic for receipt in receipts for part in receipt.all_staged}:
            self.services.use_topic(self.task, topic)
        if self._tells_commits:
            await self._tell_committed(offsets)

    async def _write(
        self,
        staged: Sequence[Staged],
        offsets: Sequence[tuple[Any, Any]],
        receipts: Sequence[Receipt],
        end: TransactionEnd | None,
    ) -> None:
        """Make a batch durable. ``end`` is what its plan says of the source's transaction."""
        commit = SourceCommit(self.task.connector, staged, offsets, self._topic_settings)
        await self.commit(self.services.topics.commit_source(commit), receipts)
        if offsets and self.services.topics.commits_records:
            self.metrics.transactions.record(count_records(staged))

    async def _tell_committed(self, offsets: Sequence[tuple[SourcePartition, SourceOffset]]) -> None:
        try:
            call = partial(self._source.committed, offsets)
            await self.unless_aborted(self.services.planner.run(f"{self.task}: committed()", call))
        except Exception:
            log.exception("%s: committed() failed; the records are safe", self.task)

    def resumed(self) -> None:
        self._pace.hurry()

    def interrupt(self) -> None:
        self.abandon()

    def idle_seconds(self) -> float:
        return self._pace.seconds


def count_records(staged: Sequence[Staged]) -> int:
    """How many records were staged."""
    return sum(part.count for part in staged)


def latest_offsets(plan: Plan, receipts: Sequence[Receipt]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The plan's ends, overruled by what readers reported, one entry for each source partition."""
    newest: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
    reported = (pair for receipt in receipts for pair in receipt.reported)
    for partition, offset in [*plan.ends, *reported]:
        newest[json.dumps(partition, sort_keys=True)] = (partition, offset)
    return list(newest.values())
