"""The database: group commit, and clear words when the folder or the file cannot be used."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.storage.errors import (
    DatabaseClosed,
    DatabaseCorrupt,
    DatabaseForeign,
    DatabaseTooNew,
    DiskFull,
    FolderInUse,
    FolderNotWritable,
)
from penstock.storage.sqlite import FORMAT, NOT_TOGETHER, Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "penstock.db")
    opened.write(lambda c: c.execute("CREATE TABLE words (word TEXT)") and None).result()
    yield opened
    opened.close()


def add(database: Database, word: str) -> None:
    database.write(lambda c: c.execute("INSERT INTO words VALUES (?)", (word,)) and None).result()


def words(database: Database) -> list[str]:
    return database.read(lambda c: [row[0] for row in c.execute("SELECT word FROM words ORDER BY rowid")])


class Busy:
    """Keeps the writer busy until released, so that what is queued meanwhile becomes one group."""

    def __init__(self, database: Database) -> None:
        self._go = threading.Event()
        entered = threading.Event()
        self._held = database.write(lambda c: (entered.set(), self._go.wait(120), None)[2])
        assert entered.wait(120)

    def release(self) -> None:
        self._go.set()
        self._held.result()


def test_changes_queued_together_share_one_transaction(database: Database) -> None:
    statements: list[str] = []
    database.write(lambda c: c.set_trace_callback(statements.append)).result()
    busy = Busy(database)
    futures = [database.write(lambda c, n=n: c.execute("INSERT INTO words VALUES (?)", (n,)).rowcount) for n in "abc"]
    statements.clear()
    busy.release()
    assert [future.result() for future in futures] == [1, 1, 1]
    database.write(lambda c: c.set_trace_callback(None)).result()
    begun = [statement for statement in statements if statement.startswith("BEGIN")]
    assert len(begun) <= 2, "one for the three changes, one for switching the trace off"
    assert words(database) == ["a", "b", "c"]


def test_a_failing_change_fails_alone(database: Database) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO words VALUES ('half done')")
        raise ValueError("no")

    busy = Busy(database)
    before = database.write(lambda c: c.execute("INSERT INTO words VALUES ('before')").rowcount)
    failing = database.write(fail)
    after = database.write(lambda c: c.execute("INSERT INTO words VALUES ('after')").rowcount)
    busy.release()
    assert (before.result(), after.result()) == (1, 1)
    with pytest.raises(ValueError, match="no"):
        failing.result()
    assert words(database) == ["before", "after"]


def test_changes_that_only_together_cannot_be_saved_are_told_of(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    commit = database._commit

    def clumsy(group: list[Any]) -> BaseException | None:
        return commit(group) if len(group) == 1 else OSError("too many at once")

    busy = Busy(database)
    monkeypatch.setattr(database, "_commit", clumsy)
    futures = [database.write(lambda c, n=n: c.execute("INSERT INTO words VALUES (?)", (n,)).rowcount) for n in "abc"]
    busy.release()
    assert [future.result(60) for future in futures] == [1, 1, 1]
    database.close()
    (line,) = caplog.records
    assert line.getMessage() == f"3 changes {NOT_TOGETHER}, though each alone could be: too many at once"


def test_a_change_whose_commit_fails_leaves_nothing_behind_and_harms_no_other(database: Database) -> None:
    child = "CREATE TABLE children (word TEXT REFERENCES parents (word) DEFERRABLE INITIALLY DEFERRED)"
    database.write(lambda c: c.execute("CREATE TABLE parents (word TEXT PRIMARY KEY)") and None).result()
    database.write(lambda c: c.execute(child) and None).result()
    database._connection.execute("PRAGMA foreign_keys=ON")

    def orphan(connection: sqlite3.Connection) -> int:
        return connection.execute("INSERT INTO children VALUES ('alone')").rowcount

    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY constraint failed"):
        database.write(orphan).result()
    add(database, "after")
    busy = Busy(database)
    failing = database.write(orphan)
    neighbour = database.write(lambda c: c.execute("INSERT INTO words VALUES ('neighbour')").rowcount)
    busy.release()
    assert neighbour.result() == 1
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY constraint failed"):
        failing.result()
    assert words(database) == ["after", "neighbour"]
    assert database.read(lambda c: c.execute("SELECT count(*) FROM children").fetchone()) == (0,)


def test_a_change_that_ended_the_transaction_of_all_counts_as_it_went_alone(database: Database) -> None:
    calls: list[sqlite3.Connection] = []

    def abort_first(connection: sqlite3.Connection) -> int:
        calls.append(connection)
        if len(calls) == 1:
            connection.execute("ROLLBACK")
            raise sqlite3.OperationalError("lost")
        return connection.execute("INSERT INTO words VALUES ('again')").rowcount

    busy = Busy(database)
    first = database.write(abort_first)
    second = database.write(lambda c: c.execute("INSERT INTO words VALUES ('neighbour')").rowcount)
    busy.release()
    assert (first.result(60), second.result(60), len(calls)) == (1, 1, 2)
    assert words(database) == ["again", "neighbour"]


def test_after_runs_in_order_once_the_change_is_visible_and_before_the_future_ends(database: Database) -> None:
    seen: list[tuple[str, list[str], bool]] = []
    futures = []
    busy = Busy(database)
    for word in ("one", "two"):
        futures.append(
            database.write(
                lambda c, w=word: (c.execute("INSERT INTO words VALUES (?)", (w,)), w)[1],
                lambda w: seen.append((w, words(database), futures[["one", "two"].index(w)].done())),
            )
        )
    busy.release()
    [future.result() for future in futures]
    assert seen == [("one", ["one", "two"], False), ("two", ["one", "two"], False)]


def test_what_after_raises_does_not_undo_the_change(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("listener broke")

    assert database.write(lambda c: c.execute("INSERT INTO words VALUES ('kept')").rowcount, broken).result() == 1
    assert words(database) == ["kept"]
    assert "listener broke" in caplog.text


def test_changes_survive_closing(tmp_path: Path, database: Database) -> None:
    add(database, "kept")
    database.close()
    with pytest.raises(DatabaseClosed):
        database.write(lambda c: None).result()
    again = Database(tmp_path / "penstock.db")
    assert words(again) == ["kept"]
    again.close()


def test_what_is_queued_is_written_before_closing(tmp_path: Path, database: Database) -> None:
    futures = [database.write(lambda c: c.execute("INSERT INTO words VALUES ('x')").rowcount) for _ in range(100)]
    database.close()
    assert sum(future.result() for future in futures) == 100


def test_readers_cannot_write(database: Database) -> None:
    with pytest.raises(FolderNotWritable, match="readonly"):
        database.read(lambda c: c.execute("DELETE FROM words"))


def test_a_second_worker_on_the_folder_is_refused_until_the_first_ends(tmp_path: Path, database: Database) -> None:
    with pytest.raises(FolderInUse) as refused:
        Database(tmp_path / "penstock.db")
    assert str(tmp_path) in str(refused.value)
    assert f"process {os.getpid()}" in str(refused.value)
    assert "data.dir" in str(refused.value)
    add(database, "still works")
    database.close()
    Database(tmp_path / "penstock.db").close()


@pytest.mark.integration
def test_a_killed_worker_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "penstock.db"
    opening = f"from penstock.storage.sqlite import Database; Database({str(path)!r})"
    script = f"import os; {opening}; os.kill(os.getpid(), 9)"
    assert run_python(script).returncode == -9
    Database(path).close()


def test_garbage_instead_of_a_database_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "penstock.db"
    path.write_bytes(b"this is no database" * 1000)
    before = path.read_bytes()
    with pytest.raises(DatabaseCorrupt) as refused:
        Database(path)
    assert str(path) in str(refused.value)
    assert "backup" in str(refused.value)
    assert path.read_bytes() == before
    assert {file.name for file in tmp_path.iterdir()} == {"penstock.db", "penstock.lock"}


def test_a_damaged_page_is_found_at_start(tmp_path: Path, database: Database) -> None:
    path = tmp_path / "penstock.db"
    for number in range(3000):
        database.write(lambda c, n=number: c.execute("INSERT INTO words VALUES (?)", (f"{n:0100d}",)) and None)
    database.close()
    damaged = bytearray(path.read_bytes())
    damaged[8192:20480] = b"\xff" * 12288
    path.write_bytes(damaged)
    with pytest.raises(DatabaseCorrupt):
        Database(path)
    assert path.read_bytes() == damaged


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path, database: Database) -> None:
    database.close()
    with sqlite3.connect(tmp_path / "penstock.db") as connection:
        connection.execute(f"PRAGMA user_version={FORMAT + 5}")
    connection.close()
    with pytest.raises(DatabaseTooNew, match=f"format {FORMAT + 5}.*up to {FORMAT}"):
        Database(tmp_path / "penstock.db")


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "penstock.db") as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(DatabaseForeign, match="not made by Penstock"):
        Database(tmp_path / "penstock.db")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderNotWritable, match=r"file.*cannot be written.*data\.dir"):
        Database(tmp_path / "file" / "data" / "penstock.db")


@pytest.fixture
def seen_by_all() -> Iterator[Path]:
    """A folder that other users may enter, unlike those below ``tmp_path``."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.integration
