"""Records as rows of an Arrow table, and back: for transforms that take many records at a time.

Each field of the values is a column. What else belongs to a record is in columns that begin with an underscore:
``_key``, ``_topic``, ``_partition``, ``_offset``, ``_timestamp``, and ``_value`` for values that are no structs.
``_row`` tells which record a row came from. Records of different schemas never share a table; values without a schema
share one whose types are inferred, as Spark infers those of JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from .arrow import arrow_type, arrow_value, plain_value, schema_of
from .errors import DataError
from .inference import fitting_array, json_like
from .record import Field, Record, Schema, SchemaType, get_field

ROW = "_row"
KEY = "_key"
VALUE = "_value"
TOPIC = "_topic"
PARTITION = "_partition"
OFFSET = "_offset"
TIMESTAMP = "_timestamp"
RESERVED = (ROW, KEY, VALUE, TOPIC, PARTITION, OFFSET, TIMESTAMP)
"""Names of columns that are no fields of the value."""

_INFERRED = b"penstock.inferred"


class Rows(NamedTuple):
    """Records of one shape: ``records[table["_row"][i]]`` is where row ``i`` came from."""

    table: pa.Table
    records: Sequence[Record]
    numbers: Sequence[int]
    """The place in ``records`` of each row, as ``_row`` has it."""

    @property
    def first(self) -> Record:
        """A record that shows the shape of all."""
        return self.records[self.numbers[0]]


class BadRow(NamedTuple):
    """A record that cannot be a row."""

    number: int
    error: Exception


def to_rows(records: Sequence[Record], numbers: Sequence[int]) -> tuple[list[Rows], list[BadRow]]:
    """The records with these numbers, by shape, and those that fit no table. Tombstones are no rows: leave them out."""
    shapes: dict[tuple[Schema | None, Schema | None, bool], list[int]] = {}
    for number in numbers:
        record = records[number]
        shape = (record.value_schema, record.key_schema, isinstance(record.value, dict))
        shapes.setdefault(shape, []).append(number)
    tables: list[Rows] = []
    bad: list[BadRow] = []
    for members in shapes.values():
        good = _make(records, members, bad)
        if good is not None:
            tables.append(good)
    return tables, bad


def is_inferred(table: pa.Table) -> bool:
    """Whether the rows are of values without a schema, so that a field that none of them has is no column."""
    return _INFERRED in (table.schema.metadata or {})


def _make(records: Sequence[Record], numbers: Sequence[int], bad: list[BadRow]) -> Rows | None:
    """One table; when that fails, one without the records to blame, which go to ``bad``."""
    try:
        return Rows(_table(records, numbers), records, numbers)
    except (pa.ArrowException, DataError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        fitting = []
        for number in numbers:
            try:
                _table(records, [number])
                fitting.append(number)
            except (DataError, OverflowError) as error:
                bad.append(BadRow(number, error))
            except (pa.ArrowException, ValueError, TypeError, KeyError, AttributeError) as error:
                bad.append(BadRow(number, DataError(f"The record cannot be a row of a table: {error}")))
        return Rows(_table(records, fitting), records, fitting) if fitting else None


def _table(records: Sequence[Record], numbers: Sequence[int]) -> pa.Table:
    chosen = [records[number] for number in numbers]
    columns = _value_columns(chosen)
    taken = [name for name in columns if name in RESERVED and name != VALUE]
    if taken:
        raise DataError(f"The field '{taken[0]}' has a name that rows keep for something else; rename it before")
    columns[KEY] = _column([record.key for record in chosen], chosen[0].key_schema)
    columns[TOPIC] = pa.array([record.topic for record in chosen], pa.string())
    columns[PARTITION] = pa.array([record.partition for record in chosen], pa.int32())
    columns[OFFSET] = pa.array([record.offset for record in chosen], pa.int64())
    columns[TIMESTAMP] = pa.array([record.timestamp for record in chosen], pa.int64()).cast(pa.timestamp("ms", "UTC"))
    columns[ROW] = pa.array(numbers, pa.int64())
    return pa.table(columns, metadata={_INFERRED: b"yes"} if chosen[0].value_schema is None else None)


def _value_columns(records: Sequence[Record]) -> dict[str, pa.Array]:
    schema = records[0].value_schema
    if schema is not None and schema.type is SchemaType.STRUCT:
        return {f.name: _column([get_field(r.value, f) for r in records], f.schema) for f in schema.fields}
    if schema is None and isinstance(records[0].value, dict):
        names = dict.fromkeys(name for record in records for name in record.value)
        return {str(name): fitting_array([r.value.get(name) for r in records]) for name in names}
    return {VALUE: _column([record.value for record in records], schema)}


def _column(values: list[Any], schema: Schema | None) -> pa.Array:
    if schema is None:
        return fitting_array(values)
    return pa.array([arrow_value(value, schema) for value in values], arrow_type(schema))


def from_rows(rows: Rows, changed: pa.Table) -> Iterator[tuple[int, Record]]:
    """The records that changed rows stand for, each with the number of the record it came from.

    Without a ``_row`` column the rows must be as many as before, in the same order. A column that is gone leaves its
    part of the record as it was, but a field that is gone is gone. A column that kept its name and type keeps its
    schema, and a cell that kept its value keeps it exactly.
    """
    numbers = _numbers(rows, changed)
    before = {number: place for place, number in enumerate(rows.numbers)}
    unknown = next((number for number in numbers if number not in before), None)
    if unknown is not None:
        raise DataError(f"There is a row with the number {unknown}, which no record has")
    if not numbers:
        return
    places = [before[number] for number in numbers]
    old = [rows.records[number] for number in numbers]
    values, value_schema = _values(rows, changed, places, old)
    keys, key_schema = _keys(rows, changed, places, old)
    topics, partitions, timestamps = _topics(changed, old), _partitions(changed, old), _timestamps(changed, old)
    content = zip(numbers, old, values, keys, topics, partitions, timestamps, strict=True)
    for number, record, value, key, topic, partition, timestamp in content:
        headers, offset = record.headers, record.offset
        changed_record = Record(value, key, topic, partition, value_schema, key_schema, headers, timestamp, offset)
        yield number, changed_record


def _numbers(rows: Rows, changed: pa.Table) -> list[int]:
    if ROW in changed.column_names:
        found: list[int] = changed.column(ROW).to_pylist()
        return found
    if len(changed) != len(rows.numbers):
        raise DataError(
            f"{len(rows.numbers)} rows went in and {len(changed)} came out, without the column {ROW} that tells which"
        )
    return list(rows.numbers)


def _topics(changed: pa.Table, old: Sequence[Record]) -> list[str]:
    if TOPIC not in changed.column_names:
        return [record.topic for record in old]
    found: list[str] = [_named(topic, str, TOPIC) for topic in changed.column(TOPIC).to_pylist()]
    return found


def _partitions(changed: pa.Table, old: Sequence[Record]) -> list[int | None]:
    if PARTITION not in changed.column_names:
        return [record.partition for record in old]
    found = changed.column(PARTITION).to_pylist()
    return [None if partition is None else _named(partition, int, PARTITION) for partition in found]


def _timestamps(changed: pa.Table, old: Sequence[Record]) -> list[int | None]:
    if TIMESTAMP not in changed.column_names:
        return [record.timestamp for record in old]
    column = changed.column(TIMESTAMP)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())
    return [None if moment is None else _named(moment, int, TIMESTAMP) for moment in column.to_pylist()]


def _named(value: Any, kind: type, column: str) -> Any:
    if not isinstance(value, kind):
        raise DataError(f"{column} is {value!r}, which cannot be a record's")
    return value


def _keys(
    rows: Rows, changed: pa.Table, places: Sequence[int], old: Sequence[Record]
) -> tuple[Sequence[Any], Schema | None]:
    first, originals = rows.first, [record.key for record in old]
    if KEY not in changed.column_names:
        return originals, first.key_schema
    typed = first.key_schema is not None or (first.key is None and first.value_schema is not None)
    return _cells(rows, changed, KEY, first.key_schema, typed, places, originals)


def _values(
    rows: Rows, changed: pa.Table, places: Sequence[int], old: Sequence[Record]
) -> tuple[Sequence[Any], Schema | None]:
    """The values, from all columns that are their fields, or from ``_value``."""
    schema, originals = rows.first.value_schema, [record.value for record in old]
    names = [name for name in changed.column_names if name not in RESERVED]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise DataError(f"Two columns are called '{doubled}'; a record can have only one field of a name")
    known = schema.by_name if schema is not None and schema.type is SchemaType.STRUCT else {}
    typed = schema is not None
    if not names:
        if VALUE not in changed.column_names:
            return originals, schema
        return _cells(rows, changed, VALUE, None if known else schema, typed, places, originals)
    columns: dict[str, Sequence[Any]] = {}
    fields: list[Field] = []
    for name in names:
        was = [value.get(name, _MISSING) if isinstance(value, dict) else _MISSING for value in originals]
        own = known[name].schema if name in known else None
        columns[name], now = _cells(rows, changed, name, own, typed, places, was)
        if now is not None:
            fields.append(Field(name, now))
    return _assembled(columns), None if schema is None else _struct(schema, tuple(fields))


def _assembled(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    names = list(columns)
    whole = [dict(zip(names, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    if any(cell is _MISSING for cells in columns.values() for cell in cells):
        return [{name: cell for name, cell in value.items() if cell is not _MISSING} for value in whole]
    return whole


def _struct(old: Schema, fields: tuple[Field, ...]) -> Schema:
    if old.type is not SchemaType.STRUCT:
        return Schema(SchemaType.STRUCT, fields=fields)
    return old if fields == old.fields else old.with_(fields=fields)


def _cells(
    rows: Rows,
    changed: pa.Table,
    name: str,
    old: Schema | None,
    typed: bool,
    places: Sequence[int],
    originals: Sequence[Any],
) -> tuple[Sequence[Any], Schema | None]:
    """The cells of one column and their schema: the originals where nothing changed, plain JSON without a schema."""
    column = changed.column(name)
    same = name in rows.table.column_names and _alike(column.type, rows.table.column(name).type)
    schema = old if same and old is not None else schema_of(column.type, name) if typed else None
    if schema is not None and column.null_count and not schema.optional:
        schema = schema.with_(optional=True)
    if schema is None:
        convert = json_like
    else:
        known = schema

        def convert(value: Any) -> Any:
            return plain_value(value, known)

    now = column.to_pylist()
    if not same:
        return [convert(cell) for cell in now], schema
    before = rows.table.column(name).to_pylist()
    found = zip(now, places, originals, strict=True)
    return [original if before[place] == cell else convert(cell) for cell, place, original in found], schema


_MISSING = object()


def _alike(one: pa.DataType, other: pa.DataType) -> bool:
    return one == other or schema_of(one) == schema_of(other)
