"""A log in a table of the worker's database."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from concurrent.futures import Future

from .log import Listener, Log, LogRecord
from .sqlite import Database

Entries = Sequence[tuple[int, LogRecord]]

_TABLE = """
CREATE TABLE IF NOT EXISTS log_records (
    position INTEGER PRIMARY KEY AUTOINCREMENT, log TEXT NOT NULL, key BLOB NOT NULL, value BLOB)
"""
_INDEX = "CREATE INDEX IF NOT EXISTS log_records_by_key ON log_records (log, key)"
_INSERT = "INSERT INTO log_records (log, key, value) VALUES (?, ?, ?)"
_COMPACT = """
DELETE FROM log_records WHERE log = :log AND (value IS NULL OR position NOT IN (
    SELECT max(position) FROM log_records WHERE log = :log GROUP BY key))
"""


class SqliteLog(Log):
    """One named log of a :class:`~penstock.storage.sqlite.Database`.

    ``history`` is the number of records kept although newer ones replace them. With 0 (right where keys stand for
    themselves) only the newest record of a key exists; a store whose keys depend on the order of each other's
    records asks for more, and is compacted at ``start`` once they exceed it.
    """

    def __init__(self, database: Database, name: str, history: int = 0) -> None:
        self.database = database
        self.name = name
        self._history = history
        self._listener: Listener | None = None

    def start(self, listener: Listener) -> int:
        entries = self.database.write(self._replay).result()
        if entries:
            listener(entries)
        self._listener = listener
        return entries[-1][0] + 1 if entries else 0

    def append(self, records: Sequence[LogRecord]) -> Future[None]:
        written: list[Entries] = []

        def run(connection: sqlite3.Connection) -> None:
            written[:] = [self.append_within(connection, records)]

        return self.database.write(run, lambda _: self.tell(written[0]))

    def append_within(self, connection: sqlite3.Connection, records: Sequence[LogRecord]) -> Entries:
        """Append as a part of the caller's transaction. After its commit the caller must :meth:`tell` the answer."""
        entries: list[tuple[int, LogRecord]] = []
        for record in records:
            if not self._history:
                connection.execute("DELETE FROM log_records WHERE log = ? AND key = ?", (self.name, record.key))
            position = connection.execute(_INSERT, (self.name, record.key, record.value)).lastrowid
            assert position is not None
            if record.value is None and not self._history:
                connection.execute("DELETE FROM log_records WHERE position = ?", (position,))
            entries.append((position, record))
        return entries

    def tell(self, entries: Entries) -> None:
        """Hand committed entries to the listener. Runs on the database's writer thread."""
        if self._listener and entries:
            self._listener(entries)

    def stop(self) -> None:
        self.database.write(lambda connection: None).exception()
        self._listener = None

    def _replay(self, connection: sqlite3.Connection) -> Entries:
        connection.execute(_TABLE)
        connection.execute(_INDEX)
        query = "SELECT count(*) - count(DISTINCT key) FROM log_records WHERE log = ?"
        if connection.execute(query, (self.name,)).fetchone()[0] > self._history:
            connection.execute(_COMPACT, {"log": self.name})
        return self._read(connection)

    def _read(self, connection: sqlite3.Connection) -> Entries:
        query = "SELECT position, key, value FROM log_records WHERE log = ? ORDER BY position"
        rows = connection.execute(query, (self.name,))
        return [(position, LogRecord(key, value)) for position, key, value in rows]
