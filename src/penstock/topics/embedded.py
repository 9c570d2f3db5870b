"""Topics in one folder: Parquet segments, and a manifest in the worker's database that makes commits atomic."""

from __future__ import annotations

import logging
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock.storage.faults import reach
from penstock.storage.offset_store import OffsetStore
from penstock.storage.sqlite import Database
from penstock.storage.sqlite_log import Entries, SqliteLog

from . import manifest
from .embedded_io import EmbeddedReader, EmbeddedStager
from .errors import TopicError, UnknownTopic
from .export import export_topic
from .fetching import next_ranges
from .folders import TopicFolders
from .groups import GroupChange
from .index import Index, PartitionIndex, TopicIndex
from .interface import Range, RangeReader, SinkCommit, SourceCommit, Staged, Stager, TopicHome, TopicPartition
from .maintenance import Maintenance, MaintenanceReport
from .manifest import TopicRow
from .recovery import recover
from .segments import INLINE_BYTES, Segment
from .settings import TopicSettings, check_name, partition_count

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Outcome:
    """What a committed change did, for the index and the listeners."""

    created: list[tuple[TopicRow, int]] = field(default_factory=list)
    added: list[tuple[Staged, Segment]] = field(default_factory=list)
    offsets: Entries = ()
    groups: Sequence[GroupChange] = ()


