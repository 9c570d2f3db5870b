"""What the tests of source and sink pumps share: topics in memory, specs, and a few plugins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pyarrow as pa

from penstock.api import Batch, Converter, DataError, Record, RetriableError, SinkTask, SourceTask, Split, Transform
from penstock.api.record import Header, Schema
from penstock.spark.splits import ErrorPolicy, PluginRef, Receipt, SinkWork, SourceWork, TaskSpec, TransformRef
from penstock.topics.interface import RAW_SCHEMA, Range, RangeReader, Staged, Stager, TopicPartition

STRING = "penstock.converters.string:StringConverter"
HEADERS = "penstock.converters.simple_header:SimpleHeaderConverter"

_keys = count()


@dataclass
class MemoryTopics(Stager, RangeReader):
    """Staged tables kept in memory, and raw rows to read."""

    written: dict[TopicPartition, list[dict[str, Any]]] = field(default_factory=dict)
    stored: dict[TopicPartition, list[tuple[int, pa.Table]]] = field(default_factory=dict)

    def write(self, partition: TopicPartition, table: pa.Table) -> Staged:
        assert table.schema.equals(RAW_SCHEMA)
        table.validate(full=True)
        assert partition not in self.written, "a topic partition is staged once in a split"
        self.written[partition] = table.to_pylist()
        return Staged(partition.topic, partition.partition, len(table), table.nbytes, 0, blob=b"")

    def stream(self, rows: Range) -> Iterator[tuple[int, pa.Table]]:
        chunks = self.stored[TopicPartition(rows.topic, rows.partition)]
        return ((first, table) for first, table in chunks if rows.start <= first < rows.end)

    def store(self, topic: str, rows: Iterable[Mapping[str, Any]], first: int = 0, partition: int = 0) -> Range:
        """Put raw rows into a topic and describe them as a range."""
        blank = {"key": None, "value": None, "headers": None, "timestamp": 1_700_000_000_000}
        table = pa.Table.from_pylist([{**blank, **row} for row in rows], schema=RAW_SCHEMA)
        self.stored.setdefault(TopicPartition(topic, partition), []).append((first, table))
        return Range(topic, partition, first, first + len(table))

    def values(self, topic: str, partition: int = 0) -> list[bytes | None]:
        return [row["value"] for row in self.written.get(TopicPartition(topic, partition), [])]


def here(cls: type[Any]) -> str:
    """The target of a class of a test module."""
    return f"{cls.__module__}:{cls.__qualname__}"


def spec_for(
    task: type[Any] | str,
    *,
    settings: Mapping[str, str] | None = None,
    transforms: Sequence[type[Transform]] = (),
    errors: ErrorPolicy | None = None,
    key_converter: str = STRING,
    value_converter: str = STRING,
    partitions: int = 1,
) -> TaskSpec:
    return TaskSpec(
        key=f"spec-{next(_keys)}",
        connector="c",
        task=0,
        task_target=PluginRef(task if isinstance(task, str) else here(task), settings or {}),
        key_converter=PluginRef(key_converter),
        value_converter=PluginRef(value_converter),
        header_converter=PluginRef(HEADERS),
        transforms=[TransformRef(f"t{i}", PluginRef(here(cls))) for i, cls in enumerate(transforms)],
        errors=errors or ErrorPolicy(),
        default_topic_partitions=partitions,
    )


GIVEN: dict[str, list[Any]] = {}
"""What :class:`Given` reads, by the name in its split."""


def read_all(
    topics: MemoryTopics,
    items: list[Any],
    spec: TaskSpec,
    counts: Mapping[str, int] | None = None,
    may_raise: bool = False,
) -> Receipt:
    """Run a source split that yields the given items. ``may_raise``: column forms raise in this test."""
    GIVEN[spec.key] = items
    return without_faults(SourceWork(spec, Split({"name": spec.key}), topics, counts or {}).run(), may_raise)


def put_all(
    topics: MemoryTopics,
    ranges: Sequence[Range],
    spec: TaskSpec,
    state: Mapping[str, Any] | None = None,
    may_raise: bool = False,
) -> Receipt:
    """Run a sink split. ``may_raise``: column forms raise in this test."""
    Keeping.kept = []
    return without_faults(SinkWork(spec, ranges, topics, topics, state).run(), may_raise)


def without_faults(receipt: Receipt, may_raise: bool = False) -> Receipt:
    """The receipt; fails where a column form raised, which the outcome alone does not show."""
    if not may_raise:
        told = [f"{fault.rows} rows left columns in {fault.plugin}.{fault.form}()" for fault in receipt.column_faults]
        assert told == [], "\n".join([*told, *(fault.trace for fault in receipt.column_faults)])
    return receipt


class Given(SourceTask):
    """Yields what the test prepared."""

    def read(self, split: Split) -> Iterator[Any]:
        for item in GIVEN[split.payload["name"]]:
            if isinstance(item, Exception):
                raise item
            yield item


class Keeping(SinkTask):
    """Keeps the records it is given."""

    kept: list[Record] = []

    def put(self, records: Iterable[Record]) -> Mapping[str, Any] | None:
        Keeping.kept.extend(records)
        return {"count": len(Keeping.kept)}


class KeepingColumns(Keeping):
    """Takes columns too, and remembers that it did."""

    batches = 0

    def put_batches(self, batches: Iterable[Batch]) -> Mapping[str, Any] | None:
        for batch in batches:
            KeepingColumns.batches += 1
            Keeping.kept.extend(batch.records())
        return {"count": len(Keeping.kept)}


class FailOnBad(Transform):
    """Fails where the value contains ``bad``."""

    def apply(self, record: Record) -> Record | None:
        if "bad" in record.value:
            raise DataError(f"cannot take {record.value}")
        return record


class DropOnDrop(Transform):
    """Drops where the value contains ``drop``."""

    def apply(self, record: Record) -> Record | None:
        return None if "drop" in record.value else record


class Reroute(Transform):
    """Sends everything to another topic."""

    def apply(self, record: Record) -> Record | None:
        return record.with_(topic="elsewhere")


class TwiceFlaky(Transform):
    """Fails twice for each record, then works."""

    def __init__(self) -> None:
        self.tries = 0

    def apply(self, record: Record) -> Record | None:
        self.tries += 1
        if self.tries % 3:
            raise RetriableError("not yet")
        return record


class Down(Transform):
    """Never works."""

    def apply(self, record: Record) -> Record | None:
        raise RetriableError("still down")


class RowsOnly(Converter):
    """Strings, one by one: what has no fast path."""

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value == "bad":
            raise DataError("bad value")
        return None if value is None else str(value).encode()

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data == b"bad":
            raise DataError(None, "java.lang.NullPointerException")
        return None, None if data is None else data.decode()


def header(key: str, value: Any) -> Header:
    return Header(key, value)