def test_a_read_only_folder_is_named(seen_by_all: Path) -> None:
    folder = seen_by_all / "data"
    folder.mkdir(mode=0o555)
    script = (
        "import os; from penstock.storage.sqlite import Database\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        f"Database({str(folder / 'penstock.db')!r})"
    )
    run = run_python(script)
    assert run.returncode == 1
    assert f"FolderNotWritable: The data folder {folder} cannot be written: Permission denied" in run.stderr


def test_a_full_disk_fails_the_write_and_nothing_else(database: Database) -> None:
    add(database, "before")
    pages = database.read(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
    database.write(lambda c: c.execute(f"PRAGMA max_page_count={pages + 4}").fetchall()).result()
    busy = Busy(database)
    small = database.write(lambda c: c.execute("INSERT INTO words VALUES ('small')").rowcount)
    big = database.write(lambda c: c.execute("INSERT INTO words VALUES (?)", ("x" * 1_000_000,)).rowcount)
    busy.release()
    assert small.result() == 1, "a neighbour in the same group is not harmed"
    with pytest.raises(DiskFull, match="not made, nothing saved before is lost"):
        big.result()
    assert words(database) == ["before", "small"]
    database.write(lambda c: c.execute("PRAGMA max_page_count=100000").fetchall()).result()
    add(database, "after")
    assert words(database) == ["before", "small", "after"]


def run_python(script: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
