"""What a task owes the runtime: plan and read for sources, put for sinks.

A task object lives twice. In the *driver* (the worker process) it plans and is told of commits. On an
*executor* (a Python worker of Spark) a copy, made from the same class and configuration, reads or puts.
The two never share memory; whatever the executor must know travels in a :class:`Split`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from .batch import Batch
from .record import Record

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SourcePartition = Mapping[str, Any]
SourceOffset = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Split:
    """A small, picklable description of a bounded piece of work for one executor."""

    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Progress:
    """Yielded by ``read`` among its records: where the reader stands in a source partition.

    The last one for each partition becomes its source offset when the batch commits. Needed only where
    ``plan`` could not know the end.
    """

    partition: SourcePartition
    offset: SourceOffset


class TransactionEnd(Enum):
    """How a source ends the transaction that its records are in, with ``transaction.boundary=connector``.

    Yielded by ``read`` after the last record of a transaction and after the ``Progress`` that tells where that is, or
    given with a :class:`Plan`. A transaction stays open, over as many batches as it takes, until its source ends it.
    With any other ``transaction.boundary`` the worker ends transactions: ``COMMIT`` is ignored, ``ABORT`` is an error.
    """

    COMMIT = "commit"
    """All records since the last end become visible, together with the source offsets."""

    ABORT = "abort"
    """None of these records is ever seen by readers of committed records. The source offsets are committed all the
    same: what should be read again is a case for an exception."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One batch of a source task: splits, committed in this order, and the source offsets they end at.

    ``transaction_end`` ends the source's transaction with this batch.
    """

    splits: Sequence[Split]
    ends: Sequence[tuple[SourcePartition, SourceOffset]] = ()
    transaction_end: TransactionEnd | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One batch of a source that reads with Spark itself: like :class:`Plan`, with rows in place of splits."""

    dataframe: DataFrame
    ends: Sequence[tuple[SourcePartition, SourceOffset]] = ()
    transaction_end: TransactionEnd | None = None


SourceItem = Record | Batch | Progress | TransactionEnd
"""What a source task yields."""


class SourceOffsets(ABC):
    """The committed source offsets of a connector, as ``plan`` sees them; those of an open transaction count."""

    @abstractmethod
    def get(self, partition: SourcePartition) -> SourceOffset | None:
        """The committed offset of one source partition, or ``None``."""

    @abstractmethod
    def all(self) -> Sequence[tuple[SourcePartition, SourceOffset]]:
        """Every committed source partition of the connector with its offset."""


class Task(ABC):  # noqa: B024
    """The common part of source and sink tasks.

    ``java_class`` is the Kafka Connect class that this task stands for, shown as ``task.class``; empty for others.
    """

    java_class: ClassVar[str] = ""

    def __init__(self) -> None:
        self.config: Mapping[str, str] = {}

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the task configuration (references already resolved).

        Called once on every copy, in the driver and on executors, before anything else. An exception
        makes the task FAILED.
        """
        self.config = config

    def start(self) -> None:  # noqa: B027
        """Called in the driver, on a thread of its own, once before the first ``plan`` (sinks: before the first batch).

        Time-limited; an exception or a time-out makes the task FAILED.
        """

    def stop(self) -> None:  # noqa: B027
        """Called in the driver once when the task ends, after its last batch was committed or dropped.

        Time-limited; an exception is logged, a time-out abandons the object.
        """


class SourceTask(Task):
    """Brings records in. Implement ``plan`` and ``read``; or ``load`` and ``records`` to read with Spark itself."""

    def plan(self, offsets: SourceOffsets) -> Plan | None:
        """What to read next, decided from committed offsets alone; ``None`` when there is nothing new.

        Called in the driver, never twice at once for one task, often (with back-off while it answers ``None``):
        be quick and read no data. Time-limited. An exception makes the task FAILED; a ``RetriableError`` is
        tried again with back-off.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither plan() nor load()")

    def read(self, split: Split) -> Iterator[SourceItem]:
        """The records of one split, one by one or in batches.

        Called on an executor. May run more than once for the same split (a lost executor, a crash before the
        commit); only one attempt is ever committed. An exception fails the task and nothing of the batch is kept.
        """
        raise NotImplementedError(f"{type(self).__name__} has no read()")

    def load(self, spark: SparkSession, offsets: SourceOffsets) -> Frame | None:
        """The next batch as a DataFrame, decided from committed offsets alone; ``None`` when there is nothing new.

        Called in the driver in place of ``plan``, on a thread of its own in a Spark job group of its own, so it may
        run Spark jobs. Spark then computes the DataFrame, and its rows go through ``records`` and the usual way of
        records. An exception makes the task FAILED; a ``RetriableError`` is tried again with back-off.
        """
        raise NotImplementedError(f"{type(self).__name__} has no load()")

    def records(self, rows: pa.RecordBatch) -> Iterator[SourceItem]:
        """The records for some rows of the DataFrame that ``load`` gave. Called on executors, like ``read``."""
        raise NotImplementedError(f"{type(self).__name__} has no records()")

    def committed(self, offsets: Sequence[tuple[SourcePartition, SourceOffset]]) -> None:
        """Records and offsets of a batch are durable: upstream may be released now.

        Called in the driver after each commit, before the next ``plan``. Time-limited; an exception is logged.
        It may be skipped by a crash, never called early.
        """


