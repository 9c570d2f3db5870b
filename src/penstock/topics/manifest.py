"""The tables that say what the topics hold. Everything here runs within a transaction of the database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .errors import TopicError, TopicExists, UnknownTopic
from .interface import Staged, TopicPartition
from .segments import Segment

SCHEMA = """
CREATE TABLE IF NOT EXISTS topics (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, settings TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS topic_partitions (
    topic INTEGER NOT NULL, partition INTEGER NOT NULL, first INTEGER NOT NULL, next INTEGER NOT NULL,
    PRIMARY KEY (topic, partition)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT, topic INTEGER NOT NULL, partition INTEGER NOT NULL,
    first INTEGER NOT NULL, next INTEGER NOT NULL, count INTEGER NOT NULL, size INTEGER NOT NULL,
    oldest INTEGER NOT NULL, newest INTEGER NOT NULL, max_timestamp INTEGER NOT NULL,
    explicit INTEGER NOT NULL, file TEXT UNIQUE, blob BLOB);
CREATE INDEX IF NOT EXISTS segments_by_offset ON segments (topic, partition, first);
CREATE TABLE IF NOT EXISTS removed_files (
    file TEXT PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL, first INTEGER NOT NULL,
    removed INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS group_positions (
    name TEXT NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (name, topic, partition)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sink_states (
    name TEXT NOT NULL, task INTEGER NOT NULL, state TEXT NOT NULL, PRIMARY KEY (name, task)) WITHOUT ROWID;
"""

_COLUMNS = "id, first, next, count, size, oldest, newest, max_timestamp, file, explicit != 0"
_INSERT = """
INSERT INTO segments (topic, partition, first, next, count, size, oldest, newest, max_timestamp, explicit, file, blob)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


class TopicRow(NamedTuple):
    """A topic as stored."""

    id: int
    name: str
    settings: Mapping[str, str]


class Draft(NamedTuple):
    """A segment that has no id yet, with its records where the manifest keeps them."""

    segment: Segment
    blob: bytes | None


def create_tables(connection: sqlite3.Connection) -> None:
    for statement in SCHEMA.split(";\n"):
        if statement.strip():
            connection.execute(statement)


def all_topics(connection: sqlite3.Connection) -> list[TopicRow]:
    rows = connection.execute("SELECT id, name, settings FROM topics ORDER BY name")
    return [TopicRow(id_, name, json.loads(settings)) for id_, name, settings in rows]


def all_partitions(connection: sqlite3.Connection, topic: int) -> list[tuple[int, int]]:
    """First and next offset of each partition."""
    query = "SELECT first, next FROM topic_partitions WHERE topic = ? ORDER BY partition"
    return connection.execute(query, (topic,)).fetchall()


def all_segments(connection: sqlite3.Connection, topic: int, partition: int) -> list[Segment]:
    query = f"SELECT {_COLUMNS} FROM segments WHERE topic = ? AND partition = ? ORDER BY first"
    return [Segment(*row) for row in connection.execute(query, (topic, partition))]


def all_positions(connection: sqlite3.Connection) -> list[tuple[str, TopicPartition, int]]:
    rows = connection.execute("SELECT name, topic, partition, position FROM group_positions")
    return [(name, TopicPartition(topic, partition), position) for name, topic, partition, position in rows]


def all_states(connection: sqlite3.Connection) -> list[tuple[str, int, Mapping[str, Any]]]:
    rows = connection.execute("SELECT name, task, state FROM sink_states")
    return [(name, task, json.loads(state)) for name, task, state in rows]


def create_topic(
    connection: sqlite3.Connection, name: str, partitions: int, settings: Mapping[str, str]
) -> TopicRow:
    if connection.execute("SELECT 1 FROM topics WHERE name = ?", (name,)).fetchone():
        raise TopicExists(name)
    insert = "INSERT INTO topics (name, settings) VALUES (?, ?)"
    topic = connection.execute(insert, (name, json.dumps(dict(settings)))).lastrowid
    assert topic is not None
    rows = [(topic, partition) for partition in range(partitions)]
    connection.executemany("INSERT INTO topic_partitions VALUES (?, ?, 0, 0)", rows)
    return TopicRow(topic, name, dict(settings))


def topic_id(connection: sqlite3.Connection, name: str) -> int:
    found = connection.execute("SELECT id FROM topics WHERE name = ?", (name,)).fetchone()
    if not found:
        raise UnknownTopic(name)
    return int(found[0])


def change_settings(connection: sqlite3.Connection, name: str, settings: Mapping[str, str]) -> None:
    connection.execute("UPDATE topics SET settings = ? WHERE name = ?", (json.dumps(dict(settings)), name))


def append(connection: sqlite3.Connection, topic: int, staged: Staged, now: int) -> Segment:
    """Give staged records their offsets: they follow what the partition has."""
    query = "SELECT next FROM topic_partitions WHERE topic = ? AND partition = ?"
    found = connection.execute(query, (topic, staged.partition)).fetchone()
    if not found:
        raise TopicError(
            f"Topic '{staged.topic}' has no partition {staged.partition}: a record was sent to it by number. Choose a "
            f"partition the topic has, or create the topic with more partitions."
        )
    start = found[0]
    end = start + staged.count
    connection.execute(
        "UPDATE topic_partitions SET next = ? WHERE topic = ? AND partition = ?", (end, topic, staged.partition)
    )
    segment = Segment(0, start, end, staged.count, staged.size, now, now, staged.max_timestamp, staged.path, False)
    return insert(connection, topic, staged.partition, Draft(segment, staged.blob))


def insert(connection: sqlite3.Connection, topic: int, partition: int, draft: Draft) -> Segment:
    s = draft.segment
    values = (
        topic, partition, s.start, s.end, s.count, s.size, s.oldest, s.newest, s.max_timestamp, s.explicit, s.file,
        draft.blob,
    )
    added = connection.execute(_INSERT, values).lastrowid
    assert added is not None
    return Segment(
        added, s.start, s.end, s.count, s.size, s.oldest, s.newest, s.max_timestamp, s.file, s.explicit
    )


def remove(
    connection: sqlite3.Connection, topic: str, partition: int, segments: Iterable[Segment], now: int
) -> bool:
    """Take segments out and note their files for removal; false when one of them was gone already."""
    segments = list(segments)
    gone = sum(connection.execute("DELETE FROM segments WHERE id = ?", (s.id,)).rowcount for s in segments)
    files = [(segment.file, topic, partition, segment.start, now) for segment in segments if segment.file]
    connection.executemany("INSERT OR REPLACE INTO removed_files VALUES (?, ?, ?, ?, ?)", files)
    return gone == len(segments)


def move_first(connection: sqlite3.Connection, topic: int, partition: int, first: int) -> None:
    connection.execute(
        "UPDATE topic_partitions SET first = ? WHERE topic = ? AND partition = ?", (first, topic, partition)
    )


def delete_topic(connection: sqlite3.Connection, name: str, now: int) -> list[tuple[int, Segment]]:
    """Forget a topic and all positions in it; the segments it had."""
    topic = topic_id(connection, name)
    gone: list[tuple[int, Segment]] = []
    for partition in range(len(all_partitions(connection, topic))):
        segments = all_segments(connection, topic, partition)
        remove(connection, name, partition, segments, now)
        gone += [(partition, segment) for segment in segments]
    connection.execute("DELETE FROM topic_partitions WHERE topic = ?", (topic,))
    connection.execute("DELETE FROM topics WHERE id = ?", (topic,))
    connection.execute("DELETE FROM group_positions WHERE topic = ?", (name,))
    return gone


def put_positions(
    connection: sqlite3.Connection, group: str, positions: Mapping[TopicPartition, int | None]
) -> None:
    for (topic, partition), position in positions.items():
        if position is None:
            delete = "DELETE FROM group_positions WHERE name = ? AND topic = ? AND partition = ?"
            connection.execute(delete, (group, topic, partition))
        else:
            put = "INSERT OR REPLACE INTO group_positions VALUES (?, ?, ?, ?)"
            connection.execute(put, (group, topic, partition, position))


def put_state(connection: sqlite3.Connection, group: str, task: int, state: str) -> None:
    connection.execute("INSERT OR REPLACE INTO sink_states VALUES (?, ?, ?)", (group, task, state))


def delete_group(connection: sqlite3.Connection, group: str) -> None:
    connection.execute("DELETE FROM group_positions WHERE name = ?", (group,))
    connection.execute("DELETE FROM sink_states WHERE name = ?", (group,))


def blobs(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for id_ in ids:
        row = connection.execute("SELECT blob FROM segments WHERE id = ?", (id_,)).fetchone()
        if row and row[0] is not None:
            found[id_] = row[0]
    return found


def is_referenced(connection: sqlite3.Connection, file: str) -> bool:
    return connection.execute("SELECT 1 FROM segments WHERE file = ?", (file,)).fetchone() is not None


def removed_files(connection: sqlite3.Connection, before: int) -> list[tuple[str, str, int, int]]:
    """Files taken out of topics before a moment: name, topic, partition, first offset."""
    query = "SELECT file, topic, partition, first FROM removed_files WHERE removed <= ?"
    return connection.execute(query, (before,)).fetchall()


def forget_removed(connection: sqlite3.Connection, files: Iterable[str]) -> None:
    connection.executemany("DELETE FROM removed_files WHERE file = ?", [(file,) for file in files])

