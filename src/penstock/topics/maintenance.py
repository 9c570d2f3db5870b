"""What is done to topics off the hot path: retention, compaction, merging, sweeping."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from penstock.storage.errors import StorageError
from penstock.storage.faults import reach
from penstock.storage.sqlite import Database

from . import manifest
from .compaction import compact, is_due
from .errors import TopicError, UnknownTopic
from .folders import SUFFIX, TopicFolders
from .index import Index, TopicIndex
from .interface import TopicPartition
from .merging import choose_run, merge
from .retention import expired
from .rewriting import Outdated, Rewriter
from .segments import Segment

logger = logging.getLogger(__name__)

REMOVED_KEPT_MS = 10 * 60 * 1000
"""How long a batch on its way may still read a file that was taken out of its topic."""

STAGED_KEPT_SECONDS = 60 * 60
"""After so long nobody will commit a staged file."""

SWAPS_AT_ONCE = 64
FREE_PAGES_KEPT = 8_192
PAGES_FREED_AT_ONCE = 2_048


@dataclass(slots=True)
class MaintenanceReport:
    """What a round did, in segments and files."""

    expired: int = 0
    compacted: int = 0
    merged: int = 0
    swept: int = 0


class Maintenance:
    """One round at a time; ``truncate`` and ``discard`` may be called at any time."""

    def __init__(
        self, database: Database, folders: TopicFolders, index: Index, epoch: str, inline_bytes: int
    ) -> None:
        self._database = database
        self._folders = folders
        self._index = index
        self._epoch = epoch
        self._rewriter = Rewriter(database, folders, index, epoch, inline_bytes)
        self._stopping = False

    def stop(self) -> None:
        """Let the round that is going on end soon, and begin no other."""
        self._stopping = True

    def run(self) -> MaintenanceReport:
        report = MaintenanceReport()
        now = time.time_ns() // 1_000_000
        swaps: list[Future[list[Segment]]] = []
        for topic, number in self._partitions():
            try:
                report.expired += self._expire(topic, number, now)
                report.compacted += self._compact(topic, number, now)
                swaps += self._merge(topic, number, now, report)
            except Outdated:
                continue
            except (TopicError, StorageError, OSError) as error:
                logger.warning("Maintenance of topic '%s', partition %d failed: %s", topic.name, number, error)
            if len(swaps) >= SWAPS_AT_ONCE:
                self._await(swaps)
        self._await(swaps)
        if not self._stopping:
            report.swept = self._sweep(now)
            self._shrink()
        return report

    def truncate(self, at: TopicPartition, before: int) -> Future[None]:
        """Drop the records of a partition before an offset."""
        with self._index.lock:
            topic = self._index.topics.get(at.topic)
            partition = self._index.partition(at)
            if topic is None or partition is None:
                failed: Future[None] = Future()
                failed.set_exception(UnknownTopic(at.topic))
                return failed
            first = max(partition.first, min(before, partition.next))
        return self._remove_before(topic, at.partition, first)

    def discard(self, files: Sequence[str]) -> None:
        """Delete staged files that were not committed."""

        def run(connection: sqlite3.Connection) -> None:
            for file in files:
                if not manifest.is_referenced(connection, file):
                    (self._folders.staged / file).unlink(missing_ok=True)

        if files:
            self._database.write(run)

    def _partitions(self) -> Iterator[tuple[TopicIndex, int]]:
        with self._index.lock:
            topics = list(self._index.topics.values())
        for topic in topics:
            for number in range(len(topic.partitions)):
                if not self._stopping:
                    yield topic, number

    def _segments(self, topic: TopicIndex, number: int) -> list[Segment]:
        with self._index.lock:
            return list(topic.partitions[number].segments)

    def _expire(self, topic: TopicIndex, number: int, now: int) -> int:
        gone = expired(self._segments(topic, number), topic.rules, now)
        if gone:
            self._remove_before(topic, number, gone[-1].end).result()
        return len(gone)

    def _remove_before(self, topic: TopicIndex, number: int, first: int) -> Future[None]:
        gone: list[Segment] = []

        def run(connection: sqlite3.Connection) -> None:
            gone[:] = [s for s in manifest.all_segments(connection, topic.id, number) if s.end <= first]
            manifest.remove(connection, topic.name, number, gone, time.time_ns() // 1_000_000)
            manifest.move_first(connection, topic.id, number, first)

        def learn(_: None) -> None:
            reach("removal-after")
            with self._index.lock:
                partition = topic.partitions[number]
                if gone:
                    partition.replace(gone, [])
                partition.first = max(partition.first, first)
                for segment in gone:
                    self._index.blobs.drop(segment.id)
            self._rewriter.withdraw(topic.name, number, gone)

        return self._database.write(run, learn)

    def _compact(self, topic: TopicIndex, number: int, now: int) -> int:
        with self._index.lock:
            first = topic.partitions[number].first
        segments = self._segments(topic, number)
        if not topic.rules.compact or not is_due(segments, topic.rules):
            return 0
        drafts = compact(self._rewriter, TopicPartition(topic.name, number), segments, first, topic.rules, now)
        reach("rewritten-file")
        self._rewriter.swap(topic, number, segments, drafts, now).result()
        return len(segments)

    def _merge(
        self, topic: TopicIndex, number: int, now: int, report: MaintenanceReport
    ) -> list[Future[list[Segment]]]:
        run = choose_run(self._segments(topic, number), topic.rules)
        if not run:
            return []
        draft = merge(self._rewriter, TopicPartition(topic.name, number), run)
        report.merged += len(run)
        reach("rewritten-file")
        return [self._rewriter.swap(topic, number, run, [draft], now)]

    @staticmethod
    def _await(swaps: list[Future[list[Segment]]]) -> None:
        for swap in swaps:
            error = swap.exception()
            if error is not None and not isinstance(error, Outdated):
                logger.warning("Merged segments were not committed: %s", error)
        swaps.clear()

    def _sweep(self, now: int) -> int:
        """Delete removed files that nobody reads any more and staged ones that nobody will commit."""
        gone = self._database.read(lambda connection: manifest.removed_files(connection, now - REMOVED_KEPT_MS))
        for file, topic, partition, first in gone:
            self._folders.delete(topic, partition, first, file)
            reach("sweep")
        files = [row[0] for row in gone]
        orphans = [path.name for path in self._folders.staged.glob(f"*{SUFFIX}") if self._is_orphan(path.name, now)]
        if files:
            self._database.write(lambda connection: manifest.forget_removed(connection, files)).result()
        self.discard(orphans)
        return len(files) + len(orphans)

    def _is_orphan(self, file: str, now: int) -> bool:
        if not file.startswith(f"{self._epoch}-"):
            return True
        try:
            changed = (self._folders.staged / file).stat().st_mtime
        except FileNotFoundError:
            return False
        return changed < now / 1000 - STAGED_KEPT_SECONDS

    def _shrink(self) -> None:
        """Give the space of merged blobs back to the disk once there is much of it."""
        free = self._database.read(lambda connection: connection.execute("PRAGMA freelist_count").fetchone()[0])
        if free > FREE_PAGES_KEPT:
            statement = f"PRAGMA incremental_vacuum({PAGES_FREED_AT_ONCE})"
            self._database.write(lambda connection: len(connection.execute(statement).fetchall())).result()
