"""Appends records to a text file, one line each."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api import (
    Batch,
    Column,
    Config,
    ConfigDef,
    ConfigKey,
    Importance,
    PluginError,
    Record,
    RetriableError,
    Schema,
    SinkConnector,
    SinkTask,
    Type,
)
from penstock.api.columns import content, java_texts
from penstock.api.text import java_text

from .appending import Block, append

_RECORDS_A_WRITE = 10_000
_BYTES_TYPES = (pa.binary(), pa.large_binary())
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class FileStreamSinkTask(SinkTask):
    """Writes the text of each value (bytes as they are) and a line end.

    What a crash between writing and committing left at the end of the file is recognised by the next ``put`` and not
    written again, as long as this task is the only one of its connector. Lines are on disk when ``put`` returns, so
    what is committed survives a loss of power.
    """

    java_class = "org.apache.kafka.connect.file.FileStreamSinkTask"
    keeps_state = True

    def configure(self, config: Mapping[str, str]) -> None:
        super().configure(config)
        self._file = config.get("file") or ""
        self._alone = config.get("tasks.max", "1").strip() == "1"

    def start(self) -> None:
        if not self._file:
            return
        try:
            with open(self._file, "ab"):
                pass
        except OSError as error:
            raise PluginError(
                f"Couldn't find or create file '{self._file}' for FileStreamSinkTask: {error.strerror}"
            ) from error

    def put(self, records: Iterable[Record]) -> Mapping[str, Any] | None:
        return self.put_mixed(records)

    def put_mixed(self, items: Iterable[Record | Batch]) -> Mapping[str, Any] | None:
        return self._write(_blocks(items))

    def _write(self, blocks: Iterator[Block]) -> Mapping[str, Any] | None:
        if not self._file:
            for block in blocks:
                sys.stdout.buffer.write(block)
            sys.stdout.buffer.flush()
            return None
        try:
            length = append(self._file, blocks, self._committed_length())
        except OSError as error:
            if error.errno in _NO_SPACE and self._alone:
                raise RetriableError(
                    f"No space left to write '{self._file}' ({error.strerror}). Free some disk space; the task then "
                    f"goes on by itself."
                ) from error
            raise
        return {"file": self._file, "length": length} if self._alone else None

    def _committed_length(self) -> int | None:
        """How long the file was when the last offsets were committed; ``None`` when that is of no use."""
        state = self.context.state
        if not self._alone or not state or state.get("file") != self._file:
            return None
        length = state.get("length")
        return length if isinstance(length, int) else None


class FileStreamSink(SinkConnector):
    """Kafka's sample sink: the values of some topics into one file."""

    version = "0.1.0"
    java_class = "org.apache.kafka.connect.file.FileStreamSinkConnector"
    task = FileStreamSinkTask
    config = ConfigDef(
        ConfigKey(
            "file",
            Type.STRING,
            None,
            Importance.HIGH,
            "The file to append to. Without it, standard output is used.",
        )
    )

    def task_configs(self, max_tasks: int) -> Sequence[Config]:
        return [dict(self.settings) for _ in range(max_tasks)]

    def alter_offsets(self, config: Config, offsets: Mapping[tuple[str, int], int | None]) -> bool:
        return True


def _blocks(items: Iterable[Record | Batch]) -> Iterator[Block]:
    lines: list[bytes] = []
    for item in items:
        if isinstance(item, Record):
            lines.append(_line(item.value, item.value_schema))
        if lines and (len(lines) == _RECORDS_A_WRITE or isinstance(item, Batch)):
            yield b"\n".join([*lines, b""])
            lines.clear()
        if isinstance(item, Batch) and len(item):
            yield _lines_of_column(item.value)
    if lines:
        yield b"\n".join([*lines, b""])


def _lines_of_column(column: Column) -> Block:
    array = column.array
    if array.type in _BYTES_TYPES:
        array = array.fill_null(pa.scalar(b"null", array.type))
        end, nothing = pa.scalar(b"\n", array.type), pa.scalar(b"", array.type)
        return content(pc.binary_join_element_wise(array, end, nothing))
    return content(java_texts(column, end="\n"))


def _line(value: Any, schema: Schema | None) -> bytes:
    return value if isinstance(value, bytes) else java_text(value, schema).encode("utf-8", "replace")
