"""New segments in the place of old ones."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.storage.faults import reach
from penstock.storage.sqlite import Database

from . import manifest
from .embedded_io import EmbeddedReader
from .errors import TopicError
from .folders import SUFFIX, TopicFolders
from .index import Index, TopicIndex
from .interface import Range, TopicPartition
from .manifest import Draft
from .segments import ROW_GROUP_ROWS, Piece, Segment, new_file, to_blob, write_rows


class Outdated(TopicError):
    """The segments to be replaced changed meanwhile; what was written instead is dropped."""


class SegmentWriter:
    """Collects rows into one segment: a blob while they are few, else a file."""

    def __init__(self, folders: TopicFolders, epoch: str, explicit: bool, inline_bytes: int) -> None:
        self._folders = folders
        self._epoch = epoch
        self._explicit = explicit
        self._inline_bytes = inline_bytes
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        self._file: str | None = None
        self._writer: pq.ParquetWriter | None = None
        self._stack = ExitStack()
        self.count = 0
        self.size = 0

    def add(self, table: pa.Table) -> None:
        self._waiting.append(table)
        self._waiting_rows += table.num_rows
        self.count += table.num_rows
        self.size += table.nbytes
        if self.size > self._inline_bytes and self._waiting_rows >= ROW_GROUP_ROWS:
            self._flush()

    def finish(self, template: Segment) -> Draft:
        """The segment, durable but not committed; offsets and timestamps are those of ``template``."""
        try:
            blob = None
            if self.size > self._inline_bytes:
                self._flush()
            else:
                blob = to_blob(pa.concat_tables(self._waiting))
        except BaseException:
            self.abandon()
            raise
        self._stack.close()
        filled = replace(
            template, id=0, count=self.count, size=self.size, file=self._file, explicit=self._explicit
        )
        return Draft(filled, blob)

    def abandon(self) -> None:
        """Close and delete what was written."""
        self._stack.close()
        if self._file:
            (self._folders.staged / self._file).unlink(missing_ok=True)

    def _flush(self) -> None:
        if self._writer is None:
            self._file = f"{self._epoch}-{uuid.uuid4().hex}{SUFFIX}"
            self._writer = self._stack.enter_context(new_file(self._folders.staged / self._file, self._explicit))
        if self._waiting:
            write_rows(self._writer, pa.concat_tables(self._waiting).combine_chunks())
        self._waiting = []
        self._waiting_rows = 0


class Rewriter:
    """Reads segments and swaps others in for them, atomically."""

    def __init__(
        self, database: Database, folders: TopicFolders, index: Index, epoch: str, inline_bytes: int
    ) -> None:
        self._database = database
        self._folders = folders
        self._index = index
        self._epoch = epoch
        self._inline_bytes = inline_bytes
        self._reader = EmbeddedReader(folders)

    def new_writer(self, explicit: bool) -> SegmentWriter:
        return SegmentWriter(self._folders, self._epoch, explicit, self._inline_bytes)

    def tables(
        self, at: TopicPartition, segments: Sequence[Segment], first: int = 0
    ) -> Iterator[tuple[Piece, pa.Table]]:
        """The rows of segments from the offset ``first`` on, one by one."""
        for segment in segments:
            piece = Piece(max(first, segment.start), segment.end, segment)
            if segment.file is None:
                piece = replace(piece, blob=self._blob(segment))
            yield piece, self._reader.read_piece(Range(*at, piece.start, piece.end), piece)

    def swap(
        self, topic: TopicIndex, partition: int, old: Sequence[Segment], drafts: Sequence[Draft], now: int
    ) -> Future[list[Segment]]:
        """Replace segments. The future fails with :class:`Outdated` when they are no longer what they were."""

        def run(connection: sqlite3.Connection) -> list[Segment]:
            reach("swap-within")
            if not manifest.remove(connection, topic.name, partition, old, now):
                raise Outdated(f"Segments of topic '{topic.name}' changed while they were rewritten")
            return [manifest.insert(connection, topic.id, partition, draft) for draft in drafts]

        def learn(new: list[Segment]) -> None:
            reach("swap-after")
            self._publish(topic, partition, new)
            with self._index.lock:
                topic.partitions[partition].replace(old, new)
                for segment in old:
                    self._index.blobs.drop(segment.id)
            self.withdraw(topic.name, partition, old)

        swapped = self._database.write(run, learn)
        swapped.add_done_callback(lambda ended: self._drop_if_failed(ended, drafts))
        return swapped

    def withdraw(self, topic: str, partition: int, segments: Iterable[Segment]) -> None:
        """Move the files of removed segments out of their topic."""
        for segment in segments:
            if segment.file:
                self._folders.withdraw(topic, partition, segment.start, segment.file)

    def _publish(self, topic: TopicIndex, partition: int, segments: Iterable[Segment]) -> None:
        for segment in segments:
            if segment.file:
                self._folders.publish(topic.name, partition, segment.start, segment.file)

    def _drop_if_failed(self, ended: Future[list[Segment]], drafts: Iterable[Draft]) -> None:
        if ended.cancelled() or ended.exception() is not None:
            for draft in drafts:
                if draft.segment.file:
                    (self._folders.staged / draft.segment.file).unlink(missing_ok=True)

    def _blob(self, segment: Segment) -> bytes:
        with self._index.lock:
            blob = self._index.blobs.get(segment.id)
        if blob is None:
            blob = self._database.read(lambda connection: manifest.blobs(connection, [segment.id])).get(segment.id)
        if blob is None:
            raise Outdated("A segment was removed while it was read")
        return blob
