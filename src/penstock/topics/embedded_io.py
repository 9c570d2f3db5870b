"""The executor side of the embedded topics: staging records, reading ranges."""

from __future__ import annotations

import errno
import socket
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.errors import RetriableError
from penstock.storage.faults import reach

from .errors import TopicError
from .folders import SUFFIX, TopicFolders
from .interface import Range, RangeReader, Staged, Stager, TopicPartition
from .segments import INLINE_BYTES, Piece, conform, new_file, read_blob, read_file, runs, to_blob, write_rows

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
WAY_OUT = "Restore it from a backup, or move the consumer past it by altering its offsets."


@dataclass(frozen=True)
class EmbeddedStager(Stager):
    """Few records travel in the receipt, many go to a file under ``staged/``.

    ``epoch`` begins the names of the files, so that those of a dead worker can be told from ours.
    """

    folders: TopicFolders
    epoch: str
    inline_bytes: int = INLINE_BYTES

    def write(self, partition: TopicPartition, table: pa.Table) -> Staged:
        table = conform(table)
        newest = pc.max(table.column("timestamp")).as_py()
        if newest is None:
            newest = time.time_ns() // 1_000_000
        blob = path = None
        if table.nbytes <= self.inline_bytes:
            blob = to_blob(table)
        else:
            path = self._write_file(table)
        return Staged(*partition, table.num_rows, table.nbytes, newest, path, blob)

    def _write_file(self, table: pa.Table) -> str:
        name = f"{self.epoch}-{uuid.uuid4().hex}{SUFFIX}"
        path = self.folders.staged / name
        try:
            with new_file(path) as writer:
                reach("staging-file")
                write_rows(writer, table)
        except OSError as error:
            require_shared(self.folders)
            if error.errno not in NO_SPACE:
                raise
            raise RetriableError(
                f"No space left to write {path} ({error.strerror}): the batch was not committed and is read again. "
                f"Free some disk space; the task then goes on by itself."
            ) from error
        reach("staged-file")
        return name


@dataclass(frozen=True)
class EmbeddedReader(RangeReader):
    """Reads the files of a range where they are now; small pieces came with the range."""

    folders: TopicFolders

    def stream(self, rows: Range) -> Iterator[tuple[int, pa.Table]]:
        for piece in rows.pieces:
            yield from runs(piece, self.read_piece(rows, piece))

    def read_piece(self, rows: Range, piece: Piece) -> pa.Table:
        """The rows of one piece, with their offsets when they are explicit."""
        if piece.blob is not None:
            return read_blob(piece.blob, piece)
        segment = piece.segment
        assert segment.file is not None
        for _ in range(3):
            path = self.folders.find(rows.topic, rows.partition, segment.start, segment.file)
            if path is None:
                break
            try:
                return _read_whole(path, piece)
            except FileNotFoundError:
                continue
            except (pa.ArrowException, OSError) as error:
                raise TopicError(
                    f"The file {path} with the offsets {segment.start} to {segment.end - 1} of topic '{rows.topic}' "
                    f"is damaged: {error}. {WAY_OUT}"
                ) from error
        require_shared(self.folders)
        wanted = self.folders.committed(rows.topic, rows.partition, segment.start, segment.file)
        raise TopicError(
            f"The file {wanted} with the offsets {segment.start} to {segment.end - 1} of topic '{rows.topic}' is gone. "
            f"{WAY_OUT}"
        )


def require_shared(folders: TopicFolders) -> None:
    """Fails when this machine does not see the worker's folder: Spark may run works on other machines."""
    if not folders.staged.is_dir():
        raise TopicError(
            f"The executor on {socket.gethostname()} does not see {folders.root}, the folder of the embedded topics. "
            f"With Spark on several machines, either put data.dir on a file system that all of them share, or keep "
            f"topics in Kafka: set bootstrap.servers in the worker's file."
        )


def _read_whole(path: Path, piece: Piece) -> pa.Table:
    table = read_file(path, piece)
    if not piece.segment.explicit and table.num_rows != piece.end - piece.start:
        raise OSError(f"it has {table.num_rows} of the {piece.end - piece.start} records from offset {piece.start} on")
    return table