class EmbeddedTopics(TopicHome):
    """A home for topics that needs nothing but a folder.

    ``offsets`` is a started store on a :class:`SqliteLog` of the same ``database``: source offsets go into
    it in the transaction of their records. ``defaults`` are settings for topics that do not say otherwise. Call
    :meth:`maintain` now and then, off the hot path.
    """

    def __init__(
        self,
        database: Database,
        folder: Path | str,
        offsets: OffsetStore,
        defaults: Mapping[str, str] | None = None,
        inline_bytes: int = INLINE_BYTES,
    ) -> None:
        if not isinstance(offsets.log, SqliteLog) or offsets.log.database is not database:
            raise TypeError("the offset store must stand on a SqliteLog of the same database")
        self.folders = TopicFolders(str(Path(folder).resolve()))
        self.folders.make()
        self._database = database
        self._offsets = offsets
        self._offset_log = offsets.log
        self._defaults = dict(defaults or {})
        self._default_partitions = partition_count("", self._defaults, 1)
        self._index = Index()
        self._listeners: list[Callable[[set[str]], None]] = []
        self._stager = EmbeddedStager(self.folders, secrets.token_hex(4), inline_bytes)
        recover(database, self.folders, self._index, self._rules)
        self._maintenance = Maintenance(database, self.folders, self._index, self._stager.epoch, inline_bytes)
        self._maintaining = threading.Lock()

    def commit_source(self, commit: SourceCommit) -> Future[None]:
        try:
            records = self._offsets.records(commit.connector, commit.offsets)
            settings = self._settings_for_new(commit.staged, commit.topic_settings)
            groups = [GroupChange.of(other) for other in commit.also]
        except Exception as error:
            return _failed(error)

        def run(connection: sqlite3.Connection) -> _Outcome:
            outcome = self._append(connection, commit.staged, settings)
            outcome.groups = groups
            reach("source-commit-within")
            outcome.offsets = self._offset_log.append_within(connection, records)
            for group in groups:
                group.write(connection)
            return outcome

        return self._write(run, self._learn)

    def commit_sink(self, commit: SinkCommit) -> Future[None]:
        try:
            settings = self._settings_for_new(commit.staged, lambda topic: {})
            groups = [GroupChange.of(part) for part in (commit, *commit.also)]
        except Exception as error:
            return _failed(error)

        def run(connection: sqlite3.Connection) -> _Outcome:
            outcome = self._append(connection, commit.staged, settings)
            outcome.groups = groups
            for group in groups:
                group.write(connection)
            reach("sink-commit-within")
            return outcome

        return self._write(run, self._learn)

    def topics(self) -> Mapping[str, int]:
        with self._index.lock:
            return {name: len(topic.partitions) for name, topic in self._index.topics.items()}

    def end_offsets(self, topic: str) -> Sequence[int]:
        with self._index.lock:
            known = self._index.topics.get(topic)
            return [partition.next for partition in known.partitions] if known else []

    def start_offsets(self, topic: str) -> Sequence[int]:
        """The earliest offset kept of each partition; empty when there is no such topic."""
        with self._index.lock:
            known = self._index.topics.get(topic)
            return [partition.first for partition in known.partitions] if known else []

    def sizes(self, topic: str) -> Sequence[int]:
        """The bytes of records in each partition; empty when there is no such topic."""
        with self._index.lock:
            known = self._index.topics.get(topic)
            return [partition.size for partition in known.partitions] if known else []

    def settings(self, topic: str) -> Mapping[str, str]:
        """The settings the topic was given, without defaults."""
        return dict(self._known(topic).settings)

    def ranges(self, start: Mapping[TopicPartition, int | None], max_records: int, max_bytes: int) -> Sequence[Range]:
        while True:
            with self._index.lock:
                found = next_ranges(self._index, start, max_records, max_bytes)
            missing = [p.segment.id for rows in found for p in rows.pieces if p.segment.file is None and p.blob is None]
            if not missing:
                return found
            blobs = self._database.read(lambda connection: manifest.blobs(connection, missing))  # noqa: B023
            if len(blobs) == len(missing):
                return [_fill(rows, blobs) for rows in found]

    def positions(self, group: str) -> Mapping[TopicPartition, int]:
        with self._index.lock:
            return dict(self._index.positions.get(group, {}))

    def sink_state(self, group: str, task: int) -> Mapping[str, Any] | None:
        with self._index.lock:
            return self._index.states.get(group, {}).get(task)

    def alter_positions(self, group: str, changes: Mapping[TopicPartition, int | None]) -> Future[None]:
        changes = dict(changes)

        def learn(_: None) -> None:
            with self._index.lock:
                self._index.move(group, changes)

        return self._write(lambda connection: manifest.put_positions(connection, group, changes), learn)

    def delete_group(self, group: str) -> Future[None]:
        def learn(_: None) -> None:
            with self._index.lock:
                self._index.positions.pop(group, None)
                self._index.states.pop(group, None)

        return self._write(lambda connection: manifest.delete_group(connection, group), learn)

    def listen(self, listener: Callable[[set[str]], None]) -> None:
        self._listeners.append(listener)

    def stager(self) -> Stager:
        return self._stager

    def reader(self) -> RangeReader:
        return EmbeddedReader(self.folders)

    def stop(self) -> None:
        self._maintenance.stop()
        with self._maintaining:
            self._database.write(lambda connection: None).exception()

    def create_topic(
        self, topic: str, partitions: int | None = None, settings: Mapping[str, str] | None = None
    ) -> Future[None]:
        """Make an empty topic. Fails with a :class:`TopicError` for a wrong name or setting, or one that exists."""
        wanted = dict(settings or {})
        try:
            count = partitions if partitions is not None else self._count(topic, wanted)
            self._check(topic, wanted)
            if count < 1:
                raise TopicError(f"Topic '{topic}' needs at least one partition, not {count}")
        except TopicError as error:
            return _failed(error)

        def run(connection: sqlite3.Connection) -> _Outcome:
            row = manifest.create_topic(connection, topic, count, _only_settings(wanted))
            return _Outcome(created=[(row, count)])

        return self._write(run, self._learn)

    def alter_settings(self, topic: str, changes: Mapping[str, str | None]) -> Future[None]:
        """Set or (``None``) unset settings of a topic."""
        try:
            merged: dict[str, str | None] = {**self._known(topic).settings, **changes}
            settings = {key: value for key, value in merged.items() if value is not None}
            self._check(topic, settings)
        except TopicError as error:
            return _failed(error)

        def learn(_: None) -> None:
            with self._index.lock:
                known = self._index.topics.get(topic)
                if known:
                    known.settings, known.rules = settings, self._rules(topic, settings)

        return self._write(lambda connection: manifest.change_settings(connection, topic, settings), learn)

    def delete_topic(self, topic: str) -> Future[None]:
        """Forget a topic, its records and every group's positions in it."""

        def learn(gone: list[tuple[int, Segment]]) -> None:
            with self._index.lock:
                self._index.forget_topic(topic)
            reach("topic-deleted")
            for partition, segment in gone:
                if segment.file:
                    self.folders.withdraw(topic, partition, segment.start, segment.file)
            self.folders.remove_empty(topic)

        return self._write(lambda connection: manifest.delete_topic(connection, topic, now_ms()), learn)

    def truncate(self, at: TopicPartition, before: int) -> Future[None]:
        """Drop the records of a partition before an offset. Whole segments leave the disk."""
        return self._maintenance.truncate(at, before)

    def discard(self, staged: Sequence[Staged]) -> None:
        """Delete the files of staged records that will never be committed. Blobs need nothing."""
        self._maintenance.discard([part.path for part in staged if part.path])

    def maintain(self) -> MaintenanceReport:
        """Retention, compaction, merging of small segments, sweep of orphans. At most one call works at a time."""
        if not self._maintaining.acquire(blocking=False):
            return MaintenanceReport()
        try:
            return self._maintenance.run()
        finally:
            self._maintaining.release()

    def export(self, topic: str, target: Path | str) -> int:
        """Write a whole topic, newest records included, as Parquet files into a new folder; the number of records."""
        partitions = range(len(self._known(topic).partitions))
        everything = {TopicPartition(topic, partition): None for partition in partitions}
        ranges = self.ranges(everything, 2**62, 2**62)
        return export_topic(EmbeddedReader(self.folders), ranges, Path(target))

    def _write(self, run: Callable[[sqlite3.Connection], Any], learn: Callable[[Any], None]) -> Future[None]:
        """A write whose future ends with nothing."""
        kept: list[Any] = [None]

        def run_and_keep(connection: sqlite3.Connection) -> None:
            kept[0] = run(connection)

        return self._database.write(run_and_keep, lambda _: learn(kept[0]))

    def _append(
        self, connection: sqlite3.Connection, staged: Sequence[Staged], settings: Mapping[str, Mapping[str, str]]
    ) -> _Outcome:
        outcome = _Outcome()
        ids: dict[str, int] = {}
        now = now_ms()
        for part in staged:
            if part.count == 0:
                continue
            if part.topic not in ids:
                ids[part.topic] = self._topic_id(connection, part.topic, settings, outcome)
            if part.path and not (self.folders.staged / part.path).exists():
                raise TopicError(
                    f"The staged file {self.folders.staged / part.path} for topic '{part.topic}' is gone, so its "
                    f"batch is not committed. It will be read again."
                )
            outcome.added.append((part, manifest.append(connection, ids[part.topic], part, now)))
        return outcome

    def _topic_id(
        self,
        connection: sqlite3.Connection,
        topic: str,
        settings: Mapping[str, Mapping[str, str]],
        outcome: _Outcome,
    ) -> int:
        try:
            return manifest.topic_id(connection, topic)
        except UnknownTopic:
            wanted = settings.get(topic, {})
            count = self._count(topic, wanted)
            row = manifest.create_topic(connection, topic, count, _only_settings(wanted))
            outcome.created.append((row, count))
            return row.id

    def _learn(self, outcome: _Outcome) -> None:
        """Make a commit visible: files to their place, index, offset store, listeners."""
        reach("source-commit-after")
        with self._index.lock:
            for group in outcome.groups:
                group.learn(self._index)
            for row, count in outcome.created:
                rules = self._rules(row.name, row.settings)
                partitions = [PartitionIndex() for _ in range(count)]
                self._index.topics[row.name] = TopicIndex(row.id, row.name, row.settings, rules, partitions)
        for part, segment in outcome.added:
            if segment.file:
                self.folders.publish(part.topic, part.partition, segment.start, segment.file)
        with self._index.lock:
            for part, segment in outcome.added:
                partition = self._index.partition(TopicPartition(part.topic, part.partition))
                if partition is not None:
                    partition.add(segment)
                if part.blob is not None:
                    self._index.blobs.put(segment.id, part.blob)
        self._offset_log.tell(outcome.offsets)
        topics = {part.topic for part, _ in outcome.added}
        for listener in self._listeners if topics else ():
            listener(topics)

    def _settings_for_new(
        self, staged: Sequence[Staged], settings: Callable[[str], Mapping[str, str]]
    ) -> dict[str, Mapping[str, str]]:
        """Checked settings of the topics that are not there yet."""
        with self._index.lock:
            unknown = {part.topic for part in staged if part.topic not in self._index.topics}
        wanted = {topic: settings(topic) for topic in unknown}
        for topic, given in wanted.items():
            self._check(topic, given)
            self._count(topic, given)
        return wanted

    def _known(self, topic: str) -> TopicIndex:
        with self._index.lock:
            known = self._index.topics.get(topic)
        if known is None:
            raise UnknownTopic(topic)
        return known

    def _check(self, topic: str, settings: Mapping[str, str]) -> None:
        check_name(topic)
        self._rules(topic, settings)

    def _rules(self, topic: str, settings: Mapping[str, str]) -> TopicSettings:
        return TopicSettings.parse(topic, {**self._defaults, **settings})

    def _count(self, topic: str, settings: Mapping[str, str]) -> int:
        return partition_count(topic, settings, self._default_partitions)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def _only_settings(settings: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in settings.items() if key not in ("partitions", "replication.factor")}


def _fill(rows: Range, blobs: Mapping[int, bytes]) -> Range:
    pieces = [
        piece if piece.segment.file or piece.blob is not None else replace(piece, blob=blobs[piece.segment.id])
        for piece in rows.pieces
    ]
    return replace(rows, pieces=pieces)


def _failed(error: Exception) -> Future[None]:
    future: Future[None] = Future()
    future.set_exception(error)
    return future
