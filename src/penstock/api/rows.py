"""Records as rows of an Arrow table, and back: for transforms that take many records at a time.

Each field of the values is a column. What else belongs to a record is in columns that begin with an underscore:
``_key``, ``_topic``, ``_partition``, ``_offset``, ``_timestamp``, and ``_value`` for values that are no structs.
``_row`` tells which record a row came from. Records of different schemas never share a table; values without a schema
share one whose types are inferred, as Spark infers those of JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from .arrow import arrow_type, arrow_value, plain_value, schema_of
from .errors import DataError
from .inference import fitting_array, json_like
from .logical import to_millis
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
    places = [before.get(number) for number in numbers]
    if None in places:
        raise DataError(f"There is a row with the number {numbers[places.index(None)]}, which no record has")
    value = _ValueReader(rows, changed)
    first = rows.first
    typed_key = first.key_schema is not None or (first.key is None and first.value_schema is not None)
    key = _Reader(rows, changed, KEY, first.key_schema, typed_key)
    topic, partition, timestamp = (_cells(changed, name) for name in (TOPIC, PARTITION, TIMESTAMP))
    for row, (number, place) in enumerate(zip(numbers, places, strict=True)):
        record = rows.records[number]
        assert place is not None
        changes: dict[str, Any] = {}
        if value.present:
            changes.update(value=value.at(row, place, record), value_schema=value.schema)
        if key.present:
            changes.update(key=key.at(row, place, record.key), key_schema=key.schema)
        if topic is not None:
            changes["topic"] = _named(topic[row], str, TOPIC)
        if partition is not None:
            changes["partition"] = None if partition[row] is None else _named(partition[row], int, PARTITION)
        if timestamp is not None:
            changes["timestamp"] = _millis(timestamp[row])
        yield number, record.with_(**changes)


def _numbers(rows: Rows, changed: pa.Table) -> list[int]:
    if ROW in changed.column_names:
        found: list[int] = changed.column(ROW).to_pylist()
        return found
    if len(changed) != len(rows.numbers):
        raise DataError(
            f"{len(rows.numbers)} rows went in and {len(changed)} came out, without the column {ROW} that tells which"
        )
    return list(rows.numbers)


def _cells(table: pa.Table, name: str) -> list[Any] | None:
    return table.column(name).to_pylist() if name in table.column_names else None


def _named(value: Any, kind: type, column: str) -> Any:
    if not isinstance(value, kind):
        raise DataError(f"{column} is {value!r}, which cannot be a record's")
    return value


def _millis(value: Any) -> int | None:
    if value is None or isinstance(value, int):
        return value
    return to_millis(value)


class _Reader:
    """Reads one column back. ``schema`` is that of its cells now; without a schema they become plain JSON values."""

    def __init__(self, rows: Rows, changed: pa.Table, name: str, old: Schema | None, typed: bool) -> None:
        self.present = name in changed.column_names
        self.schema = old
        if not self.present:
            return
        column = changed.column(name)
        self._now: list[Any] = column.to_pylist()
        same = name in rows.table.column_names and _alike(column.type, rows.table.column(name).type)
        self._was: list[Any] | None = rows.table.column(name).to_pylist() if same else None
        if not (same and old is not None):
            self.schema = schema_of(column.type, name) if typed else None
        if self.schema is not None and column.null_count and not self.schema.optional:
            self.schema = self.schema.with_(optional=True)

    def at(self, row: int, place: int, original: Any) -> Any:
        """A cell: the original where nothing changed."""
        now = self._now[row]
        if self._was is not None and self._was[place] == now:
            return original
        return json_like(now) if self.schema is None else plain_value(now, self.schema)


class _ValueReader:
    """Reads the value back from all columns that are its fields, or from ``_value``."""

    def __init__(self, rows: Rows, changed: pa.Table) -> None:
        old = rows.first.value_schema
        names = [name for name in changed.column_names if name not in RESERVED]
        doubled = next((name for name in names if names.count(name) > 1), None)
        if doubled is not None:
            raise DataError(f"Two columns are called '{doubled}'; a record can have only one field of a name")
        known = old.by_name if old is not None and old.type is SchemaType.STRUCT else {}
        typed = old is not None
        self._fields = {
            name: _Reader(rows, changed, name, known[name].schema if name in known else None, typed) for name in names
        }
        self._whole = _Reader(rows, changed, VALUE, None if known else old, typed)
        self.present = bool(names) or self._whole.present
        self.schema = self._struct(old) if names and old is not None else self._whole.schema

    def _struct(self, old: Schema) -> Schema:
        fields = tuple(Field(name, r.schema) for name, r in self._fields.items() if r.schema is not None)
        if old.type is not SchemaType.STRUCT:
            return Schema(SchemaType.STRUCT, fields=fields)
        return old if fields == old.fields else old.with_(fields=fields)

    def at(self, row: int, place: int, record: Record) -> Any:
        if not self._fields:
            return self._whole.at(row, place, record.value)
        was = record.value if isinstance(record.value, dict) else {}
        cells = {name: reader.at(row, place, was.get(name, _MISSING)) for name, reader in self._fields.items()}
        return {name: cell for name, cell in cells.items() if cell is not _MISSING}


_MISSING = object()


def _alike(one: pa.DataType, other: pa.DataType) -> bool:
    return one == other or schema_of(one) == schema_of(other)
