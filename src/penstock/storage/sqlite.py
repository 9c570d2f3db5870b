"""One SQLite file with one writer thread: many changes share a transaction and an fsync."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from .errors import (
    DatabaseClosed,
    DatabaseCorrupt,
    DatabaseForeign,
    DatabaseTooNew,
    FolderNotWritable,
    explain,
)
from .faults import reach
from .folder_lock import FolderLock

logger = logging.getLogger(__name__)

T = TypeVar("T")

FORMAT = 1
APPLICATION = 0x50454E53
BUSY_SECONDS = 10.0
GROUP_LIMIT = 2_000
NOT_TOGETHER = "could not be saved together"
"""In the line about changes each of which could be saved alone; the tests of workers look for it."""
CHECKED_WHEN_SMALLER = 32 * 1024 * 1024


@dataclass(slots=True)
class _Change:
    """A queued write: what to run, what to tell after the commit, and who waits."""

    run: Callable[[sqlite3.Connection], Any]
    after: Callable[[Any], None] | None
    future: Future[Any] = field(default_factory=Future)
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        """Tell of what became of it. Runs on the writer thread, after the commit."""
        if self.error is not None:
            self.future.set_exception(self.error)
            return
        if self.after is not None:
            try:
                self.after(self.result)
            except Exception:
                logger.exception("A change was saved, but telling of it failed")
        self.future.set_result(self.result)


class _Bundle(_Change):
    """Several writes that are made all together or not at all."""

    def __init__(self, parts: list[_Change]) -> None:
        super().__init__(self._run_parts, None)
        self._parts = parts
        for part in parts:
            part.future.set_running_or_notify_cancel()

    def settle(self) -> None:
        reach("together-settled")
        for part in self._parts:
            part.error = self.error
            part.settle()

    def _run_parts(self, connection: sqlite3.Connection) -> None:
        for part in self._parts:
            part.result = part.run(connection)
            reach("together-within")


class Database:
    """The file, its lock, its writer thread and its readers. Only one worker at a time may hold a folder.

    Raises a :class:`~penstock.storage.errors.StorageError` when the file cannot be used.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FolderNotWritable(self.path.parent, error) from error
        self._lock = FolderLock(self.path.parent)
        try:
            self._connection = self._open()
        except BaseException:
            self._lock.release()
            raise
        self._queue: deque[_Change] = deque()
        self._bundling = threading.local()
        self._wake = threading.Condition()
        self._closed = False
        self._readers: list[sqlite3.Connection] = []
        self._writer = threading.Thread(target=self._write_loop, name="penstock-database", daemon=True)
        self._writer.start()

    def write(
        self, run: Callable[[sqlite3.Connection], T], after: Callable[[T], None] | None = None
    ) -> Future[T]:
        """Queue a change. The future ends with what ``run`` returned, once that is durable.

        ``run`` is called on the writer thread, within a transaction shared with other changes but rolled back on
        its own when it raises. It may be called again when the shared transaction failed, so it must not keep
        anything of a first call. ``after`` gets the result on the writer thread after the commit and before the
        future ends, in the order of the calls of ``write``; what it raises is logged, for the change is made.
        Neither may block.
        """
        change = _Change(run, after)
        bundled: list[_Change] | None = getattr(self._bundling, "parts", None)
        if bundled is None:
            self._enqueue(change)
        else:
            bundled.append(change)
        return change.future

    @contextmanager
    def together(self) -> Iterator[None]:
        """What the calling thread writes within the block is one change: all of it is made, or none.

        It is queued at the end of the block, so nobody may wait for its futures before. When one of the writes
        fails, all futures end with its error; when the block raises, nothing is queued at all.
        """
        parts: list[_Change] = []
        self._bundling.parts = parts
        try:
            yield
        finally:
            self._bundling.parts = None
        if parts:
            self._enqueue(_Bundle(parts))

    def _enqueue(self, change: _Change) -> None:
        with self._wake:
            if not self._closed:
                self._queue.append(change)
                self._wake.notify()
                return
        change.error = DatabaseClosed(self.path)
        change.settle()

    def read(self, run: Callable[[sqlite3.Connection], T]) -> T:
        """Call ``run`` with a read-only connection, on the calling thread."""
        with self._reader() as connection:
            try:
                return run(connection)
            except sqlite3.Error as error:
                raise explain(self.path, error) from error

    def close(self) -> None:
        """Finish what is queued and let go of the folder. Closing twice is harmless."""
        with self._wake:
            if self._closed:
                return
            self._closed = True
            self._wake.notify()
        self._writer.join()
        for reader in self._readers:
            reader.close()
        self._connection.close()
        self._lock.release()

    def _open(self) -> sqlite3.Connection:
        """A connection for the writer, on a file that is ours and sound."""
        size = self.path.stat().st_size if self.path.exists() else 0
        try:
            connection = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._check(connection, size)
                self._prepare(connection, size)
            except BaseException:
                connection.close()
                raise
        except sqlite3.Error as error:
            raise explain(self.path, error) from error
        return connection

    def _check(self, connection: sqlite3.Connection, size: int) -> None:
        if size == 0:
            return
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != APPLICATION and tables:
            raise DatabaseForeign(self.path)
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found > FORMAT:
            raise DatabaseTooNew(self.path, found, FORMAT)
        if size < CHECKED_WHEN_SMALLER:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise DatabaseCorrupt(self.path, verdict)

    @staticmethod
    def _prepare(connection: sqlite3.Connection, size: int) -> None:
        if size == 0:
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA wal_autocheckpoint=4000")
        connection.execute(f"PRAGMA journal_size_limit={64 * 1024 * 1024}")
        connection.execute("PRAGMA cache_size=-32000")
        connection.execute(f"PRAGMA application_id={APPLICATION}")
        connection.execute(f"PRAGMA user_version={FORMAT}")

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = sqlite3.connect(
                f"{self.path.resolve().as_uri()}?mode=ro",
                uri=True,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            yield connection
        finally:
            self._readers.append(connection)

    def _write_loop(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closed:
                    self._wake.wait()
                group = [self._queue.popleft() for _ in range(min(len(self._queue), GROUP_LIMIT))]
            if not group:
                return
            wanted = [change for change in group if change.future.set_running_or_notify_cancel()]
            self._commit_apart_if_together_fails(wanted)
            for change in wanted:
                change.settle()

    def _commit_apart_if_together_fails(self, group: list[_Change]) -> None:
        failure = self._commit(group)
        if failure is None:
            return
        if len(group) == 1:
            group[0].error = group[0].error or failure
            return
        for change in group:
            alone = self._commit([change])
            if alone is not None:
                change.error = change.error or alone
        if not any(change.error for change in group):
            logger.warning("%d changes %s, though each alone could be: %s", len(group), NOT_TOGETHER, failure)

    def _commit(self, group: list[_Change]) -> BaseException | None:
        """Run the changes in one transaction; the error that undid the whole of it, if any."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for change in group:
                self._run(change)
                if not connection.in_transaction:
                    return change.error
            reach("database-before-commit")
            connection.execute("COMMIT")
            reach("database-after-commit")
            return None
        except sqlite3.Error as error:
            self._roll_back()
            return explain(self.path, error)

    def _run(self, change: _Change) -> None:
        connection = self._connection
        change.error = None
        connection.execute("SAVEPOINT change")
        try:
            change.result = change.run(connection)
        except BaseException as error:
            change.error = explain(self.path, error) if isinstance(error, sqlite3.Error) else error
            if connection.in_transaction:
                connection.execute("ROLLBACK TO change")
        if connection.in_transaction:
            connection.execute("RELEASE change")

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
