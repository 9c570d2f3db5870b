"""What the runtime asks of a home for topics, and the raw records kept there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

OffsetRecords = Sequence[tuple[bytes, bytes | None]]
"""Keys and values for an offsets topic."""

RAW_SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))),
        pa.field("timestamp", pa.int64()),
    ]
)
"""Records at rest, as columns. ``headers`` is null for a record without headers; timestamps are milliseconds."""


class TopicPartition(NamedTuple):
    """One ordered log within a topic."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Staged:
    """Records an executor has written but nobody has committed: picklable, part of a receipt.

    Either ``path`` names a file that the home's stager wrote, or ``blob`` carries the records; both in a form that
    only the home reads. ``size`` counts the bytes of the records in memory, ``max_timestamp`` is milliseconds.
    """

    topic: str
    partition: int
    count: int
    size: int
    max_timestamp: int
    path: str | None = None
    blob: bytes | None = None


class Stager(ABC):
    """Executor side of a home: writes staged records. Picklable; one ``write`` for each topic partition of a split."""

    @property
    def pin(self) -> str | None:
        """Works whose stagers have the same pin run in one process, in order. ``None``: anywhere, side by side."""
        return None

    def prepare(self, topics: Sequence[str]) -> None:  # noqa: B027
        """Called once before the writes of a split, with all their topics.

        Raises :class:`~penstock.topics.errors.MissingTopics` when the home has to make some of them first.
        """

    @abstractmethod
    def write(self, partition: TopicPartition, table: pa.Table) -> Staged:
        """Write rows of :data:`RAW_SCHEMA`, in order, so that they survive until commit or sweep."""

    def finish(self) -> None:  # noqa: B027
        """Called once after the writes of a split: what was written is safe when it returns."""


class Transaction(Stager):
    """A stager whose records become visible together with source offsets, or not at all.

    All methods run in the lane that ``pin`` names: its process holds the open transaction. A lost process, or
    anything else that ends the transaction, is a ``RetriableError``; the task then opens another session.
    """

    @property
    @abstractmethod
    def pin(self) -> str:
        """The one that holds the transaction."""

    @abstractmethod
    def open(self) -> None:
        """Begin a session: whoever wrote under the same id before cannot any more, and what they had open is gone."""

    @abstractmethod
    def commit(self, topic: str, records: OffsetRecords) -> None:
        """Write source offsets to their topic and make them visible together with what was written."""

    @abstractmethod
    def abort(self) -> None:
        """Nothing that was written since the last commit will be seen."""


@dataclass(frozen=True, slots=True)
class Range:
    """A bounded piece of a topic partition: picklable, self-contained, read on an executor."""

    topic: str
    partition: int
    start: int
    end: int
    pieces: Sequence[Any] = ()


class RangeReader(ABC):
    """Executor side of a home: reads ranges. Picklable."""

    def prepare(self, ranges: Sequence[Range]) -> None:  # noqa: B027
        """Called once before the ranges of a work are read, in this order."""

    @abstractmethod
    def stream(self, rows: Range) -> Iterator[tuple[int, pa.Table]]:
        """The rows of a range in order, as (offset of the first row, table of RAW_SCHEMA) chunks.

        Offsets within a chunk are consecutive; between chunks there may be gaps (retention, compaction). A chunk is
        read when it is asked for, so that it is still in the processor's cache when it is worked on; nothing else may
        be asked of the reader until the last one was taken.
        """

    def read(self, rows: Range) -> Sequence[tuple[int, pa.Table]]:
        """All chunks of a range at once."""
        return list(self.stream(rows))


@dataclass(slots=True)
class SourceCommit:
    """One batch of a source task, to become visible all at once or not at all."""

    connector: str
    staged: Sequence[Staged]
    offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]] = ()
    topic_settings: Callable[[str], Mapping[str, str]] = field(default=lambda topic: {})
    """Settings for a topic that does not exist yet: ``partitions`` and topic configs."""

    also: Sequence[SinkCommit] = ()
    """Positions and states of groups to be written in the same transaction."""


@dataclass(slots=True)
class SinkCommit:
    """One batch of a sink task: new positions of its group, its dead letters, and the sink's own state.

    A ``state`` of ``None`` keeps the one that is there. ``also`` are positions and states of other groups, written in
    the same transaction. ``unchanged`` are the task's other positions, for homes that keep the state with positions.
    Homes that try a write again ask ``is_allowed`` before each try.
    """

    group: str
    positions: Mapping[TopicPartition, int]
    task: int = 0
    state: Mapping[str, Any] | None = None
    staged: Sequence[Staged] = ()
    also: Sequence[SinkCommit] = ()
    unchanged: Mapping[TopicPartition, int] = field(default_factory=dict)
    is_allowed: Callable[[], bool] = lambda: True


