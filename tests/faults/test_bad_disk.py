"""Databases that are damaged, locked or not ours, folders that may not be written, disks that fill up, files that rot.

A worker says what is wrong and what to do, harms nothing, and goes on by itself where that is possible.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.storage.sqlite import FORMAT, Database
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

from . import disks
from .pipeline import STRING, Pipeline, line
from .remains import segment_files, topic_values

pytestmark = pytest.mark.integration

START_UP_FAILED = 2
DISK_MEGABYTES = 96


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[PenstockProcess]:
    """A worker that was not started yet."""
    worker = PenstockProcess(tmp_path / "worker")
    yield worker
    worker.kill()


def database_of(worker: PenstockProcess) -> Path:
    """A sound database as a worker leaves it."""
    path = worker.data_dir / "penstock.db"
    database = Database(path)

    def fill(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE filling (number INTEGER PRIMARY KEY, text TEXT)")
        connection.executemany("INSERT INTO filling (text) VALUES (?)", [("x" * 500,) for _ in range(500)])

    database.write(fill).result()
    database.close()
    return path


def damage(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(20 * 4096)
        file.write(os.urandom(10 * 4096))


def replace_by_text(path: Path) -> None:
    path.write_text("This is not a database, but somebody's notes.\n" * 200)


def replace_by_a_foreign_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    connection.close()


def raise_format(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version={FORMAT + 1}")
    connection.close()


@pytest.mark.parametrize(
    ("spoil", "complaint", "way_out"),
    [
        (damage, "is damaged or is not a database", "Restore it from a backup"),
        (replace_by_text, "is damaged or is not a database", "Restore it from a backup"),
        (replace_by_a_foreign_database, "was not made by Penstock", "'data.dir'"),
        (raise_format, f"has format {FORMAT + 1}, written by a newer Penstock", "Upgrade Penstock"),
    ],
)
def test_a_database_that_cannot_be_used_is_named_and_left_as_it_is(
    worker: PenstockProcess, spoil: Callable[[Path], None], complaint: str, way_out: str
) -> None:
    path = database_of(worker)
    spoil(path)
    before = path.read_bytes()
    said = refusal(worker)
    assert f"The database {path} {complaint}" in said
    assert way_out in said
    assert path.read_bytes() == before


def test_a_folder_in_use_is_refused_and_free_again_when_its_holder_is_gone(worker: PenstockProcess) -> None:
    holder = Database(worker.data_dir / "penstock.db")
    assert f"Another worker (process {os.getpid()}) is using the data folder {worker.data_dir}" in refusal(worker)
    holder.close()
    worker.start()
    assert worker.http.get("/connectors").json() == []


def test_a_folder_that_cannot_be_made_is_named(worker: PenstockProcess, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    worker.settings["data.dir"] = str(tmp_path / "file" / "data")
    assert f"The data folder {tmp_path}/file/data cannot be written: Not a directory" in refusal(worker)


@pytest.mark.parametrize("unwritable", ["folder", "penstock.db"])
def test_missing_permissions_are_named(worker: PenstockProcess, unwritable: str) -> None:
    path = database_of(worker)
    (worker.data_dir / "penstock.lock").unlink()
    if unwritable == "folder":
        worker.data_dir.chmod(0o500)
    else:
        path.chmod(0o400)
    said = refusal(worker, disks.obey_permissions)
    assert f"The data folder {worker.data_dir} cannot be written" in said
    assert "write permission" in said
    worker.data_dir.chmod(0o700)
    path.chmod(0o600)
    worker.start()


def test_a_database_locked_by_another_program_delays_and_loses_nothing(tmp_path: Path) -> None:
    with Pipeline(tmp_path) as pipeline:
        worker = pipeline.worker
        program = sqlite3.connect(worker.data_dir / "penstock.db", isolation_level=None)
        program.execute("BEGIN IMMEDIATE")
        answer = worker.http.put("/connectors/out/pause")
        assert answer.status_code == 503
        assert "stayed locked by another program" in answer.json()["message"]
        assert worker.http.get("/connectors/in/status").json()["tasks"][0]["state"] == "RUNNING"
        program.execute("ROLLBACK")
        program.close()
        pipeline.wait_until_more_is_out()
        assert_all_arrives_once(pipeline)


@pytest.mark.parametrize("kind", ["size limit", "small disk"])
def test_a_full_disk_delays_and_loses_nothing(tmp_path: Path, kind: str) -> None:
    with disk_of(tmp_path, kind) as disk, Pipeline(tmp_path, disk.folder) as pipeline:
        worker = pipeline.worker
        wait_until(lambda: (worker.data_dir / "penstock.db-wal").stat().st_size > 2 * disks.MEGABYTE, "much is written")
        disk.fill(worker.pid)
        wait_until(lambda: "will try again in" in worker.tail(), "the tasks see that there is no space")
        config = {**pipeline.configs["paused"], "name": "late"}
        answer = wait_until(lambda: refused(worker, config), "a new connector is refused")
        assert answer == 503
        assert [worker.status(name)["tasks"][0]["state"] for name in ("in", "out")] == ["RUNNING", "RUNNING"]
        disk.free(worker.pid)
        pipeline.wait_until_more_is_out()
        worker.create("late", config)
        said = worker.output.read_text()
        assert "No space left to write" in said or "The system refused to write" in said
        assert said.count("will try again in") < 60
        assert_all_arrives_once(pipeline)


def test_a_worker_killed_and_started_on_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    with disk_of(tmp_path, "small disk") as disk, Pipeline(tmp_path, disk.folder) as pipeline:
        worker = pipeline.worker
        disk.fill(worker.pid)
        wait_until(lambda: "will try again in" in worker.tail(), "the tasks see that there is no space")
        worker.restart()
        pipeline.wait_sane()
        worker.kill()
        disk.free(worker.pid)
        worker.start()
        pipeline.wait_until_more_is_out()
        assert_all_arrives_once(pipeline)


def test_damaged_segment_files_fail_the_tasks_that_need_them_and_no_other(worker: PenstockProcess) -> None:
    topics = ("sound", "truncated", "missing", "flipped")
    text = worker.folder / "in.txt"
    worker.start()
    text.write_bytes(b"".join(line(number) for number in range(20_000)))
    for topic in topics:
        worker.create(f"{topic}-in", {"connector.class": "FileStreamSource", "file": str(text), "topic": topic})
    for topic in topics:
        wait_until(lambda: segment_files(worker.data_dir, topic), f"{topic} has a file")  # noqa: B023
    worker.stop()
    files = {topic: segment_files(worker.data_dir, topic)[0] for topic in topics}
    spoil_files(files)

    worker.start()
    assert f"lacks the file {files['missing']}" in worker.tail()
    for topic in topics:
        sink = {"connector.class": "FileStreamSink", "file": str(worker.folder / f"{topic}.txt"), "topics": topic}
        worker.create(f"{topic}-out", {**sink, "key.converter": STRING, "value.converter": STRING})
    for topic in topics[1:]:
        (task,) = wait_until(lambda: failed_tasks(worker, f"{topic}-out"), f"{topic} fails")  # noqa: B023
        assert str(files[topic]) in task["trace"]
        assert "Restore it from a backup, or move the consumer past it" in task["trace"]
        worker.wait_state(f"{topic}-in", "RUNNING")
    sound = worker.folder / "sound.txt"
    wait_until(lambda: sound.stat().st_size >= text.stat().st_size, "the sound topic is out")
    worker.wait_state("sound-out", "RUNNING")


def spoil_files(files: dict[str, Path]) -> None:
    os.truncate(files["truncated"], files["truncated"].stat().st_size // 2)
    files["missing"].unlink()
    content = bytearray(files["flipped"].read_bytes())
    content[len(content) // 3] ^= 1
    files["flipped"].write_bytes(content)


def failed_tasks(worker: PenstockProcess, name: str) -> list[dict[str, str]]:
    return [task for task in worker.status(name)["tasks"] if task["state"] == "FAILED"]


def refusal(worker: PenstockProcess, prepare: Callable[[], None] | None = None) -> str:
    """What a worker says that cannot start, on one line."""
    position = worker.output.stat().st_size if worker.output.exists() else 0
    worker.prepare = prepare
    worker.start(wait=False)
    worker.prepare = None
    assert worker.wait_for_exit(30) == START_UP_FAILED
    said = worker.output.read_bytes()[position:].decode()
    assert "The worker could not start" in said
    assert "Traceback" not in said
    return said


@contextmanager
def disk_of(folder: Path, kind: str) -> Iterator[disks.Disk]:
    if kind == "size limit":
        (folder / "disk").mkdir()
        yield disks.SizeLimit(folder / "disk")
        return
    with disks.mounted(folder / "disk", DISK_MEGABYTES) as is_mounted:
        if not is_mounted:
            pytest.skip("mounting a small disk takes root; the size limit was tried instead")
        yield disks.SmallDisk(folder / "disk")


def assert_all_arrives_once(pipeline: Pipeline) -> None:
    """Stop feeding, let everything come out, and compare."""
    pipeline.feeder.stop()
    pipeline.wait_until_all_is_out()
    assert pipeline.worker.stop() == 0
    fed = pipeline.source.read_bytes()
    assert b"".join(value + b"\n" for value in topic_values(pipeline.worker.data_dir)) == fed
    assert pipeline.target.read_bytes() == fed


def refused(worker: PenstockProcess, config: dict[str, str]) -> int | None:
    """The status of a creation that failed for want of space, saying so."""
    answer = worker.http.post("/connectors", json={"name": config["name"], "config": config})
    if answer.status_code == 201:
        worker.http.delete(f"/connectors/{config['name']}")
        return None
    message = answer.json()["message"]
    assert "No space left to write" in message or "The system refused to write" in message
    return answer.status_code