@dataclass(slots=True)
class SinkContext:
    """What a sink task may ask for while it puts (set by the runtime on the executor's copy as ``self.context``)."""

    connector: str = ""
    task: int = 0
    state: Mapping[str, Any] | None = None
    report: Callable[[Record, Exception], None] = field(default=lambda record, error: None)
    """Hand over one bad record: ``errors.tolerance`` and the dead letter queue decide, and ``put`` goes on."""


class SinkTask(Task):
    """Carries records out. Implement ``put``, or ``put_batches`` for speed; or ``store`` to write with Spark itself.

    With ``ordered = True`` (the default) one executor puts a batch's records in topic order. With
    ``ordered = False`` several may put different ranges at once.
    """

    ordered: ClassVar[bool] = True

    keeps_state: ClassVar[bool] = False
    """Whether ``put`` returns a state. It is then called without records before the first batch after each start, so
    that a crash within that batch finds a state too. Only for ordered sinks."""

    def __init__(self) -> None:
        super().__init__()
        self.context = SinkContext()

    def put(self, records: Iterable[Record]) -> Mapping[str, Any] | None:
        """Write records to the outside.

        Called on an executor once for each split. When it returns, the records are out. Offsets are committed
        afterwards, so a crash in between repeats the records: at least once. A returned mapping is kept
        atomically with the offsets and is ``self.context.state`` in the next call, which lets a sink recognise
        what it already wrote. ``RetriableError`` repeats the split; any other exception fails the task.

        Records are read while they are iterated over. When they cannot be, the iterator raises and the split fails,
        whatever ``put`` makes of it.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither put() nor put_batches()")

    def put_batches(self, batches: Iterable[Batch]) -> Mapping[str, Any] | None:
        """Like ``put``, with columns. The default hands the same records to ``put``."""
        return self.put(record for batch in batches for record in batch.records())

    def put_mixed(self, items: Iterable[Record | Batch]) -> Mapping[str, Any] | None:
        """Like ``put``, with columns where records fit into them and records where they do not, in order.

        Implement it (and have ``put`` call it) for the fastest way that still takes any record. Values without a schema
        come as structs whose names differ from batch to batch.
        """
        return self.put(self._one_by_one(items))

    @staticmethod
    def _one_by_one(items: Iterable[Record | Batch]) -> Iterator[Record]:
        for item in items:
            if isinstance(item, Batch):
                yield from item.records()
            else:
                yield item

    def store(self, dataframe: DataFrame) -> None:
        """Write the records of a batch with Spark.

        Called in the driver in place of ``put``, on a thread of its own in a Spark job group of its own, after
        executors have read, converted and transformed the batch. Columns: ``topic``, ``partition``, ``offset``,
        ``timestamp``, ``key`` and ``value``, the last two of the type that the records' schemas say. When it returns,
        the records are out; offsets are committed afterwards, so a crash in between repeats them. ``RetriableError``
        repeats the batch; any other exception fails the task.
        """
        raise NotImplementedError(f"{type(self).__name__} has no store()")
