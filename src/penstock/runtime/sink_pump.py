"""The loop of a sink task: next ranges of its topics, put on Spark, commit positions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeVar

from penstock.api.task import SinkTask
from penstock.spark.letters import Letter, LetterReader, tolerant
from penstock.spark.splits import Receipt, SinkWork, TaskSpec, Work
from penstock.storage.faults import reach
from penstock.topics.interface import Range, SinkCommit, Staged, TopicPartition

from .metrics import MeasuredTask, TaskMetrics
from .pump import Pump, PumpServices
from .requests import State, TaskId
from .subscription import Subscription
from .task_parts import TaskParts

log = logging.getLogger(__name__)

SMALLEST_BATCH_BYTES = 1 << 20
LARGEST_BATCH_BYTES = 64 << 20
MAX_BATCH_RECORDS = 1_000_000
AIM_SECONDS = 0.15
LOOK_SECONDS = 20.0
"""How often a sink that nobody wakes looks for records: homes keep watching what is asked for."""

T = TypeVar("T")


class SinkPump(Pump):
    """Moves records from topics into a sink task. What sources write comes in batches already."""

    small_batch_seconds = 0.01

    def __init__(
        self,
        task: TaskId,
        spec: TaskSpec,
        sink: SinkTask,
        services: PumpServices,
        report: Callable[[State, str | None], None],
        metrics: TaskMetrics,
        subscription: Subscription,
        paused: bool = False,
    ) -> None:
        super().__init__(task, spec, services, report, metrics, paused)
        self._sink = sink
        self._subscription = subscription
        self._positions: dict[TopicPartition, int] = {}
        self._knows_positions = False
        self._batch_bytes = SMALLEST_BATCH_BYTES
        self._has_state = not (sink.keeps_state and sink.ordered)

    async def begin(self) -> None:
        await self.start_copy(self._sink)

    async def step(self) -> bool:
        if not self._knows_positions:
            await self._load_positions()
        mine = self._subscription.assigned(self.services.topics, self.task.task)
        self.metrics.partitions = len(mine)
        if self._subscription.from_latest:
            await self._pin_latest(mine)
        start = {at: self._positions.get(at) for at in mine}
        ranges = self.services.topics.ranges(start, MAX_BATCH_RECORDS, self._batch_bytes) if start else ()
        if not ranges:
            return False
        if not self._has_state:
            await self._begin_state(ranges)
        began = asyncio.get_running_loop().time()
        reach("sink-planned")
        receipts = await self.dispatch(self._works(ranges))
        with self.metrics.holding(receipts):
            await self.deliver(receipts)
            reach("sink-put")
            await self._commit(ranges, receipts)
        self._adapt(asyncio.get_running_loop().time() - began)
        return True

    def owns(self, at: TopicPartition) -> bool:
        """Whether a topic partition is this task's."""
        return at in self._subscription.assigned(self.services.topics, self.task.task)

    async def replay_works(self, letters: Sequence[Letter]) -> list[Work]:
        if not self._knows_positions:
            await self._load_positions()
        if not self._has_state:
            mine = self._subscription.assigned(self.services.topics, self.task.task)
            home, start = self.services.topics.waiting(), {at: self._positions.get(at) for at in mine}
            await self._begin_state(await self._off_loop("ranges", lambda: home.ranges(start, 1, 1)))
        works = self._works([letter.as_range() for letter in letters])
        return [replace(work, spec=tolerant(self.spec), reader=LetterReader()) for work in works]

    def commit_replay(self, receipts: Sequence[Receipt], mark: SinkCommit) -> Future[None]:
        dead = [staged for receipt in receipts for staged in receipt.dead_letters]
        state = receipts[-1].state
        commit = SinkCommit(self._subscription.group, {}, self.task.task, state, dead, [mark], self._others({}))
        return self.services.topics.commit_sink(commit)

    async def _load_positions(self) -> None:
        home, group = self.services.topics, self._subscription.group
        self._positions = dict(await self._off_loop("positions", lambda: home.positions(group)))
        self._knows_positions = True

    async def _off_loop(self, what: str, function: Callable[[], T]) -> T:
        """A question to the topics' home that may take its time."""
        asked = self.services.calls.run(f"{self.task}: {what}", None, function)
        return await self.unless_aborted(asyncio.wrap_future(asked))

    async def _begin_state(self, ranges: Sequence[Range]) -> None:
        """Have a state before the first batch of these ranges: a crash in it is then like a crash in any other."""
        receipts = await self.dispatch(self._works(()))
        self.raise_failures(receipts)
        positions = {TopicPartition(part.topic, part.partition): part.start for part in ranges}
        await self._write_positions(positions, receipts, ())
        self._has_state = True

    async def _pin_latest(self, mine: Sequence[TopicPartition]) -> None:
        """A partition without a position begins at its present end, also after a crash before its first record."""
        ends = {at.topic: self.services.topics.end_offsets(at.topic) for at in mine if at not in self._positions}
        new = [at for at in mine if at not in self._positions and at.partition < len(ends[at.topic])]
        if new:
            await self._write_positions({at: ends[at.topic][at.partition] for at in new}, (), ())

    def _others(self, positions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """The positions of this task that stay as they are. Only a task that sees all in order has a state for them."""
        if not self._sink.ordered:
            return {}
        mine = self._subscription.assigned(self.services.topics, self.task.task)
        return {at: self._positions[at] for at in mine if at in self._positions and at not in positions}

    def _works(self, ranges: Sequence[Range]) -> list[SinkWork]:
        topics = self.services.topics
        reader, stager = topics.reader(), topics.stager()
        dead_letters = self.spec.errors.dead_letter_topic
        counts = {dead_letters: topics.topics().get(dead_letters, 1)} if dead_letters else {}
        if self._sink.ordered:
            state = topics.sink_state(self._subscription.group, self.task.task)
            return [SinkWork(self.spec, ranges, reader, stager, state, counts)]
        return [SinkWork(self.spec, [part], reader, stager, None, counts) for part in ranges]

    async def _commit(self, ranges: Sequence[Range], receipts: Sequence[Receipt]) -> None:
        dead = [staged for receipt in receipts for staged in receipt.dead_letters]
        for line in (line for receipt in receipts for line in receipt.error_log):
            log.error("%s", line)
        if any(receipt.failure is not None for receipt in receipts):
            if dead:
                await self._write(SinkCommit(self._subscription.group, {}, self.task.task, staged=dead), receipts)
            self.metrics.add_failed(receipts)
            self.raise_failures(receipts)
        positions: dict[TopicPartition, int] = {}
        for part in ranges:
            at = TopicPartition(part.topic, part.partition)
            positions[at] = max(part.end, positions.get(at, 0))
        await self._write_positions(positions, receipts, dead)
        read, size = sum(receipt.read for receipt in receipts), sum(receipt.bytes for receipt in receipts)
        self.services.topics.observe(ranges, read, size)
        self.metrics.add(receipts)
        for topic in {part.topic for part in ranges}:
            self.services.use_topic(self.task, topic)

    async def _write_positions(
        self, positions: Mapping[TopicPartition, int], receipts: Sequence[Receipt], dead: Sequence[Staged]
    ) -> None:
        state = receipts[-1].state if receipts else None
        group, others = self._subscription.group, self._others(positions)
        await self._write(SinkCommit(group, positions, self.task.task, state, dead, unchanged=others), receipts)
        self._positions.update(positions)

    async def _write(self, commit: SinkCommit, receipts: Sequence[Receipt]) -> None:
        await self.commit(self.services.topics.commit_sink(commit), receipts)

    def _adapt(self, seconds: float) -> None:
        """Keep batches short enough that pause and stop are prompt, and long enough to be worth a job."""
        if seconds > 2 * AIM_SECONDS:
            self._batch_bytes = max(self._batch_bytes // 2, SMALLEST_BATCH_BYTES)
        elif seconds < AIM_SECONDS:
            times = 4 if seconds < AIM_SECONDS / 4 else 2
            self._batch_bytes = min(self._batch_bytes * times, LARGEST_BATCH_BYTES)

    def lag(self) -> Mapping[TopicPartition, int]:
        """Records not yet put, for each assigned partition."""
        lags: dict[TopicPartition, int] = {}
        for at in self._subscription.assigned(self.services.topics, self.task.task):
            ends = self.services.topics.end_offsets(at.topic)
            if at.partition < len(ends):
                lags[at] = max(0, ends[at.partition] - self._positions.get(at, 0))
        return lags

    def measured(self) -> MeasuredTask:
        lag = max(self.lag().values(), default=None)
        return MeasuredTask(self.task, "sink", self.metrics, TaskParts.of(self.spec), lag)

    def wants(self, topic: str) -> bool:
        """Whether records of this topic may be for this task."""
        return self._subscription.wants(topic)

    def interrupt(self) -> None:
        """A put in progress may already have happened: let it finish, the worker abandons it after its limit."""

    def idle_seconds(self) -> float:
        return LOOK_SECONDS
