"""Columns of records: the fast form in which connectors may give and take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .record import Float32, Header, Int8, Int16, Int32, Record, Schema

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


@dataclass(slots=True)
class Column:
    """Keys or values of many records: one Arrow array and the one schema (or ``None``) they all share.

    Without a schema, structs are maps that have all the names of the Arrow type, in its order, and narrow numbers stand
    for :class:`~penstock.api.record.Int8` and its like.
    """

    array: pa.Array
    schema: Schema | None = None

    def values(self) -> list[Any]:
        """The values as records hold them."""
        from .arrow import differs_in_arrow, plain_value

        found: list[Any] = self.array.to_pylist()
        if self.schema is not None:
            return [plain_value(value, self.schema) for value in found] if differs_in_arrow(self.schema) else found
        narrow = _narrowing(self.array.type)
        return found if narrow is None else [narrow(value) for value in found]


@dataclass(slots=True)
class Part:
    """Some rows of a column: which ones, in ascending order, and their values."""

    rows: npt.NDArray[np.int64]
    column: Column


@dataclass(slots=True)
class Batch:
    """Many records of one topic as columns.

    A source task may yield batches instead of records; a sink task may take them through ``put_batch``.
    ``key`` is ``None`` when no record has a key. ``partition``, ``timestamp`` and ``offset`` are Arrow
    arrays, or ``None`` where the records have none. ``headers`` are the same for all of its records: others
    travel one by one as :class:`~penstock.api.record.Record`.
    """

    topic: str
    value: Column
    key: Column | None = None
    partition: pa.Array | None = None
    timestamp: pa.Array | None = None
    offset: pa.Array | None = None
    headers: Sequence[Header] = ()

    def __len__(self) -> int:
        return len(self.value.array)

    def with_(self, **changes: Any) -> Batch:
        """A copy with some attributes changed."""
        return replace(self, **changes)

    def slice(self, start: int, length: int) -> Batch:
        """Some consecutive records, without copying them."""
        return self._each(lambda array: array.slice(start, length))

    def take(self, rows: pa.Array) -> Batch:
        """The records at some positions."""
        return self._each(lambda array: array.take(rows))

    def records(self) -> Iterator[Record]:
        """The same records one by one."""
        nothing = [None] * len(self)
        keys = self.key.values() if self.key else nothing
        partitions = self.partition.to_pylist() if self.partition is not None else nothing
        timestamps = self.timestamp.to_pylist() if self.timestamp is not None else nothing
        offsets = self.offset.to_pylist() if self.offset is not None else nothing
        topic, schema, headers = self.topic, self.value.schema, self.headers
        key_schema = self.key.schema if self.key else None
        rows = zip(self.value.values(), keys, partitions, timestamps, offsets, strict=True)
        for value, key, partition, timestamp, offset in rows:
            yield Record(value, key, topic, partition, schema, key_schema, headers, timestamp, offset)

    def _each(self, change: Callable[[pa.Array], pa.Array]) -> Batch:
        arrays = (self.partition, self.timestamp, self.offset)
        partition, timestamp, offset = (None if array is None else change(array) for array in arrays)
        value = Column(change(self.value.array), self.value.schema)
        key = None if self.key is None else Column(change(self.key.array), self.key.schema)
        return Batch(self.topic, value, key, partition, timestamp, offset, self.headers)


def _narrowing(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """What gives values of an Arrow type their own classes; ``None`` where Python's are right."""
    import pyarrow as pa

    narrow = {pa.int8(): Int8, pa.int16(): Int16, pa.int32(): Int32, pa.float32(): Float32}.get(kind)
    if narrow is not None:
        own: Callable[[Any], Any] = narrow
        return lambda value: None if value is None else own(value)
    if pa.types.is_struct(kind):
        members = {f.name: change for f in kind if (change := _narrowing(f.type)) is not None}
        return _narrowing_members(members) if members else None
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = _narrowing(kind.value_type)
        return None if inner is None else lambda value: None if value is None else [inner(item) for item in value]
    return None


def _narrowing_members(members: dict[str, Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def narrow(value: Any) -> Any:
        if value is not None:
            for name, change in members.items():
                value[name] = change(value[name])
        return value

    return narrow
