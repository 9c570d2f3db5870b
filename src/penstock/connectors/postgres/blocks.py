"""Records of a topic as rows for a table: columns by name, each row to be written or to be deleted."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api import Batch, Column, DataError, Record, Schema, SchemaType
from penstock.api.arrow import arrow_type, arrow_value

from .texts import column_type, csv_column

log = logging.getLogger(__name__)

TOLD = "were made rows one by one, since together they could not be, though none of them is to blame"
"""In the line about it; the tests of workers look for it."""

_ENVELOPE = {"before", "after", "op"}
_RECORDS_AT_ONCE = 10_000


@dataclass(frozen=True)
class Cells:
    """One column: its PostgreSQL type, and its values as CSV takes them."""

    type: str
    array: pa.Array


@dataclass(frozen=True)
class Block:
    """Rows of one topic that have the same columns. ``keys`` names the columns that tell rows apart.

    ``gone`` says which rows are to be deleted; of those only the key columns count. ``record`` gives the record that a
    row was.
    """

    topic: str
    keys: tuple[str, ...]
    columns: Mapping[str, Cells]
    gone: pa.Array
    partition: int
    offsets: pa.Array
    record: Callable[[int], Record] = field(repr=False, compare=False)
    rows: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.gone)

    def take(self, rows: pa.Array) -> Block:
        """Some of the rows."""
        columns = {name: replace(cells, array=cells.array.take(rows)) for name, cells in self.columns.items()}
        before = self.rows if self.rows is not None else pa.array(range(len(self)), pa.int64())
        return replace(
            self,
            columns=columns,
            gone=self.gone.take(rows),
            offsets=self.offsets.take(rows),
            rows=before.take(rows),
        )

    def record_at(self, row: int) -> Record:
        return self.record(row if self.rows is None else self.rows[row].as_py())


@dataclass(frozen=True)
class KeyRule:
    """Where the key columns come from: ``record_key``, ``record_value`` or ``none``; ``fields`` picks or names them."""

    mode: str = "record_key"
    fields: tuple[str, ...] = ()


def blocks_of(
    items: Iterable[Record | Batch], rule: KeyRule, deletes: bool, report: Callable[[Record, Exception], None]
) -> Iterator[Block]:
    """Records and batches as blocks, in order. Records that are no rows are reported."""
    for item in _batches(items, report):
        try:
            yield from _blocks(item, rule, deletes)
        except (DataError, pa.ArrowInvalid, pa.ArrowTypeError, ValueError, TypeError, KeyError) as error:
            yield from _one_by_one(item, rule, deletes, report, error)


def _one_by_one(
    batch: Batch, rule: KeyRule, deletes: bool, report: Callable[[Record, Exception], None], error: Exception
) -> Iterator[Block]:
    """Find the rows to blame."""
    if len(batch) == 1:
        wrapped = error if isinstance(error, DataError) else DataError(str(error))
        report(next(iter(batch.records())), wrapped)
        return
    blamed: list[Record] = []

    def blame(record: Record, reason: Exception) -> None:
        blamed.append(record)
        report(record, reason)

    for row in range(len(batch)):
        yield from blocks_of([batch.slice(row, 1)], rule, deletes, blame)
    if not blamed:
        where = (len(batch), batch.topic, TOLD)
        log.warning("%d records of %s %s; please report this", *where, exc_info=error)


def _batches(items: Iterable[Record | Batch], report: Callable[[Record, Exception], None]) -> Iterator[Batch]:
    """Everything as batches: records of one kind in a row become one."""
    waiting: list[Record] = []
    for item in items:
        if isinstance(item, Record):
            waiting.append(item)
        if waiting and (isinstance(item, Batch) or len(waiting) >= _RECORDS_AT_ONCE):
            yield from _gathered(waiting, report)
            waiting = []
        if isinstance(item, Batch) and len(item):
            yield item
    yield from _gathered(waiting, report)


def _gathered(records: Sequence[Record], report: Callable[[Record, Exception], None]) -> Iterator[Batch]:
    for _, run in groupby(records, _kind):
        rows = list(run)
        try:
            yield _batch(rows)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError, ValueError, AttributeError):
            for row in rows:
                try:
                    yield _batch([row])
                except Exception as error:
                    report(row, DataError(f"The record cannot become a row: {error}"))


def _kind(record: Record) -> tuple[Any, ...]:
    names = tuple(record.value) if isinstance(record.value, dict) and record.value_schema is None else ()
    return record.topic, record.partition, record.key_schema, record.value_schema, record.value is None, names


def _batch(rows: Sequence[Record]) -> Batch:
    first = rows[0]
    return Batch(
        first.topic,
        _column([row.value for row in rows], first.value_schema),
        _column([row.key for row in rows], first.key_schema),
        pa.array([row.partition for row in rows], pa.int32()),
        pa.array([row.timestamp for row in rows], pa.int64()),
        pa.array([row.offset for row in rows], pa.int64()),
    )


def _column(values: Sequence[Any], schema: Schema | None) -> Column:
    if schema is not None:
        return Column(pa.array([arrow_value(value, schema) for value in values], arrow_type(schema)), schema)
    if any(isinstance(value, dict) for value in values):
        values = [_flat(value) for value in values]
    return Column(pa.array(values))


def _flat(value: Any) -> Any:
    """A map without schema whose inner lists and maps are JSON texts, unless it is an envelope."""
    if not isinstance(value, dict) or set(value) >= _ENVELOPE:
        return value
    return {key: json.dumps(item) if isinstance(item, list | dict) else item for key, item in value.items()}


def _without_truncates(batch: Batch) -> Batch:
    """The records about rows; those that a table was emptied are about none, and have no key."""
    value = batch.value.array
    if not _is_envelope(value.type):
        return batch
    truncates = _is(value.field(value.type.get_field_index("op")), "t")
    return batch.take(pa.array(np.flatnonzero(~truncates))) if truncates.any() else batch


def _blocks(whole: Batch, rule: KeyRule, deletes: bool) -> Iterator[Block]:
    batch = _without_truncates(whole)
    if not len(batch):
        return
    value, gone = batch.value, np.zeros(len(batch), bool)
    if batch.value.array.null_count:
        gone |= batch.value.array.is_null().to_numpy(zero_copy_only=False)
    before: Column | None = None
    if _is_envelope(value.array.type):
        ops = value.array.field(value.array.type.get_field_index("op"))
        gone |= _is(ops, "d")
        before, value = _member(value, "before"), _member(value, "after")
    keep = np.ones(len(batch), bool)
    keys = _keys(batch, value, before, gone, rule)
    if gone.any() and not (deletes and keys):
        keep &= ~gone
    columns = dict(keys)
    if not gone.all():
        columns |= {name: cells for name, cells in _fields(value).items() if name not in keys}
    offsets = batch.offset if batch.offset is not None else pa.nulls(len(batch), pa.int64())
    partition = batch.partition[0].as_py() if batch.partition is not None and len(batch) else 0
    block = Block(
        batch.topic, tuple(keys), columns, pa.array(gone), partition or 0, offsets, partial(_record_of, batch)
    )
    yield from _same_partition(block if keep.all() else block.take(pa.array(np.flatnonzero(keep))), batch)


def _same_partition(block: Block, batch: Batch) -> Iterator[Block]:
    """A block for each partition: offsets count within one."""
    if not len(block):
        return
    if batch.partition is None or len(pc.unique(batch.partition)) <= 1:
        yield block
        return
    rows = block.rows if block.rows is not None else pa.array(range(len(block)), pa.int64())
    partitions = batch.partition.take(rows)
    for partition in pc.unique(partitions).to_pylist():
        mine = pc.indices_nonzero(pc.equal(partitions, partition)).cast(pa.int64())
        yield replace(block.take(mine), partition=partition or 0)


def _record_of(batch: Batch, row: int) -> Record:
    return next(iter(batch.slice(row, 1).records()))


def _is_envelope(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind)) and {member.name for member in kind} >= _ENVELOPE


def _is(texts: pa.Array, wanted: str) -> np.ndarray[Any, Any]:
    if not pa.types.is_string(texts.type):
        return np.zeros(len(texts), bool)
    return np.asarray(pc.equal(texts, wanted).fill_null(False).to_numpy(zero_copy_only=False))


def _member(column: Column, name: str) -> Column:
    schema = column.schema.by_name[name].schema if column.schema is not None else None
    return Column(column.array.field(column.array.type.get_field_index(name)), schema)


def _fields(column: Column) -> dict[str, Cells]:
    if not pa.types.is_struct(column.array.type):
        if pa.types.is_null(column.array.type):
            return {}
        raise DataError(f"A row needs a value with named fields, not {column.array.type}")
    found = {}
    for place, member in enumerate(column.array.type):
        array = pc.struct_field(column.array, [place])
        schema = column.schema.by_name[member.name].schema if column.schema is not None else None
        found[member.name] = _cells(array, schema)
    return found


def _cells(array: pa.Array, schema: Schema | None) -> Cells:
    return Cells(column_type(schema, array.type), csv_column(array, schema))


def _keys(
    batch: Batch, value: Column, before: Column | None, gone: np.ndarray[Any, Any], rule: KeyRule
) -> dict[str, Cells]:
    """The key columns of all rows."""
    if rule.mode == "none":
        return {}
    if rule.mode == "record_value":
        rows = _fields(value) if not gone.all() else {}
        if gone.any() and before is not None:
            old = _fields(before)
            mask = pa.array(gone)
            rows = {n: replace(c, array=pc.if_else(mask, c.array, rows.get(n, c).array)) for n, c in old.items()}
        names = rule.fields or tuple(rows)
        missing = [name for name in names if name not in rows]
        if missing and rows:
            raise DataError(f"The value has no field {missing[0]}, which primary.key.fields names")
        return {name: rows[name] for name in names if name in rows}
    return _record_keys(batch, rule)


def _record_keys(batch: Batch, rule: KeyRule) -> dict[str, Cells]:
    key = batch.key
    if key is None or pa.types.is_null(key.array.type) or key.array.null_count:
        raise DataError(
            "The record has no key, but primary.key.mode=record_key takes the primary key from it. Set keys with a "
            "transform, or use primary.key.mode=record_value or none."
        )
    if pa.types.is_struct(key.array.type):
        found = _fields(key)
        return {name: found[name] for name in (rule.fields or tuple(found))}
    if len(rule.fields) != 1:
        raise DataError("The key is a plain value: primary.key.fields must give the name of its column")
    schema = key.schema if key.schema is None or key.schema.type is not SchemaType.STRUCT else None
    return {rule.fields[0]: _cells(key.array, schema)}
