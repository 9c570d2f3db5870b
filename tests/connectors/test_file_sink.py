"""FileStreamSink: what is written, and what is not written twice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.api import Batch, Column, PluginError, Record, Schema, SchemaType, SinkContext
from penstock.api.record import OPTIONAL_STRING, Field
from penstock.connectors.file import FileStreamSink
from penstock.connectors.file.sink import FileStreamSinkTask


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


def task_for(file: Path | None, state: Mapping[str, Any] | None = None, tasks: str = "1") -> FileStreamSinkTask:
    task = FileStreamSinkTask()
    task.configure({"tasks.max": tasks, **({"file": str(file)} if file else {})})
    task.start()
    task.context = SinkContext(state=state)
    return task


def strings(*values: str | None) -> Batch:
    return Batch("t", Column(pa.array(values, pa.string()), OPTIONAL_STRING))


def records(*values: Any) -> list[Record]:
    return [Record(value, topic="t") for value in values]


def test_values_become_lines_in_the_text_java_gives_them(file: Path) -> None:
    struct = Schema(SchemaType.STRUCT, fields=(Field("a", Schema(SchemaType.INT32)),))
    rows = [*records("text", None, 5, 1e10, True, {"a": [1, "x"]}), Record({"a": 1}, topic="t", value_schema=struct)]
    task_for(file).put(rows)
    assert file.read_text() == "text\nnull\n5\n1.0E10\ntrue\n{a=[1, x]}\nStruct{a=1}\n"


def test_columns_and_rows_write_the_same(file: Path, tmp_path: Path) -> None:
    batches = [
        strings("ä", None, "", "two\nlines"),
        Batch("t", Column(pa.array([b"\xff", None]))),
        Batch("t", Column(pa.array([1, None]))),
    ]
    task_for(file).put_batches(batches)
    other = tmp_path / "rows.txt"
    task_for(other).put([record for batch in batches for record in batch.records()])
    assert file.read_bytes() == other.read_bytes()
    assert file.read_bytes() == "ä\nnull\n\ntwo\nlines\n".encode() + b"\xff\nnull\n1\nnull\n"


def test_a_batch_of_many_megabytes_is_all_there(file: Path) -> None:
    values = [f"{number:01000d}" for number in range(20_000)]
    batches = [strings(*values[start : start + 2000]) for start in range(0, len(values), 2000)]
    state = task_for(file).put_batches(batches)
    assert state == {"file": str(file), "length": 1001 * len(values)}
    assert file.read_text().splitlines() == values


def test_the_state_is_the_length_of_the_file(file: Path) -> None:
    assert task_for(file).put(records("a")) == {"file": str(file), "length": 2}


def test_what_was_written_before_a_crash_is_not_written_again(file: Path) -> None:
    state = task_for(file).put(records("a"))
    task_for(file, state).put(records("b", "c"))
    after = task_for(file, state).put(records("b", "c", "d"))
    assert file.read_text() == "a\nb\nc\nd\n"
    assert after == {"file": str(file), "length": 8}


def test_a_crash_in_the_very_first_batch_leaves_no_duplicates_either(file: Path) -> None:
    file.write_text("from before\n")
    state = task_for(file).put(records())
    assert state == {"file": str(file), "length": 12}
    task_for(file, state).put(records("a"))
    task_for(file, state).put(records("a", "b"))
    assert file.read_text() == "from before\na\nb\n"


def test_a_put_of_nothing_keeps_the_committed_length_although_a_crash_left_more(file: Path) -> None:
    state = task_for(file).put(records("a"))
    task_for(file, state).put(records("b"))
    assert task_for(file, state).put(records()) == state
    assert task_for(file, {"file": "/elsewhere", "length": 5}).put(records()) == {"file": str(file), "length": 4}
    assert task_for(file, tasks="2").put(records()) is None


def test_half_a_line_left_by_a_crash_is_completed(file: Path) -> None:
    state = task_for(file).put(records("a"))
    with file.open("a") as out:
        out.write("lo")
    task_for(file, state).put(records("long"))
    assert file.read_text() == "a\nlong\n"


def test_smaller_batches_after_the_crash_walk_over_what_is_there(file: Path) -> None:
    state = task_for(file).put(records("a"))
    task_for(file, state).put(records("b", "c", "d"))
    for value in ("b", "c", "d", "e"):
        state = task_for(file, state).put(records(value))
    assert file.read_text() == "a\nb\nc\nd\ne\n"


def test_what_others_wrote_stays_and_is_never_mistaken_for_ours(file: Path) -> None:
    state = task_for(file).put(records("a"))
    with file.open("a") as out:
        out.write("theirs\n")
    state = task_for(file, state).put(records("b"))
    assert file.read_text() == "a\ntheirs\nb\n"
    assert state == {"file": str(file), "length": len("a\ntheirs\nb\n")}


def test_a_difference_in_a_later_block_writes_everything(file: Path) -> None:
    state = task_for(file).put(records("a"))
    with file.open("a") as out:
        out.write("b\nother\n")
    task_for(file, state).put_batches([strings("b"), strings("c")])
    assert file.read_text() == "a\nb\nother\nb\nc\n"


def test_records_replayed_on_purpose_are_written_again(file: Path) -> None:
    state = task_for(file).put(records("a", "b"))
    task_for(file, state).put(records("a", "b"))
    assert file.read_text() == "a\nb\na\nb\n"


def test_a_file_that_was_emptied_is_simply_continued(file: Path) -> None:
    state = task_for(file).put(records("a", "b"))
    file.write_text("")
    assert task_for(file, state).put(records("c")) == {"file": str(file), "length": 2}
    assert file.read_text() == "c\n"


def test_tasks_that_share_a_file_never_skip_equal_lines_of_each_other(file: Path) -> None:
    first = task_for(file, tasks="2").put(records("same"))
    task_for(file, first, tasks="2").put(records("same"))
    task_for(file, first, tasks="2").put(records("same"))
    assert file.read_text() == "same\nsame\nsame\n"


def test_another_file_in_the_state_is_ignored(file: Path) -> None:
    file.write_text("a\n")
    task_for(file, {"file": "/elsewhere", "length": 0}).put(records("a"))
    assert file.read_text() == "a\na\n"


def test_a_folder_that_does_not_exist_fails_the_start(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"Couldn't find or create file '.*absent/out.txt' for FileStreamSinkTask"):
        task_for(tmp_path / "absent" / "out.txt")


def test_without_a_file_lines_go_to_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert task_for(None).put(records("a", None)) is None
    assert capfdbinary.readouterr().out == b"a\nnull\n"


def test_there_are_as_many_tasks_as_allowed_and_offsets_may_be_altered() -> None:
    connector = FileStreamSink()
    connector.configure({"file": "f"})
    assert connector.task_configs(3) == [{"file": "f"}] * 3
    assert connector.alter_offsets({"file": "f"}, {("t", 0): 5, ("t", 1): None}) is True
