"""What a dead worker left: its database, its topic files, its processes."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from penstock.storage.offset_store import OffsetStore
from penstock.storage.sqlite import Database
from penstock.storage.sqlite_log import SqliteLog
from penstock.topics.embedded import EmbeddedTopics
from penstock.topics.folders import TopicFolders
from penstock.topics.interface import TopicPartition

from .pipeline import TOPIC


@dataclass(frozen=True)
class Committed:
    """What counts as done: bytes read, records in the topic, records put, bytes put."""

    source_position: int
    topic_end: int
    sink_position: int
    sink_length: int


def committed(data_dir: Path, source: str = "in", sink: str = "out") -> Committed:
    """Read from a copy, so that the next worker finds everything as the dead one left it."""
    with database_copy(data_dir) as connection:

        def one(query: str, *values: Any) -> Any:
            row = connection.execute(query, values).fetchone()
            return row[0] if row else None

        assert one("PRAGMA integrity_check") == "ok"
        key = "SELECT value FROM log_records WHERE log = 'offsets' AND CAST(key AS TEXT) LIKE ?"
        offset = one(key, f'["{source}",%')
        state = one("SELECT state FROM sink_states WHERE name = ?", f"connect-{sink}")
        end = "SELECT next FROM topic_partitions JOIN topics ON topics.id = topic WHERE name = ?"
        position = "SELECT position FROM group_positions WHERE name = ? AND topic = ?"
        return Committed(
            source_position=json.loads(offset)["position"] if offset else 0,
            topic_end=one(end, TOPIC) or 0,
            sink_position=one(position, f"connect-{sink}", TOPIC) or 0,
            sink_length=json.loads(state)["length"] if state else 0,
        )


@contextmanager
def database_copy(data_dir: Path) -> Iterator[sqlite3.Connection]:
    """The database as it is on disk, write-ahead log included."""
    with tempfile.TemporaryDirectory() as copy:
        for file in data_dir.glob("penstock.db*"):
            shutil.copy(file, copy)
        connection = sqlite3.connect(Path(copy, "penstock.db"))
        try:
            yield connection
        finally:
            connection.close()


def topic_values(data_dir: Path, topic: str = TOPIC) -> list[bytes]:
    """Every record of the topic in order, read as a sink would; no worker may be running."""
    database = Database(data_dir / "penstock.db")
    try:
        offsets = OffsetStore(SqliteLog(database, "offsets"))
        offsets.start()
        topics = EmbeddedTopics(database, data_dir / "topics", offsets)
        (rows,) = topics.ranges({TopicPartition(topic, 0): None}, 2**62, 2**62)
        found: list[bytes] = []
        for first, table in topics.reader().read(rows):
            assert first == len(found)
            found += table.column("value").to_pylist()
        return found
    finally:
        database.close()


def topic_folders(data_dir: Path) -> TopicFolders:
    return TopicFolders(str(data_dir / "topics"))


def segment_files(data_dir: Path, topic: str = TOPIC) -> list[Path]:
    """The committed files of the topic's first partition that the manifest knows, oldest first."""
    query = "SELECT first, file FROM segments JOIN topics ON topics.id = topic WHERE name = ? AND file IS NOT NULL"
    with database_copy(data_dir) as connection:
        rows = connection.execute(f"{query} ORDER BY first", (topic,)).fetchall()
    return [topic_folders(data_dir).committed(topic, 0, first, file) for first, file in rows]


def processes_of(worker: int, text: str = "") -> list[psutil.Process]:
    """What lives in the session of a worker (JVM, Spark's Python daemon and workers), by a text of the command line."""
    found = []
    for process in psutil.process_iter():
        try:
            alive = os.getsid(process.pid) == worker and process.status() != psutil.STATUS_ZOMBIE
            if alive and any(text in part for part in process.cmdline()):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found
