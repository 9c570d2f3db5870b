"""Dead letters on their way through their connector again: they travel with the work, as rows of topics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from penstock.api.errors import DataError
from penstock.api.record import Header, Record
from penstock.api.task import SourceTask, Split
from penstock.topics.interface import RAW_SCHEMA, Range, RangeReader

from .copies import build_converters
from .splits import PluginRef, TaskSpec

RawHeaders = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True)
class Letter:
    """A failed record as it was, where it was; ``id`` is how users name it."""

    id: str
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: RawHeaders

    def as_range(self) -> Range:
        """What a sink reads of it."""
        headers = [{"key": key, "value": value} for key, value in self.headers] or None
        row = {"key": self.key, "value": self.value, "headers": headers, "timestamp": self.timestamp}
        table = pa.Table.from_pylist([row], schema=RAW_SCHEMA)
        return Range(self.topic, self.partition, self.offset, self.offset + 1, [table])


@dataclass(frozen=True)
class LetterReader(RangeReader):
    """Reads ranges that bring their rows along."""

    def stream(self, rows: Range) -> Iterator[tuple[int, pa.Table]]:
        return ((rows.start, table) for table in rows.pieces)


def tolerant(spec: TaskSpec) -> TaskSpec:
    """The task with errors tolerated: a dead letter that fails again becomes one again, and harms nobody."""
    return replace(spec, errors=replace(spec.errors, tolerate_all=True))


def source_spec(spec: TaskSpec) -> TaskSpec:
    """A source task that yields dead letters and then is like the given one."""
    target = f"{LettersTask.__module__}:{LettersTask.__qualname__}"
    return replace(tolerant(spec), key=f"{spec.key}-letters", task_target=PluginRef(target))


def source_split(spec: TaskSpec, letters: Sequence[Letter]) -> Split:
    """What such a task reads."""
    return Split({"letters": list(letters), "spec": spec})


class LettersTask(SourceTask):
    """Yields dead letters as the records they were, as far as the connector's converters can tell."""

    def read(self, split: Split) -> Iterator[Record]:
        key, value, header = build_converters(split.payload["spec"])
        for letter in split.payload["letters"]:
            try:
                key_schema, found_key = key.to_data(letter.topic, letter.key)
                value_schema, found_value = value.to_data(letter.topic, letter.value)
                headers = [_header(header, letter.topic, name, data) for name, data in letter.headers]
            except Exception as error:
                raise DataError(f"The dead letter {letter.id} cannot be read: {error}") from error
            yield Record(
                found_value, found_key, letter.topic, None, value_schema, key_schema, headers, letter.timestamp
            )


def _header(converter: Any, topic: str, name: str, data: bytes | None) -> Header:
    schema, value = converter.to_header(topic, name, data)
    return Header(name, value, schema)
