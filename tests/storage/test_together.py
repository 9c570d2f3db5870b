"""Writes that belong together: one transaction, all of them or none."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.storage.errors import DatabaseClosed
from penstock.storage.sqlite import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "penstock.db")
    opened.write(lambda c: c.execute("CREATE TABLE words (word TEXT UNIQUE)") and None).result()
    yield opened
    opened.close()


def adding(word: str) -> Callable[[sqlite3.Connection], int]:
    return lambda connection: connection.execute("INSERT INTO words VALUES (?)", (word,)).rowcount


def counting(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM words").fetchone()[0])


def words(database: Database) -> list[str]:
    return database.read(lambda c: [row[0] for row in c.execute("SELECT word FROM words ORDER BY rowid")])


def test_all_are_made_and_told_of_in_order(database: Database) -> None:
    told: list[str] = []
    with database.together():
        first = database.write(adding("a"), lambda count: told.append(f"a {count}"))
        second = database.write(counting, lambda count: told.append(f"of {count}"))
        assert not first.done()
    assert (first.result(), second.result()) == (1, 1)
    assert told == ["a 1", "of 1"]
    assert words(database) == ["a"]


def test_one_that_fails_undoes_all_and_fails_all(database: Database) -> None:
    told: list[int] = []
    with database.together():
        first = database.write(adding("a"), told.append)
        second = database.write(adding("a"), told.append)
        third = database.write(adding("b"), told.append)
    for future in (first, second, third):
        assert "UNIQUE" in str(future.exception(10))
    assert words(database) == []
    assert told == []


def test_none_of_them_can_be_taken_back_alone(database: Database) -> None:
    go_on = threading.Event()
    before = database.write(lambda connection: go_on.wait(60))
    with database.together():
        first, second = database.write(adding("a")), database.write(adding("b"))
    taken_back = first.cancel()
    go_on.set()
    assert not taken_back
    assert (before.result(60), first.result(60), second.result(60)) == (True, 1, 1)
    assert words(database) == ["a", "b"]


def test_a_block_that_raises_writes_nothing(database: Database) -> None:
    def broken_block() -> None:
        with database.together():
            database.write(adding("a"))
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        broken_block()
    database.write(adding("b")).result()
    assert words(database) == ["b"]


def test_others_are_not_drawn_in(database: Database) -> None:
    with database.together():
        bundled = database.write(adding("a"))
        failing = database.write(adding("a"))
    alone = database.write(adding("b"))
    assert alone.result() == 1
    assert bundled.exception(10) is failing.exception(10)
    assert words(database) == ["b"]


def test_after_the_end_all_fail(tmp_path: Path) -> None:
    database = Database(tmp_path / "penstock.db")
    database.close()
    with database.together():
        futures = [database.write(adding("a")), database.write(adding("b"))]
    for future in futures:
        assert isinstance(future.exception(10), DatabaseClosed)
