"""The loop of one task: plan, dispatch, commit, again. What sources and sinks share."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from penstock.api.errors import PluginError, RetriableError
from penstock.api.task import Task
from penstock.spark.letters import Letter
from penstock.spark.remote_logging import log_again
from penstock.spark.splits import Failure, Receipt, TaskSpec, TransactionWork, Work
from penstock.storage.errors import PassingStorageError
from penstock.storage.offset_store import OffsetStore
from penstock.topics.interface import SinkCommit, TopicHome

from .calls import UserCode
from .column_faults import ColumnFaultLog
from .dead_letters import DeadLetter, ReplayOutcome
from .metrics import MeasuredTask, TaskMetrics
from .parked_records import finish_parked
from .planning import Planner
from .replaying import Replays
from .requests import State, TaskId
from .starts import Start
from .traces import trace_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_RETRY_SECONDS = 0.3
LONGEST_RETRY_SECONDS = 60.0
SMALL_BATCH_RECORDS = 100
LONGEST_STORAGE_RETRY_SECONDS = 5.0
"""A full disk is tried often: looking costs little, and nothing moves before there is space again."""


class Ticket(Protocol):
    """What the dispatcher gives for submitted work."""

    def cancel(self) -> None:
        """Give up the work as soon as possible."""


class WorkRunner(Protocol):
    """The part of the dispatcher that pumps need."""

    def submit(
        self, task_key: str, works: Sequence[Work | TransactionWork], done: Callable[[Sequence[Receipt]], None]
    ) -> Ticket:
        """Run works on Spark; ``done`` gets a receipt for each, from a thread of the dispatcher."""

    def holds(self, pin: str) -> bool:
        """Whether the lane that ran the works of a pin is still there."""

    def hold(self, pin: str, held: bool) -> None:
        """Whether something is open in the lane of a pin, so that it stays although it is idle or old."""

    def leave_slots(self, task_key: str, needed: bool) -> None:
        """Whether a task runs Spark jobs of its own: while any does, lanes leave some slots free for them."""


@dataclass(frozen=True)
class PumpServices:
    """What every pump of a worker uses."""

    calls: UserCode
    planner: Planner
    runner: WorkRunner
    topics: TopicHome
    offsets: OffsetStore
    use_topic: Callable[[TaskId, str], None]
    call_seconds: float
    stop_seconds: float
    session: Callable[[], SparkSession]
    """Blocks until Spark is up: for threads only."""


class TaskFailed(Exception):
    """The task cannot go on; the text is the trace its status shows."""


class Pump(ABC):
    """Runs on the runtime's event loop; user code runs elsewhere, data moves on Spark.

    The worker calls ``run`` once and may call ``pause``, ``resume`` and ``stop`` at any time from the loop.
    ``report`` is told each new state of the task, with a trace when it is FAILED.
    """

    small_batch_seconds: float
    """A batch begins no sooner than this after a small one: records that trickle in share the cost of a batch.
    The first record after a silence never waits."""

    def __init__(
        self,
        task: TaskId,
        spec: TaskSpec,
        services: PumpServices,
        report: Callable[[State, str | None], None],
        metrics: TaskMetrics,
        paused: bool = False,
    ) -> None:
        self.task = task
        self.spec = spec
        self.services = services
        self.metrics = metrics
        self._report = report
        self._paused = paused
        self._stopping = False
        self._wake = asyncio.Event()
        self._abort: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._replays = Replays()
        self._column_faults = ColumnFaultLog(task)
        self._copy: Task | None = None
        self._has_dead_letter_topic = False
        self._read_in_step = 0

    def pause(self) -> None:
        """Plan nothing more; the batch in progress is finished first."""
        self._paused = True
        self._wake.set()

    def resume(self) -> None:
        """Go on from the committed offsets."""
        self._paused = False
        self._wake.set()

    def stop(self) -> None:
        """Commit what is done, drop what is not, and let ``run`` end."""
        self._stopping = True
        self._wake.set()
        self.interrupt()

    def abandon(self) -> None:
        """``stop`` took too long: whatever is still in progress will never be committed."""
        self._stopping = True
        if not self._abort.done():
            self._abort.set_result(None)

    def wake(self) -> None:
        """There may be something to do: look now rather than later."""
        self._wake.set()

    async def run(self) -> None:
        """The task's life, from start to stop or failure. Never raises; failures are reported as FAILED."""
        try:
            self._leave_slots(True)
            if self._paused:
                await self._park()
            if not self._stopping:
                await self.begin()
                self._report(State.RUNNING, None)
            while not self._stopping:
                if self._paused:
                    await self._park()
                elif not await self._step_or_retry():
                    await self._idle()
        except TaskFailed as failed:
            self._report(State.FAILED, str(failed))
        except Exception as error:
            if not self._stopping:
                self._report(State.FAILED, trace_of(error))
        finally:
            self._leave_slots(False)
            self._replays.close()
            await self._finish()

    @abstractmethod
    def measured(self) -> MeasuredTask:
        """The task with its counters. May be called from any thread."""

    @property
    def can_replay(self) -> bool:
        """Whether the task takes dead letters now."""
        return self._replays.is_open and not self._paused and not self._stopping

    def replay(self, letters: Sequence[DeadLetter], queue: str, topic: str) -> asyncio.Future[ReplayOutcome]:
        """Take dead letters of a queue again, in a batch of their own; ``topic`` is theirs if they do not say it."""
        done = self._replays.ask(letters, queue, self.task.connector, topic)
        self._wake.set()
        return done

    @abstractmethod
    async def replay_works(self, letters: Sequence[Letter]) -> list[Work]:
        """Works that take dead letters through the task."""

    @abstractmethod
    def commit_replay(self, receipts: Sequence[Receipt], mark: SinkCommit) -> Future[None]:
        """Commit what became of such works, together with ``mark``."""

    async def deliver(self, receipts: Sequence[Receipt]) -> None:  # noqa: B027
        """Whatever is left to do in the driver before the records of a batch are out."""

    @abstractmethod
    async def begin(self) -> None:
        """Start the driver's copy of the task."""

    @abstractmethod
    async def step(self) -> bool:
        """Move one batch; ``False`` when there was nothing to move."""

    @abstractmethod
    def interrupt(self) -> None:
        """``stop`` was called: end the batch in progress early where that loses nothing."""

    @abstractmethod
    def idle_seconds(self) -> float | None:
        """How long to wait after a step that found nothing; ``None`` until somebody calls ``wake``."""

    async def start_copy(self, copy: Task) -> None:
        """Configure and start the driver's copy of the task, which is stopped when the task ends."""

        def begin() -> Task:
            copy.configure(self.spec.task_target.settings)
            copy.start()
            return copy

        start = Start(begin, lambda started: started.stop())
        try:
            self._copy = await self.call("start()", start)
        except BaseException:
            start.give_up(self.services.calls, f"{self.task}: stop()", self.services.stop_seconds)
            raise

    async def call(self, what: str, function: Callable[[], T]) -> T:
        """User code of this task, time-limited."""
        future = self.services.calls.run(f"{self.task}: {what}", self.services.call_seconds, function)
        return await self.unless_aborted(asyncio.wrap_future(future))

    async def dispatch(self, works: Sequence[Work]) -> list[Receipt]:
        """Run works on Spark and wait for their receipts. Records that wait for a Spark job get it and go on."""
        return await finish_parked(self, works, await self.dispatch_once(works))

    async def dispatch_once(self, works: Sequence[Work | TransactionWork]) -> list[Receipt]:
        """Run works on Spark, each as far as it gets."""
        loop = asyncio.get_running_loop()
        receipts: asyncio.Future[list[Receipt]] = loop.create_future()

        def settle(result: list[Receipt]) -> None:
            if receipts.cancelled():
                self.drop(result)
            else:
                receipts.set_result(result)

        def done(result: Sequence[Receipt]) -> None:
            loop.call_soon_threadsafe(settle, list(result))

        ticket = self.services.runner.submit(self.spec.key, works, done)
        await self._first_of(receipts)
        if not receipts.done():
            receipts.cancel()
            ticket.cancel()
            raise asyncio.CancelledError
        for receipt in receipts.result():
            self._read_in_step += receipt.read
            log_again(receipt.log)
            self._column_faults.tell(receipt.column_faults)
        self.metrics.add_column_faults(receipts.result())
        return receipts.result()

    def drop(self, receipts: Sequence[Receipt]) -> None:
        """Records of these receipts will not be committed: free the space they take."""
        staged = [part for receipt in receipts for part in (*receipt.all_staged, *receipt.dead_letters)]
        self.services.topics.discard(staged)

    async def commit(self, write: Future[None], receipts: Sequence[Receipt]) -> None:
        """Wait for a commit; when it cannot be made now, the batch is dropped before it is tried again."""
        try:
            with self.metrics.committing(receipts):
                await asyncio.wrap_future(write)
        except PassingStorageError:
            self.drop(receipts)
            raise

    def raise_failures(self, receipts: Sequence[Receipt]) -> None:
        """Turn failed splits into a retry of the batch, or into the failure of the task."""
        failures = [receipt.failure for receipt in receipts if receipt.failure is not None]
        if failures:
            fatal: list[Failure] = [failure for failure in failures if not failure.retriable]
            if fatal:
                raise TaskFailed(fatal[0].trace)
            raise RetriableError(failures[0].trace)

    async def _step_or_retry(self) -> bool:
        self._wake.clear()
        self._read_in_step, began = 0, asyncio.get_running_loop().time()
        try:
            with self.metrics.working():
                await self._make_dead_letter_topic()
                moved = await self._replays.next(self, self.services.topics) or await self.step()
        except (RetriableError, PassingStorageError) as error:
            if not self._stopping:
                await self._wait_after(error)
            return True
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            return True
        self._retry_seconds = FIRST_RETRY_SECONDS
        if moved and self._read_in_step < SMALL_BATCH_RECORDS:
            await self._wait_until(began + self.small_batch_seconds)
        return moved

    async def _make_dead_letter_topic(self) -> None:
        """Before the first batch: the queue has one partition, wherever topics are."""
        topic = self.spec.errors.dead_letter_topic
        if not topic or self._has_dead_letter_topic:
            return
        numbers = {"partitions": "1", "replication.factor": str(self.spec.errors.dead_letter_replication)}
        made = self.services.topics.ensure([topic], lambda _: numbers, always=True)
        try:
            await self.unless_aborted(asyncio.wrap_future(made))
        except PluginError as error:
            raise PluginError(f"Could not initialize dead letter queue with topic={topic}") from error
        self._has_dead_letter_topic = True

    async def _wait_after(self, error: Exception) -> None:
        """Back off."""
        self.metrics.try_again(error)
        longest = LONGEST_STORAGE_RETRY_SECONDS if isinstance(error, PassingStorageError) else LONGEST_RETRY_SECONDS
        seconds = min(self._retry_seconds, longest)
        log.warning("%s will try again in %g s: %s", self.task, seconds, error)
        self._retry_seconds = 2 * seconds
        await self._wait_until(asyncio.get_running_loop().time() + seconds)

    async def _wait_until(self, moment: float) -> None:
        """New records do not shorten it, a pause or a stop does."""
        loop = asyncio.get_running_loop()
        while not self._stopping and not self._paused and (left := moment - loop.time()) > 0:
            self._wake.clear()
            await self._wait(left)

    async def _park(self) -> None:
        self._report(State.PAUSED, None)
        self._leave_slots(False)
        while self._paused and not self._stopping:
            self._wake.clear()
            await self._wake.wait()
        self._leave_slots(not self._stopping)
        if not self._stopping:
            self.resumed()
            self._report(State.RUNNING, None)

    def _leave_slots(self, needed: bool) -> None:
        """Lanes need not make room for the DataFrames of a task that is paused or has ended."""
        if self.spec.has_spark_jobs:
            self.services.runner.leave_slots(self.spec.key, needed)

    def resumed(self) -> None:  # noqa: B027
        """Called after a pause, before the next step."""

    async def _idle(self) -> None:
        await self._wait(self.idle_seconds())

    async def _wait(self, seconds: float | None) -> None:
        if self._stopping or (self._wake.is_set() and seconds is None):
            return
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)

    async def _finish(self) -> None:
        copy, self._copy = self._copy, None
        if copy is None:
            return
        stopping = self.services.calls.run(f"{self.task}: stop()", self.services.stop_seconds, copy.stop)
        try:
            await asyncio.wrap_future(stopping)
        except (Exception, asyncio.CancelledError) as error:
            log.warning("%s did not stop cleanly: %s", self.task, error)

    async def _first_of(self, waiting: asyncio.Future[Any]) -> None:
        """Wait for an answer or for the end of the task, whichever comes first."""
        either: list[asyncio.Future[Any]] = [waiting, self._abort]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)

    async def unless_aborted(self, waiting: asyncio.Future[T]) -> T:
        """Wait, but no longer than until the task is given up."""
        await self._first_of(waiting)
        if not waiting.done():
            raise asyncio.CancelledError
        return waiting.result()
