"""Columns of records: the fast form in which connectors may give and take them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .record import Record, Schema

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True)
class Column:
    """Keys or values of many records: one Arrow array and the one schema (or ``None``) they all share."""

    array: pa.Array
    schema: Schema | None = None


@dataclass(slots=True)
class Batch:
    """Many records of one topic as columns.

    A source task may yield batches instead of records; a sink task may take them through ``put_batch``.
    ``key`` is ``None`` when no record has a key. ``partition``, ``timestamp`` and ``offset`` are Arrow
    arrays, or ``None`` where the records have none. Batches carry no headers: records with headers
    travel one by one as :class:`~penstock.api.record.Record`.
    """

    topic: str
    value: Column
    key: Column | None = None
    partition: pa.Array | None = None
    timestamp: pa.Array | None = None
    offset: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.value.array)

    def records(self) -> Iterator[Record]:
        """The same records one by one."""
        size = len(self)
        nothing = [None] * size
        keys = self.key.array.to_pylist() if self.key else nothing
        partitions = self.partition.to_pylist() if self.partition is not None else nothing
        timestamps = self.timestamp.to_pylist() if self.timestamp is not None else nothing
        offsets = self.offset.to_pylist() if self.offset is not None else nothing
        key_schema = self.key.schema if self.key else None
        rows = zip(self.value.array.to_pylist(), keys, partitions, timestamps, offsets, strict=True)
        for value, key, partition, timestamp, offset in rows:
            yield Record(
                value=value, key=key, topic=self.topic, partition=partition, value_schema=self.value.schema,
                key_schema=key_schema, timestamp=timestamp, offset=offset,
            )
