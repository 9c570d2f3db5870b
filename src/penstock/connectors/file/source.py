"""Reads a growing text file: each line becomes a record."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

from penstock.api import (
    Batch,
    Column,
    Config,
    ConfigDef,
    ConfigError,
    ConfigKey,
    Importance,
    Plan,
    PluginError,
    RetriableError,
    SourceConnector,
    SourceOffset,
    SourceOffsets,
    SourcePartition,
    SourceTask,
    Split,
    Type,
    non_empty_string,
)
from penstock.api.record import STRING

from .following import Follower, Piece
from .lines import last_line_end, next_line_start, read_range, split_lines

log = logging.getLogger(__name__)

FILENAME = "filename"
POSITION = "position"

SMALLEST_SPLIT = 4 << 20
LARGEST_SPLIT = 32 << 20
AIM_SECONDS = 0.15


@dataclass(frozen=True, slots=True)
class _Searched:
    """A state of the file in which no complete line was found after a position."""

    inode: int = 0
    position: int = 0
    size: int = 0
    changed: int = 0

    @classmethod
    def of(cls, file: BinaryIO, position: int) -> _Searched:
        status = os.fstat(file.fileno())
        return cls(status.st_ino, position, status.st_size, status.st_mtime_ns)

    def grew_into(self, now: _Searched) -> bool:
        """Whether ``now`` looks like this state with something appended."""
        return (self.inode, self.position) == (now.inode, now.position) and 0 < self.size < now.size


class FileStreamSourceTask(SourceTask):
    """Cuts what was added to the file into byte ranges at line ends; executors turn them into columns of lines.

    The file is found by its name at each batch; :class:`Follower` tells what happens when it is truncated or replaced
    while the task runs. After a restart only its length can tell: a file shorter than the committed position is read
    from its beginning. A line without its end waits. A file that does not exist is waited for.
    """

    java_class = "org.apache.kafka.connect.file.FileStreamSourceTask"

    def configure(self, config: Mapping[str, str]) -> None:
        super().configure(config)
        self._file = config.get("file") or ""
        self._topic = config["topic"]
        self._partition = {FILENAME: self._file}
        self._follower = Follower(self._file)
        self._missing = False
        self._no_line_in = _Searched()
        self._split_bytes = SMALLEST_SPLIT
        self._planned = (-1, 0.0)

    def start(self) -> None:
        if not self._file:
            raise PluginError(
                "The 'file' config is not set. Kafka Connect would read its standard input; a Penstock worker has none "
                "that belongs to a connector. Set 'file' to the path of a file."
            )

    def plan(self, offsets: SourceOffsets) -> Plan | None:
        try:
            with open(self._file, "rb", buffering=0) as file:
                self._missing = False
                return self._plan_next(file, self._position(offsets))
        except FileNotFoundError:
            if not self._missing:
                log.warning("Couldn't find file %s for FileStreamSourceTask, waiting for it to be created", self._file)
            self._missing = True
            return None

    def committed(self, offsets: Sequence[tuple[SourcePartition, SourceOffset]]) -> None:
        self._follower.committed()

    def _plan_next(self, file: BinaryIO, position: int) -> Plan | None:
        self._adapt(position)
        if self._no_line_in == _Searched.of(file, position):
            return None
        piece = self._follower.next_piece(file, position)
        if not piece.closed:
            end = self._complete_until(file, piece.start, position)
            return None if end is None else self._plan_piece(file, piece, end)
        with open(piece.path, "rb", buffering=0) as moved:
            size = os.fstat(moved.fileno()).st_size
            return self._plan_piece(moved, piece, last_line_end(moved, piece.start, size) or size)

    def _complete_until(self, file: BinaryIO, start: int, position: int) -> int | None:
        """Where the last complete line ends, looking only at bytes that were not looked at before."""
        now = _Searched.of(file, position)
        known = self._no_line_in
        looked_at = known.size - 1 if known.grew_into(now) and start == position else 0
        end = last_line_end(file, max(start, looked_at), now.size)
        self._no_line_in = now if end is None else _Searched()
        return end

    def _plan_piece(self, file: BinaryIO, piece: Piece, end: int) -> Plan:
        edges = self._edges(file, piece.start, end)
        self._follower.planned(file, edges[-1])
        splits = [Split({"file": piece.path, "start": first, "end": last}) for first, last in pairwise(edges)]
        self._planned = (edges[-1], time.monotonic())
        return Plan(splits, [(self._partition, {POSITION: edges[-1]})])

    def _position(self, offsets: SourceOffsets) -> int:
        offset = offsets.get(self._partition)
        position = 0 if offset is None else offset.get(POSITION)
        if position is None:
            return 0
        if not isinstance(position, int) or position < 0:
            raise PluginError(
                f"The committed offset of {self._file} is {offset}: '{POSITION}' must be a whole number, 0 or more. "
                f"Stop the connector and alter or reset its offsets."
            )
        return position

    def _edges(self, file: BinaryIO, start: int, end: int) -> list[int]:
        """Line starts that cut the next batch into splits of about equal size, one for each core."""
        cores = os.cpu_count() or 1
        wanted = min(end - start, cores * self._split_bytes)
        count = max(1, min(cores, wanted // (SMALLEST_SPLIT // 8)))
        edges = [start]
        for number in range(1, count + 1):
            target = start + wanted * number // count
            edge = end if target >= end else next_line_start(file, target - 1, end)
            if edge > edges[-1]:
                edges.append(edge)
        return edges

    def _adapt(self, start: int) -> None:
        """Grow batches while they are quick, shrink them when they are slow, so that a pause never waits long."""
        end, planned_at = self._planned
        if end != start:
            return
        seconds = time.monotonic() - planned_at
        if seconds < AIM_SECONDS:
            self._split_bytes = min(2 * self._split_bytes, LARGEST_SPLIT)
        elif seconds > 2 * AIM_SECONDS:
            self._split_bytes = max(self._split_bytes // 2, SMALLEST_SPLIT)
        self._planned = (-1, 0.0)

    def read(self, split: Split) -> Iterator[Batch]:
        part = split.payload
        data = read_range(part["file"], part["start"], part["end"])
        if len(data) < part["end"] - part["start"]:
            raise RetriableError(f"File {part['file']} became shorter while it was read")
        yield Batch(self._topic, Column(split_lines(data), STRING))


class FileStreamSource(SourceConnector):
    """Kafka's sample source: lines of one file into one topic, by one task."""

    version = "0.1.0"
    java_class = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    task = FileStreamSourceTask
    config = ConfigDef(
        ConfigKey("file", Type.STRING, None, Importance.HIGH, "The file to read. It need not exist yet."),
        ConfigKey(
            "topic", Type.STRING, importance=Importance.HIGH, doc="The topic to write to.", validator=non_empty_string
        ),
        ConfigKey(
            "batch.size",
            Type.INT,
            2000,
            Importance.LOW,
            "Accepted for compatibility and not used: batches are measured in bytes and follow the machine's speed.",
        ),
    )

    def task_configs(self, max_tasks: int) -> Sequence[Config]:
        return [dict(self.settings)]

    def alter_offsets(self, config: Config, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]) -> bool:
        """Check that each offset is one this connector could have made."""
        if not config.get("file"):
            raise ConfigError(
                "Offsets cannot be modified if the 'file' configuration is unspecified. "
                "This is because stdin is used for input and offsets are not tracked."
            )
        for partition, offset in offsets:
            if offset is None:
                continue
            _check_position(offset)
            if partition is None:
                raise ConfigError("Partition objects cannot be null")
            if FILENAME not in partition:
                raise ConfigError(f"Partition objects should contain the key '{FILENAME}'")
        return True


def _check_position(offset: SourceOffset) -> None:
    if POSITION not in offset:
        raise ConfigError(f"Offset objects should either be null or contain the key '{POSITION}'")
    position = offset[POSITION]
    if isinstance(position, bool) or not isinstance(position, int):
        raise ConfigError(f"The value for the '{POSITION}' key in the offset is expected to be a Long value")
    if position < 0:
        raise ConfigError(f"The value for the '{POSITION}' key in the offset should be a non-negative value")
