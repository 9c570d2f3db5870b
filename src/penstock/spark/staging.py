"""Records on their way to topics: gathered in order, given a partition, and staged in one go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.topics.interface import RAW_SCHEMA, Staged, Stager, TopicPartition

from .partitioner import assign

RawHeaders = Sequence[tuple[str, bytes | None]]

_ROWS_A_TABLE = 32_768
_MAX_RUNS = 512
_STAGED_SCHEMA = RAW_SCHEMA.append(pa.field("partition", pa.int32()))
_HEADERS = RAW_SCHEMA.field("headers").type


class RawRecord(NamedTuple):
    """A record as a topic takes it. ``partition=None`` leaves it to the partitioner."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: RawHeaders
    timestamp: int
    partition: int | None = None


def staged_table(
    key: pa.Array,
    value: pa.Array,
    timestamp: pa.Array,
    partition: pa.Array | None = None,
    headers: RawHeaders = (),
) -> pa.Table:
    """Many records of one topic as columns, all with the same headers."""
    size = len(value)
    columns = [
        key.cast(pa.binary()),
        value.cast(pa.binary()),
        pa.repeat(pa.scalar(_header_cell(headers), _HEADERS), size),
        timestamp.cast(pa.int64()),
        pa.nulls(size, pa.int32()) if partition is None else partition.cast(pa.int32()),
    ]
    return pa.Table.from_arrays(columns, schema=_STAGED_SCHEMA)


def _header_cell(headers: RawHeaders) -> list[dict[str, Any]] | None:
    return [{"key": k, "value": v} for k, v in headers] if headers else None


@dataclass(slots=True)
class _TopicRows:
    """What was added for one topic: finished tables, then rows that are not yet a table."""

    tables: list[pa.Table] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    headers: list[list[dict[str, Any]] | None] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    partitions: list[int | None] = field(default_factory=list)

    def add(
        self, key: bytes | None, value: bytes | None, headers: RawHeaders, timestamp: int, partition: int | None
    ) -> None:
        self.keys.append(key)
        self.values.append(value)
        self.headers.append(_header_cell(headers))
        self.timestamps.append(timestamp)
        self.partitions.append(partition)
        if len(self.keys) >= _ROWS_A_TABLE:
            self.close_rows()

    def close_rows(self) -> None:
        """Turn pending rows into a table, so that what is added next comes after them."""
        if not self.keys:
            return
        columns = [self.keys, self.values, self.headers, self.timestamps, self.partitions]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, _STAGED_SCHEMA, strict=True)]
        self.tables.append(pa.Table.from_arrays(arrays, schema=_STAGED_SCHEMA))
        for column in columns:
            column.clear()  # type: ignore[attr-defined]


def table_of(records: Iterable[RawRecord]) -> pa.Table:
    """Records of one topic as :func:`staged_table` makes them."""
    rows = _TopicRows()
    for record in records:
        rows.add(*record[1:])
    rows.close_rows()
    return pa.concat_tables(rows.tables)


class Outbox:
    """Holds the records of one split until they are staged. Order within a topic partition is the order of adding."""

    def __init__(self, partition_counts: Mapping[str, int], default_count: int) -> None:
        self._counts = partition_counts
        self._default_count = default_count
        self._topics: dict[str, _TopicRows] = {}

    def add(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: RawHeaders,
        timestamp: int,
        partition: int | None = None,
    ) -> None:
        """One record as bytes."""
        self._of(topic).add(key, value, headers, timestamp, partition)

    def add_tables(self, topic: str, tables: Sequence[tuple[npt.NDArray[np.int64], pa.Table]]) -> None:
        """Tables made by :func:`staged_table`, each with the numbers of its rows, which tell the order of all."""
        rows = self._of(topic)
        rows.close_rows()
        if len(tables) == 1:
            rows.tables.append(tables[0][1])
            return
        order = np.argsort(np.concatenate([numbers for numbers, _ in tables]), kind="stable")
        rows.tables.append(pa.concat_tables([table for _, table in tables]).combine_chunks().take(pa.array(order)))

    @property
    def topics(self) -> Iterable[str]:
        """Where its records go."""
        return self._topics.keys()

    def stage(self, stager: Stager) -> list[Staged]:
        """Write everything, each topic partition once, and forget it."""
        for rows in self._topics.values():
            rows.close_rows()
        tables = {topic: pa.concat_tables(rows.tables) for topic, rows in self._topics.items() if rows.tables}
        self._topics.clear()
        if not tables:
            return []
        stager.prepare(list(tables))
        staged = [part for topic, table in tables.items() for part in self._stage_topic(stager, topic, table)]
        stager.finish()
        return staged

    def _stage_topic(self, stager: Stager, topic: str, table: pa.Table) -> list[Staged]:
        count = self._counts.get(topic, self._default_count)
        explicit = table.column("partition").combine_chunks()
        chosen = assign(topic, count, table.column("key").combine_chunks(), explicit)
        records = table.drop_columns("partition")
        return [
            stager.write(TopicPartition(topic, partition), rows) for partition, rows in _divide(records, chosen).items()
        ]

    def _of(self, topic: str) -> _TopicRows:
        rows = self._topics.get(topic)
        if rows is None:
            rows = self._topics[topic] = _TopicRows()
        return rows


def _divide(table: pa.Table, chosen: npt.NDArray[np.int32]) -> dict[int, pa.Table]:
    """The rows of each partition, in order."""
    edges = np.flatnonzero(np.diff(chosen)) + 1
    if len(edges) < _MAX_RUNS:
        starts = [0, *edges.tolist()]
        ends = [*edges.tolist(), len(chosen)]
        slices: dict[int, list[pa.Table]] = {}
        for start, end in zip(starts, ends, strict=True):
            slices.setdefault(int(chosen[start]), []).append(table.slice(start, end - start))
        return {partition: pa.concat_tables(parts) for partition, parts in sorted(slices.items())}
    order = np.argsort(chosen, kind="stable")
    table = table.combine_chunks().take(pa.array(order))
    partitions, first = np.unique(chosen[order], return_index=True)
    last = [*first[1:].tolist(), len(chosen)]
    return {int(p): table.slice(s, e - s) for p, s, e in zip(partitions.tolist(), first.tolist(), last, strict=True)}