class TopicHome(ABC):
    """Driver side: topics, commits, consumer positions. Every method may be called from any thread."""

    commits_records = True
    """Whether records come into their topics with the commit that has their offsets, not before."""

    @abstractmethod
    def commit_source(self, commit: SourceCommit) -> Future[None]:
        """Append staged records to their topics and write the source offsets in one transaction.

        Missing topics are created. The future ends after the data is durable and listeners were told.
        """

    @abstractmethod
    def commit_sink(self, commit: SinkCommit) -> Future[None]:
        """Move the group's positions (and append dead letters, keep the state) in one transaction."""

    @abstractmethod
    def discard(self, staged: Sequence[Staged]) -> None:
        """Free what staged records hold that will never be committed. Best effort, returns at once."""

    @abstractmethod
    def topics(self) -> Mapping[str, int]:
        """Every topic and its number of partitions."""

    def topics_now(self) -> Mapping[str, int]:
        """The same, asked anew where others make topics, too. May block."""
        return self.topics()

    def for_connector(self, clients: Any) -> TopicHome:
        """The home as the tasks of one connector see it; ``clients`` are its client settings.

        Homes that know no clients are the same for everybody. What is returned never blocks where it can be called
        from an event loop: what it does not know yet it leaves out, and listeners are told when it does.
        """
        return self

    def waiting(self) -> TopicHome:
        """The same home for callers that may block and want complete answers."""
        return self

    def want(self, topics: Collection[str]) -> None:  # noqa: B027
        """Somebody reads these topics and waits for those that do not exist."""

    def want_new(self) -> None:  # noqa: B027
        """Somebody waits for topics whose names nobody knows yet."""

    def partition_counts(self, usual: int) -> Mapping[str, int]:
        """The partitions of topics that a source writes to, where there are not ``usual`` many."""
        return {topic: count for topic, count in self.topics().items() if count != usual}

    def ensure(
        self, topics: Collection[str], settings: Callable[[str], Mapping[str, str]], always: bool = False
    ) -> Future[None]:
        """Make sure that topics are there which a stager will write to, for homes whose stagers cannot wait for it.

        ``always`` makes them with these settings even for a connector that leaves making topics to the broker.
        """
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def observe(self, ranges: Sequence[Range], records: int, size: int) -> None:  # noqa: B027
        """What reading these ranges brought: homes that cannot know sizes in advance learn from it."""

    @abstractmethod
    def settings(self, topic: str) -> Mapping[str, str]:
        """The settings the topic was given, without defaults. Raises ``UnknownTopic``."""

    @abstractmethod
    def create_topic(
        self, topic: str, partitions: int | None = None, settings: Mapping[str, str] | None = None
    ) -> Future[None]:
        """Make an empty topic. Fails with a ``TopicError`` for a wrong name or setting, or one that exists."""

    @abstractmethod
    def alter_settings(self, topic: str, changes: Mapping[str, str | None]) -> Future[None]:
        """Set or (``None``) unset settings of a topic."""

    @abstractmethod
    def delete_topic(self, topic: str) -> Future[None]:
        """Forget a topic, its records and every group's positions in it."""

    @abstractmethod
    def end_offsets(self, topic: str) -> Sequence[int]:
        """The next offset of each partition of a topic; empty when there is no such topic."""

    @abstractmethod
    def ranges(self, start: Mapping[TopicPartition, int | None], max_records: int, max_bytes: int) -> Sequence[Range]:
        """What a consumer that stands at ``start`` (``None``: at the earliest record) reads next.

        Bounded by both limits over all partitions, but at least one piece where there is anything. Empty when
        there is nothing new. A position that retention has passed moves up to the earliest record, with a warning.
        """

    @abstractmethod
    def positions(self, group: str) -> Mapping[TopicPartition, int]:
        """Committed positions of a group; empty for an unknown one."""

    @abstractmethod
    def sink_state(self, group: str, task: int) -> Mapping[str, Any] | None:
        """The state kept by the last sink commit of this task."""

    @abstractmethod
    def alter_positions(self, group: str, changes: Mapping[TopicPartition, int | None]) -> Future[None]:
        """Set or (``None``) forget positions of a group."""

    @abstractmethod
    def delete_group(self, group: str) -> Future[None]:
        """Forget a group and its sink states."""

    @abstractmethod
    def listen(self, listener: Callable[[set[str]], None]) -> None:
        """Be told, after each commit, which topics have new records. Be quick, never block."""

    def written(self, topics: set[str]) -> None:  # noqa: B027
        """A transaction with records of these topics was committed."""

    @abstractmethod
    def stager(self) -> Stager:
        """The executor-side writer."""

    def require_ownership(self) -> None:  # noqa: B027
        """Raises ``PassingStorageError`` when other workers may run the tasks of this one by now."""

    def transaction(self, transactional_id: str, session: str, batch: int, outside: str = "") -> Transaction:
        """The executor-side writer of one batch, for homes with transactions; ``outside`` is a topic without."""
        raise NotImplementedError(f"{type(self).__name__} has no transactions")

    @abstractmethod
    def reader(self) -> RangeReader:
        """The executor-side reader."""

    @abstractmethod
    def stop(self) -> None:
        """Finish pending commits and release resources."""
