"""A data folder with an offset store and embedded topics, and short words to use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.storage.offset_store import OffsetStore
from penstock.storage.sqlite import Database
from penstock.storage.sqlite_log import SqliteLog
from penstock.topics.embedded import EmbeddedTopics
from penstock.topics.interface import RAW_SCHEMA, SourceCommit, Staged, TopicPartition

Row = tuple[bytes | None, bytes | None]


def table(rows: Sequence[Row], timestamp: int = 1_700_000_000_000) -> pa.Table:
    keys, values = [row[0] for row in rows], [row[1] for row in rows]
    columns = [keys, values, [None] * len(rows), [timestamp] * len(rows)]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, RAW_SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=RAW_SCHEMA)


def numbered(start: int, end: int, size: int = 1) -> list[Row]:
    """Rows without keys whose values are numbers, padded to a size."""
    return [(None, str(number).encode().rjust(size)) for number in range(start, end)]


class World:
    """Everything on one folder; may be closed and opened again."""

    def __init__(self, folder: Path, inline_bytes: int = 2_000, defaults: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._options: dict[str, Any] = {"inline_bytes": inline_bytes, "defaults": defaults}
        self.open()

    def open(self) -> None:
        self.database = Database(self.folder / "penstock.db")
        self.offsets = OffsetStore(SqliteLog(self.database, "offsets"))
        self.offsets.start()
        self.topics = EmbeddedTopics(self.database, self.folder / "topics", self.offsets, **self._options)

    def close(self) -> None:
        self.topics.stop()
        self.database.close()

    def reopen(self) -> None:
        self.close()
        self.open()

    def stage(self, rows: Sequence[Row], topic: str = "t", partition: int = 0) -> Staged:
        return self.topics.stager().write(TopicPartition(topic, partition), table(rows))

    def send(self, rows: Sequence[Row], topic: str = "t", partition: int = 0, position: int | None = None) -> None:
        offsets = [] if position is None else [({"f": "x"}, {"p": position})]
        self.topics.commit_source(SourceCommit("c", [self.stage(rows, topic, partition)], offsets)).result()

    def records(self, topic: str = "t", partition: int = 0, start: int | None = None) -> list[tuple[int, Row]]:
        """Every record as (offset, (key, value))."""
        found: list[tuple[int, Row]] = []
        for rows in self.topics.ranges({TopicPartition(topic, partition): start}, 10**9, 10**12):
            found += read(self.topics, [rows])
        return found

    def values(self, topic: str = "t", partition: int = 0) -> list[int]:
        return [int(value or b"") for _, (_, value) in self.records(topic, partition)]

    def files(self, where: str = "t") -> list[Path]:
        return sorted((self.folder / "topics" / where).rglob("*.parquet"))


def read(topics: EmbeddedTopics, ranges: Sequence[Any]) -> list[tuple[int, Row]]:
    found: list[tuple[int, Row]] = []
    for rows in ranges:
        for first, chunk in topics.reader().read(rows):
            assert chunk.schema.equals(RAW_SCHEMA)
            pairs = zip(chunk.column("key").to_pylist(), chunk.column("value").to_pylist(), strict=True)
            found += [(first + row, pair) for row, pair in enumerate(pairs)]
    return found
