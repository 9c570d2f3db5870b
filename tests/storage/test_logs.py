"""Every log: replay, order, atomic appends, tombstones; and what only the one in SQLite promises."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.storage.errors import DiskFull
from penstock.storage.log import Log, LogRecord
from penstock.storage.memory_log import MemoryLog
from penstock.storage.sqlite import Database
from penstock.storage.sqlite_log import Entries, SqliteLog


class Heard:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.batches: list[list[tuple[int, LogRecord]]] = []

    def __call__(self, entries: Entries) -> None:
        self.batches.append(list(entries))

    @property
    def records(self) -> list[LogRecord]:
        return [record for batch in self.batches for _, record in batch]

    @property
    def positions(self) -> list[int]:
        return [position for batch in self.batches for position, _ in batch]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "penstock.db")
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", "sqlite with history", "memory"])
def new_log(request: pytest.FixtureRequest, database: Database) -> Callable[[], Log]:
    if request.param == "memory":
        kept: list[LogRecord] = []

        def memory() -> Log:
            log = MemoryLog()
            log.records = kept
            return log

        return memory
    return lambda: SqliteLog(database, "things", history=100 if "history" in request.param else 0)


A, B, C = LogRecord(b"a", b"1"), LogRecord(b"b", b"2"), LogRecord(b"a", b"3")


def test_an_append_is_told_as_one_batch_before_its_future_ends(new_log: Callable[[], Log]) -> None:
    log, heard = new_log(), Heard()
    assert log.start(heard) == 0
    log.append([A, B]).result()
    assert [[record for _, record in batch] for batch in heard.batches] == [[A, B]]
    log.append([C]).result()
    assert heard.records == [A, B, C]
    assert heard.positions == sorted(set(heard.positions))


def test_a_restart_replays_the_newest_of_each_key_in_order_and_tells_where_news_begins(
    new_log: Callable[[], Log],
) -> None:
    log = new_log()
    log.start(Heard())
    for record in (A, B, C):
        log.append([record]).result()
    log.stop()
    again, heard = new_log(), Heard()
    end = again.start(heard)
    assert {record.key: record.value for record in heard.records} == {b"a": b"3", b"b": b"2"}
    assert heard.records[-2:] == [B, C]
    assert end == heard.positions[-1] + 1
    heard.batches.clear()
    again.append([A]).result()
    assert heard.positions[0] >= end


def test_a_deleted_key_stays_deleted_after_a_restart(new_log: Callable[[], Log]) -> None:
    log, heard = new_log(), Heard()
    log.start(heard)
    log.append([A, B]).result()
    log.append([LogRecord(b"a", None)]).result()
    assert heard.records[-1] == LogRecord(b"a", None)
    log.stop()
    again, replayed = new_log(), Heard()
    again.start(replayed)
    newest = {record.key: record.value for record in replayed.records}
    assert newest.get(b"a") is None
    assert newest[b"b"] == b"2"


def test_logs_of_one_database_are_apart(database: Database) -> None:
    one, other, heard_one, heard_other = SqliteLog(database, "one"), SqliteLog(database, "other"), Heard(), Heard()
    one.start(heard_one)
    other.start(heard_other)
    one.append([A]).result()
    other.append([B]).result()
    assert (heard_one.records, heard_other.records) == ([A], [B])


def test_without_history_only_the_newest_record_of_a_key_takes_space(database: Database) -> None:
    log = SqliteLog(database, "things")
    log.start(Heard())
    for number in range(50):
        log.append([LogRecord(b"a", b"%d" % number)]).result()
    log.append([B, LogRecord(b"b", None)]).result()
    assert _rows(database) == [(b"a", b"49")]


def test_history_is_kept_in_order_until_there_is_too_much_of_it(database: Database) -> None:
    records = [LogRecord(b"a", b"%d" % number) for number in range(10)] + [B, LogRecord(b"b", None)]
    log = SqliteLog(database, "things", history=12)
    log.start(Heard())
    log.append(records).result()
    heard = Heard()
    SqliteLog(database, "things", history=12).start(heard)
    assert heard.records == records
    SqliteLog(database, "things", history=5).start(Heard())
    assert _rows(database) == [(b"a", b"9")]


def test_an_append_that_fails_is_neither_kept_nor_told(database: Database) -> None:
    log, heard = SqliteLog(database, "things"), Heard()
    log.start(heard)
    log.append([A]).result()
    pages = database.read(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
    database.write(lambda c: c.execute(f"PRAGMA max_page_count={pages + 2}").fetchall()).result()
    with pytest.raises(DiskFull):
        log.append([B, LogRecord(b"big", b"x" * 1_000_000)]).result()
    assert heard.records == [A]
    assert _rows(database) == [(b"a", b"1")]


def test_an_append_within_a_transaction_shares_its_fate(database: Database) -> None:
    log, heard = SqliteLog(database, "things"), Heard()
    log.start(heard)

    def fails(connection: sqlite3.Connection) -> Entries:
        log.append_within(connection, [A])
        raise ValueError("changed my mind")

    assert isinstance(database.write(fails, log.tell).exception(), ValueError)
    assert (heard.records, _rows(database)) == ([], [])
    database.write(lambda connection: log.append_within(connection, [A]), log.tell).result()
    assert (heard.records, _rows(database)) == ([A], [(b"a", b"1")])


def _rows(database: Database) -> list[tuple[bytes, bytes]]:
    return database.read(lambda c: c.execute("SELECT key, value FROM log_records ORDER BY position").fetchall())
