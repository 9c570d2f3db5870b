"""What the runtime counts: batches, records, errors and times of tasks, starts, rebalances."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from penstock.spark.capacity import Capacity as Capacity
from penstock.spark.splits import Receipt

from .metrics_group import GroupMeters
from .requests import State, TaskId
from .task_parts import TaskParts
from .windows import Window

NEWEST = 1000
"""The share of failed records is that of so many records at least, where there are."""


class NewestRecords:
    """How many of the newest records failed: of as many batches as it takes to see :data:`NEWEST` of them.

    ``counts`` is (read, failed), replaced at once for readers on other threads.
    """

    def __init__(self) -> None:
        self._batches: deque[tuple[int, int]] = deque()
        self.counts = (0, 0)

    def add(self, read: int, failed: int) -> None:
        """Count a batch; older ones that are no longer needed are forgotten."""
        if not read:
            return
        self._batches.append((read, failed))
        all_read, all_failed = self.counts[0] + read, self.counts[1] + failed
        while all_read - self._batches[0][0] >= NEWEST:
            oldest_read, oldest_failed = self._batches.popleft()
            all_read, all_failed = all_read - oldest_read, all_failed - oldest_failed
        self.counts = (all_read, all_failed)


@dataclass
class TaskMetrics:
    """Counters of one task since it was started, fed by receipts. Written on the runtime's loop only.

    ``transactions`` has the records of each. ``column_faults`` are rows that went one by one because a column form
    raised, also in batches that were tried again.
    ``busy_since`` and ``troubled_since`` are readings of ``time.monotonic()``: when the step in progress began, and
    when the task first had to try a batch again since it last made progress. ``last_progress`` and ``last_error`` are
    seconds since 1970. ``newest`` counts the records of the newest batches; ``dead_letter_topic`` has the failed ones.
    """

    read: int = 0
    written: int = 0
    filtered: int = 0
    column_faults: int = 0
    bytes: int = 0
    batches: int = 0
    skipped: int = 0
    failed: int = 0
    retries: int = 0
    record_retries: int = 0
    logged: int = 0
    dead_letters: int = 0
    dead_letters_lost: int = 0
    commits: int = 0
    commits_failed: int = 0
    active: int = 0
    partitions: int = 0
    last_progress: float | None = None
    last_error: float | None = None
    busy_since: float | None = None
    troubled_since: float | None = None
    trouble: str = ""
    newest: NewestRecords = field(default_factory=NewestRecords)
    dead_letter_topic: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    reads: Window = field(default_factory=Window)
    writes: Window = field(default_factory=Window)
    actives: Window = field(default_factory=Window)
    batch_sizes: Window = field(default_factory=Window)
    batch_seconds: dict[str, Window] = field(default_factory=dict)
    commit_seconds: Window = field(default_factory=Window)
    commit_failures: Window = field(default_factory=Window)
    transactions: Window = field(default_factory=Window)
    _durations: dict[State, float] = field(default_factory=dict)
    _state: State | None = None
    _state_since: float = 0.0

    def add(self, receipts: Sequence[Receipt]) -> None:
        """Count a committed batch."""
        self.batches += 1
        self.last_progress = time.time()
        self.troubled_since = None
        read = written = 0
        for receipt in receipts:
            read += receipt.read
            written += receipt.written
            self.filtered += receipt.filtered
            self.bytes += receipt.bytes
        self.newest.add(read, sum(receipt.failed for receipt in receipts))
        self.read += read
        self.written += written
        self.reads.record(read)
        self.writes.record(written)
        self.batch_sizes.record(read)
        self._add_errors(receipts)
        self._add_seconds(receipts)

    def add_failed(self, receipts: Sequence[Receipt]) -> None:
        """Count the errors of a batch that will not be committed."""
        self._add_errors(receipts)
        self.last_error = time.time()

    def add_column_faults(self, receipts: Sequence[Receipt]) -> None:
        """Count what column forms cost by raising; as soon as the work is done, whatever becomes of its batch."""
        self.column_faults += sum(fault.rows for receipt in receipts for fault in receipt.column_faults)

    def add_step(self, step: str, seconds: float) -> None:
        """A batch spent this time in a step."""
        self.seconds[step] = self.seconds.get(step, 0.0) + seconds
        window = self.batch_seconds.get(step)
        if window is None:
            window = self.batch_seconds[step] = Window()
        window.record(seconds)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Around a step of the task."""
        self.busy_since = time.monotonic()
        try:
            yield
        finally:
            self.busy_since = None

    @contextmanager
    def holding(self, receipts: Sequence[Receipt]) -> Iterator[None]:
        """Inside, the records of these receipts are read and not yet committed."""
        self.active = sum(receipt.read for receipt in receipts)
        self.actives.record(self.active)
        try:
            yield
        finally:
            self.active = 0

    @contextmanager
    def committing(self, receipts: Sequence[Receipt] = ()) -> Iterator[None]:
        """Around a commit: how long it takes, and whether it succeeds."""
        began = time.monotonic()
        try:
            yield
        except Exception:
            self.commits_failed += 1
            self.commit_failures.record(1)
            self.dead_letters_lost += _dead_letters(receipts)
            raise
        self.commits += 1
        self.commit_seconds.record(time.monotonic() - began)

    def try_again(self, error: Exception) -> None:
        """A batch could not be moved now and will be tried again."""
        self.retries += 1
        self.last_error = time.time()
        self.trouble = str(error)
        if self.troubled_since is None:
            self.troubled_since = time.monotonic()

    def enter(self, state: State) -> None:
        """The task is in this state from now on."""
        now = time.monotonic()
        if self._state is not None:
            self._durations[self._state] = self._durations.get(self._state, 0.0) + now - self._state_since
        self._state, self._state_since = state, now
        if state is not State.RUNNING:
            self.busy_since = self.troubled_since = None

    def ratio(self, state: State) -> float:
        """The part of its life that the task has spent in a state."""
        spent = dict(self._durations)
        if self._state is not None:
            spent[self._state] = spent.get(self._state, 0.0) + time.monotonic() - self._state_since
        whole = sum(spent.values())
        return spent.get(state, 0.0) / whole if whole else 0.0

    def _add_errors(self, receipts: Sequence[Receipt]) -> None:
        for receipt in receipts:
            self.skipped += receipt.skipped
            self.failed += receipt.failed
            self.record_retries += receipt.retries
            self.retries += receipt.retries
            self.logged += len(receipt.error_log)
            if receipt.failed:
                self.last_error = time.time()
            for staged in receipt.dead_letters:
                self.dead_letter_topic = staged.topic
        self.dead_letters += _dead_letters(receipts)

    def _add_seconds(self, receipts: Sequence[Receipt]) -> None:
        steps: dict[str, float] = {}
        for receipt in receipts:
            for step, seconds in receipt.seconds.items():
                steps[step] = steps.get(step, 0.0) + seconds
        for step, seconds in steps.items():
            self.add_step(step, seconds)


