"""What travels between driver and executors: work in, receipts out. Everything here is small and picklable."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any

from penstock.api.task import Split
from penstock.topics.interface import OffsetRecords, Range, RangeReader, Staged, Stager, Transaction

from .column_faults import ColumnFault, joined
from .endings import Ended, Ending
from .parked import Parked, Resumed
from .remote_logging import LogLine


@dataclass(frozen=True)
class PluginRef:
    """A plugin with its settings, loadable on an executor: ``target`` is ``module:QualName``."""

    target: str
    settings: Mapping[str, str] = field(default_factory=dict)
    version: str = ""


@dataclass(frozen=True)
class TransformRef:
    """One link of a transform chain; ``predicate`` is ``None`` where it applies to every record.

    ``alias`` and ``predicate_alias`` are what the configuration calls them.
    """

    alias: str
    transform: PluginRef
    predicate: PluginRef | None = None
    negate: bool = False
    predicate_alias: str = ""


@dataclass(frozen=True)
class ErrorPolicy:
    """The ``errors.*`` keys of a connector. ``dead_letter_topic`` is empty when there is none."""

    tolerate_all: bool = False
    retry_timeout_ms: int = 0
    retry_delay_max_ms: int = 60_000
    log: bool = False
    log_messages: bool = False
    dead_letter_topic: str = ""
    dead_letter_headers: bool = False
    dead_letter_replication: int = 3


@dataclass(frozen=True)
class TaskSpec:
    """All an executor needs to build its copy of a task and the way its records take.

    Executors keep what they built under ``key``, so equal keys must mean equal specs. A spec travels with every work of
    its task, so it is pickled once and unpickled once where the same bytes come again.
    """

    key: str
    connector: str
    task: int
    task_target: PluginRef
    key_converter: PluginRef
    value_converter: PluginRef
    header_converter: PluginRef
    transforms: Sequence[TransformRef] = ()
    errors: ErrorPolicy = ErrorPolicy()
    plugin_path: Sequence[str] = ()
    default_topic_partitions: int = 1
    has_spark_jobs: bool = False
    """Whether DataFrames come in: Spark jobs of the task's own run beside its works."""

    def __reduce__(self) -> tuple[Callable[[bytes], TaskSpec], tuple[bytes]]:
        return _unpacked, (self._packed,)

    @cached_property
    def _packed(self) -> bytes:
        values = tuple(getattr(self, item.name) for item in fields(self))
        return pickle.dumps(values, protocol=pickle.HIGHEST_PROTOCOL)


@lru_cache(maxsize=2048)
def _unpacked(packed: bytes) -> TaskSpec:
    return TaskSpec(*pickle.loads(packed))


@dataclass(frozen=True)
class SourceWork:
    """Read one split of a source task and stage its records.

    ``topic_partitions`` are the partition counts of existing topics; others get the spec's default. ``resumed`` are its
    records, read before, behind a link of the chain that needed Spark. With ``ending`` the source ends transactions.
    """

    spec: TaskSpec
    split: Split
    stager: Stager
    topic_partitions: Mapping[str, int] = field(default_factory=dict)
    resumed: Resumed | None = None
    ending: Ending | None = None

    @property
    def pin(self) -> str | None:
        """The lane it must run in, where that matters."""
        return self.stager.pin

    @property
    def connector(self) -> str:
        """Whose work it is."""
        return self.spec.connector

    def run(self) -> Receipt:
        """Called on an executor."""
        from .source import run

        return run(self)


@dataclass(frozen=True)
class SinkWork:
    """Read ranges of topics, in order, and put them. ``state`` is what the task's last commit kept.

    ``resumed`` are its records, converted before, behind a link of the chain that needed Spark.
    """

    spec: TaskSpec
    ranges: Sequence[Range]
    reader: RangeReader
    stager: Stager
    state: Mapping[str, Any] | None = None
    topic_partitions: Mapping[str, int] = field(default_factory=dict)
    resumed: Resumed | None = None

    @property
    def connector(self) -> str:
        """Whose work it is."""
        return self.spec.connector

    def run(self) -> Receipt:
        """Called on an executor."""
        from .sink import run

        return run(self)


Work = SourceWork | SinkWork


@dataclass(frozen=True)
class TransactionWork:
    """One step of a task's transaction, in the lane that holds it: ``open``, ``commit`` or ``abort``."""

    transaction: Transaction
    step: str
    topic: str = ""
    records: OffsetRecords = ()

    @property
    def pin(self) -> str:
        """The lane it must run in."""
        return self.transaction.pin

    def run(self) -> Receipt:
        """Called on an executor."""
        if self.step == "open":
            self.transaction.open()
        elif self.step == "commit":
            self.transaction.commit(self.topic, self.records)
        else:
            self.transaction.abort()
        return Receipt()


@dataclass
class Failure:
    """Why a split failed: ``trace`` begins with the line a user should read first."""

    trace: str
    retriable: bool = False


@dataclass
class Receipt:
    """What became of one split. With a ``failure`` nothing of it may be committed, except ``dead_letters``.

    ``staged`` holds records for topics (sources), ``dead_letters`` failed records for the dead letter topic
    (sources and sinks), ``progress`` the (source partition, source offset) pairs the reader reported, ``state``
    what the sink's ``put`` returned. ``seconds`` maps step names to time spent. ``parked`` are records that got as far
    as a link that needs Spark: the split is not done before they went on. ``log`` is what plugins logged. With
    ``missing_topics`` nothing was done: the split has to run again when these topics are there. ``ended`` are
    transactions that its source has ended; ``staged`` and ``progress`` are what came after them. ``column_faults`` tell
    of rows that went one by one because a column form raised: with everything we ship there are none.
    """

    read: int = 0
    written: int = 0
    filtered: int = 0
    bytes: int = 0
    staged: Sequence[Staged] = ()
    dead_letters: Sequence[Staged] = ()
    progress: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]] = ()
    state: Mapping[str, Any] | None = None
    skipped: int = 0
    failed: int = 0
    retries: int = 0
    error_log: Sequence[str] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    failure: Failure | None = None
    parked: Parked | None = None
    log: Sequence[LogLine] = ()
    missing_topics: Sequence[str] = ()
    ended: Sequence[Ended] = ()
    column_faults: Sequence[ColumnFault] = ()

    @property
    def all_staged(self) -> Sequence[Staged]:
        """What was staged for transactions that have ended, and since then."""
        return [*(part for each in self.ended for part in each.staged), *self.staged] if self.ended else self.staged

    @property
    def reported(self) -> Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """All that the reader told of its progress, oldest first."""
        return [*(pair for each in self.ended for pair in each.progress), *self.progress]

    def followed_by(self, later: Receipt) -> Receipt:
        """One receipt for a split whose records were parked: what became of them first and in the end."""
        steps = self.seconds.keys() | later.seconds.keys()
        return Receipt(
            read=self.read,
            written=later.written,
            filtered=self.filtered + later.filtered,
            bytes=later.bytes or self.bytes,
            staged=[*self.staged, *later.staged],
            dead_letters=[*self.dead_letters, *later.dead_letters],
            progress=[*self.progress, *later.progress],
            state=later.state,
            skipped=self.skipped + later.skipped,
            failed=self.failed + later.failed,
            retries=self.retries + later.retries,
            error_log=[*self.error_log, *later.error_log],
            seconds={step: self.seconds.get(step, 0.0) + later.seconds.get(step, 0.0) for step in steps},
            failure=later.failure,
            parked=later.parked,
            log=[*self.log, *later.log],
            missing_topics=later.missing_topics,
            column_faults=joined([*self.column_faults, *later.column_faults]),
        )
