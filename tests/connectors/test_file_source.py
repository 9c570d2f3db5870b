"""FileStreamSource: what becomes a record, and when."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock.api import ConfigError, PluginError, RetriableError, SourceOffset, SourceOffsets, SourcePartition
from penstock.connectors.file import FileStreamSource
from penstock.connectors.file import source as source_module
from penstock.connectors.file.lines import next_line_start
from penstock.connectors.file.source import FileStreamSourceTask


class Offsets(SourceOffsets):
    def __init__(self) -> None:
        self.known: dict[str, SourceOffset] = {}

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        return self.known.get(partition["filename"])

    def all(self) -> Sequence[tuple[SourcePartition, SourceOffset]]:
        return [({"filename": name}, offset) for name, offset in self.known.items()]


class Reader:
    """A task with its committed offsets: plans, reads and commits like the runtime."""

    def __init__(self, file: Path) -> None:
        self.file = str(file)
        self.offsets = Offsets()
        self.task = self.fresh()

    def fresh(self) -> FileStreamSourceTask:
        task = FileStreamSourceTask()
        task.configure({"file": self.file, "topic": "t"})
        task.start()
        return task

    def batch(self, commit: bool = True) -> list[str] | None:
        plan = self.task.plan(self.offsets)
        if plan is None:
            return None
        lines = [r.value for split in plan.splits for batch in self.task.read(split) for r in batch.records()]
        if commit:
            for partition, offset in plan.ends:
                self.offsets.known[partition["filename"]] = offset
            self.task.committed(plan.ends)
        return lines

    @property
    def position(self) -> int:
        return int(self.offsets.known[self.file]["position"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "in.txt"


def test_lines_become_records_and_the_position_counts_bytes(file: Path) -> None:
    file.write_bytes("eins\n\nzwölf\n".encode())
    reader = Reader(file)
    assert reader.batch() == ["eins", "", "zwölf"]
    assert reader.position == file.stat().st_size
    assert reader.batch() is None


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\rc\n", ["a", "b", "c"]),
        (b"a\r\rb\n\n\r\nc\n", ["a", "", "b", "", "", "c"]),
        (b"\n", [""]),
        (b"\xff\xfeok\n", ["\ufffd\ufffdok"]),
        (b"nul\0in\n", ["nul\0in"]),
    ],
)
def test_line_ends_are_those_of_java(file: Path, data: bytes, lines: list[str]) -> None:
    file.write_bytes(data)
    assert Reader(file).batch() == lines


def test_a_partial_line_waits_for_its_end(file: Path) -> None:
    file.write_bytes(b"one\ntw")
    reader = Reader(file)
    assert reader.batch() == ["one"]
    assert reader.batch() is None
    with file.open("ab") as out:
        out.write(b"o")
    assert reader.batch() is None
    with file.open("ab") as out:
        out.write(b"\nthree\n")
    assert reader.batch() == ["two", "three"]


def test_a_carriage_return_at_the_end_waits_for_its_newline(file: Path) -> None:
    file.write_bytes(b"one\r")
    reader = Reader(file)
    assert reader.batch() is None
    with file.open("ab") as out:
        out.write(b"\ntwo\r")
    assert reader.batch() == ["one"]
    with file.open("ab") as out:
        out.write(b"x")
    assert reader.batch() == ["two"]


def test_an_uncommitted_batch_is_planned_again(file: Path) -> None:
    file.write_bytes(b"one\n")
    reader = Reader(file)
    assert reader.batch(commit=False) == ["one"]
    assert reader.batch() == ["one"]
    reader.offsets.known.clear()
    assert reader.batch() == ["one"]


def test_a_missing_file_is_waited_for_with_one_warning(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    reader = Reader(file)
    assert [reader.batch() for _ in range(3)] == [None, None, None]
    assert [str(file) in message for message in caplog.messages] == [True]
    file.write_bytes(b"late\n")
    assert reader.batch() == ["late"]


def test_a_truncated_file_is_read_from_its_beginning(file: Path) -> None:
    file.write_bytes(b"one\ntwo\n")
    reader = Reader(file)
    reader.batch()
    file.write_bytes(b"new\n")
    assert reader.batch() == ["new"]
    assert reader.position == 4


def test_a_truncated_file_is_read_from_its_beginning_after_a_restart_too(file: Path) -> None:
    file.write_bytes(b"one\ntwo\n")
    reader = Reader(file)
    reader.batch()
    file.write_bytes(b"new\n")
    reader.task = reader.fresh()
    assert reader.batch() == ["new"]


def test_a_truncated_empty_file_warns_once(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.write_bytes(b"one\n")
    reader = Reader(file)
    reader.batch()
    file.write_bytes(b"")
    assert [reader.batch() for _ in range(3)] == [None, None, None]
    assert len(caplog.messages) == 1


def test_a_file_overwritten_with_something_longer_is_read_from_its_beginning(file: Path) -> None:
    file.write_bytes(b"one\n")
    reader = Reader(file)
    reader.batch()
    file.write_bytes(b"another\nstory\n")
    assert reader.batch(commit=False) == ["another", "story"]
    assert reader.batch() == ["another", "story"]
    assert reader.batch() is None
    with file.open("ab") as out:
        out.write(b"more\n")
    assert reader.batch() == ["more"]


def test_a_rotated_file_is_read_to_its_end_before_the_new_one(file: Path) -> None:
    file.write_bytes(b"one\n")
    reader = Reader(file)
    reader.batch()
    with file.open("ab") as out:
        out.write(b"two\nno end")
    file.rename(file.with_suffix(".1"))
    file.write_bytes(b"fresh start of another file\n")
    assert reader.batch() == ["two"]
    assert reader.batch() == ["no end"]
    assert reader.batch() == ["fresh start of another file"]
    assert reader.batch() is None


def test_a_file_saved_by_an_editor_is_read_on(file: Path) -> None:
    file.write_bytes(b"one\ntwo\n")
    reader = Reader(file)
    reader.batch()
    saved = file.with_suffix(".swp")
    saved.write_bytes(b"one\ntwo\nthree\n")
    saved.replace(file)
    assert reader.batch() == ["three"]


def test_a_file_that_shrinks_under_the_reader_is_tried_again(file: Path) -> None:
    file.write_bytes(b"one\ntwo\n")
    reader = Reader(file)
    plan = reader.task.plan(reader.offsets)
    assert plan is not None
    file.write_bytes(b"one\n")
    with pytest.raises(RetriableError, match="shorter"):
        list(reader.task.read(plan.splits[0]))


def test_looking_for_a_line_ends_where_a_file_has_become_shorter(file: Path) -> None:
    file.write_bytes(b"x" * 10)
    with file.open("rb", buffering=0) as opened:
        assert next_line_start(opened, 5, 100) == 100


def test_a_big_file_is_cut_at_line_ends_into_a_split_for_each_core(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setattr(source_module, "SMALLEST_SPLIT", 800)
    expected = [f"{number}:{'x' * (number % 37)}" for number in range(2000)]
    file.write_bytes("".join(f"{line}\r\n" for line in expected).encode())
    reader = Reader(file)
    plan = reader.task.plan(reader.offsets)
    assert plan is not None
    assert len(plan.splits) == 3
    lines: list[str] = []
    while (batch := reader.batch()) is not None:
        lines += batch
    assert lines == expected


def test_a_line_longer_than_a_split_stays_whole(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(source_module, "SMALLEST_SPLIT", 100)
    long = "y" * 300_000
    file.write_bytes(f"a\n{long}\nb\n".encode())
    reader = Reader(file)
    lines: list[str] = []
    while (batch := reader.batch()) is not None:
        lines += batch
    assert lines == ["a", long, "b"]


def test_without_a_file_the_task_fails_with_a_way_out() -> None:
    task = FileStreamSourceTask()
    task.configure({"topic": "t"})
    with pytest.raises(PluginError, match="Set 'file'"):
        task.start()


def test_a_committed_position_that_is_no_number_fails_with_a_way_out(file: Path) -> None:
    file.write_bytes(b"one\n")
    reader = Reader(file)
    reader.offsets.known[str(file)] = {"position": "many"}
    with pytest.raises(PluginError, match="alter or reset"):
        reader.batch()


def test_there_is_one_task_whatever_tasks_max_says() -> None:
    connector = FileStreamSource()
    connector.configure({"file": "f", "topic": "t", "tasks.max": "8"})
    assert connector.task_configs(8) == [{"file": "f", "topic": "t", "tasks.max": "8"}]


GOOD = {"filename": "f"}


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        (GOOD, {"other": 1}, "Offset objects should either be null or contain the key 'position'"),
        (GOOD, {"position": "1"}, "The value for the 'position' key in the offset is expected to be a Long value"),
        (GOOD, {"position": True}, "The value for the 'position' key in the offset is expected to be a Long value"),
        (GOOD, {"position": 1.5}, "The value for the 'position' key in the offset is expected to be a Long value"),
        (GOOD, {"position": -1}, "The value for the 'position' key in the offset should be a non-negative value"),
        ({"file": "f"}, {"position": 1}, "Partition objects should contain the key 'filename'"),
    ],
)
def test_offsets_that_make_no_sense_are_refused(partition: SourcePartition, offset: SourceOffset, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        FileStreamSource().alter_offsets({"file": "f", "topic": "t"}, [(partition, offset)])
    assert str(raised.value) == message


def test_good_offsets_and_resets_of_anything_are_accepted() -> None:
    offsets: list[tuple[SourcePartition, SourceOffset | None]] = [(GOOD, {"position": 0}), ({"old": "junk"}, None)]
    assert FileStreamSource().alter_offsets({"file": "f"}, offsets) is True


def test_offsets_cannot_be_altered_without_a_file() -> None:
    with pytest.raises(ConfigError, match="Offsets cannot be modified if the 'file' configuration is unspecified"):
        FileStreamSource().alter_offsets({"topic": "t"}, [])