def _dead_letters(receipts: Sequence[Receipt]) -> int:
    return sum(staged.count for receipt in receipts for staged in receipt.dead_letters)


@dataclass(frozen=True)
class MeasuredTask:
    """A task that runs here, with its counters. ``kind`` is ``source`` or ``sink``, ``parts`` what it is made of."""

    task: TaskId
    kind: str
    metrics: TaskMetrics
    parts: TaskParts
    lag: int | None = None


class Startups:
    """How often something was started, and what came of it. Any thread may count."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.attempts = 0
        self.successes = 0
        self.failures = 0

    def begin(self) -> None:
        with self._lock:
            self.attempts += 1

    def succeeded(self) -> None:
        with self._lock:
            self.successes += 1

    def failed(self) -> None:
        with self._lock:
            self.failures += 1

    @contextmanager
    def attempt(self, *unjudged: type[Exception]) -> Iterator[None]:
        """Around a start; one that was given up for another reason is neither a success nor a failure."""
        self.begin()
        try:
            yield
        except unjudged:
            raise
        except Exception:
            self.failed()
            raise
        self.succeeded()


class Rebalances:
    """Rounds of the group, as one worker lives through them. Written on the group's thread."""

    def __init__(self) -> None:
        self.completed = 0
        self.seconds = Window()
        self._began: float | None = None
        self._ended: float | None = None

    def begin(self) -> None:
        """The worker has to join; one that has to join again is still in the same rebalance."""
        if self._began is None:
            self._began = time.monotonic()

    def complete(self) -> None:
        """The worker knows what it has to run."""
        self._ended = time.monotonic()
        if self._began is not None:
            self.seconds.record(self._ended - self._began)
            self._began = None
        self.completed += 1

    @property
    def under_way(self) -> bool:
        return self._began is not None

    @property
    def seconds_since_last(self) -> float | None:
        return None if self._ended is None else time.monotonic() - self._ended


@dataclass(frozen=True)
class GroupView:
    """What a worker knows of its group, and how many ``connectors`` and ``tasks`` the group gave it."""

    leader: str
    epoch: int
    protocol: str
    rebalances: Rebalances
    meters: GroupMeters
    connectors: int
    tasks: int


class WorkerMetrics:
    """What one worker counts beside its tasks."""

    def __init__(self) -> None:
        self.connectors = Startups()
        self.tasks = Startups()
