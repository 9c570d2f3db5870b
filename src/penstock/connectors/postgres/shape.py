"""What records of a table look like: schemas, and Arrow arrays made of rows of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api import Column as Values
from penstock.api import Schema
from penstock.api.arrow import arrow_type
from penstock.api.record import INT64, OPTIONAL_INT64, STRING, struct_schema

from .catalog import Column, Table
from .pgoutput import UNCHANGED, Relation, Row
from .tuples import Texts
from .types import ColumnType, Handling, TypeInfo, column_type

VERSION = "0.1.0"
_SOURCE = struct_schema(
    ("version", STRING),
    ("connector", STRING),
    ("name", STRING),
    ("ts_ms", INT64),
    ("snapshot", STRING.with_(optional=True, default="false")),
    ("db", STRING),
    ("schema", STRING),
    ("table", STRING),
    ("txId", OPTIONAL_INT64),
    ("lsn", OPTIONAL_INT64),
    name="io.debezium.connector.postgresql.Source",
)


@dataclass(frozen=True)
class Style:
    """How records are made, for all tables of a connector."""

    prefix: str
    database: str
    handling: Handling
    flat: bool = False
    extra_fields: tuple[str, ...] = ()
    placeholder: str = "__debezium_unavailable_value"


@dataclass(frozen=True)
class Moment:
    """When and where rows come from, one number for each row: microseconds since 1970, transaction, position."""

    micros: pa.Array
    xids: pa.Array
    lsns: pa.Array

    @cached_property
    def millis(self) -> pa.Array:
        return pc.divide(self.micros, 1000)


class Shape:
    """The records of one table in one state of its columns."""

    def __init__(self, table: Table, style: Style) -> None:
        self.table = table
        self._style = style
        self._types: list[ColumnType] = [column_type(column.type, style.handling) for column in table.columns]
        names = [column.name for column in table.columns]
        self.key_places = tuple(names.index(name) for name in table.key if name in names)
        self.topic = f"{style.prefix}.{table.schema}.{table.name}"
        self._unmarked = [place for place, kind in enumerate(self._types) if not kind.takes_placeholder]

    @classmethod
    def of_relation(cls, relation: Relation, known: Table | None, style: Style) -> Shape:
        """From what the stream says of a table, and from what the catalogue knows of it now."""
        now = {column.name: column for column in known.columns} if known else {}
        columns = []
        for name, kind, modifier, _ in relation.columns:
            found = now.get(name)
            same = found is not None and found.declared == kind
            columns.append(found if found is not None and same else Column(name, kind, TypeInfo(kind, modifier)))
        key = _key(relation, known.key if known else ())
        table = Table(relation.oid, relation.schema, relation.name, tuple(columns), key, identity=relation.identity)
        return cls(table, style)

    @cached_property
    def row_schema(self) -> Schema:
        """Columns of the key are required; others may be missing in what a delete tells of the old row."""
        members = [
            (column.name, kind.schema.with_(optional=place not in self.key_places))
            for place, (column, kind) in enumerate(zip(self.table.columns, self._types, strict=True))
        ]
        return struct_schema(*members, name=f"{self.topic}.Value", optional=True)

    @cached_property
    def key_schema(self) -> Schema | None:
        if not self.key_places:
            return None
        members = [(self.table.columns[place].name, self._types[place].schema) for place in self.key_places]
        return struct_schema(*members, name=f"{self.topic}.Key")

    @cached_property
    def value_schema(self) -> Schema:
        if not self._style.flat:
            return struct_schema(
                ("before", self.row_schema),
                ("after", self.row_schema),
                ("source", _SOURCE),
                ("op", STRING),
                ("ts_ms", OPTIONAL_INT64),
                name=f"{self.topic}.Envelope",
                version=1,
            )
        extra = [(f"__{name}", _EXTRA[name]) for name in self._style.extra_fields]
        members = [(field.name, field.schema) for field in self.row_schema.fields]
        return struct_schema(*members, *extra, name=f"{self.topic}.Value")

    def keys(self, rows: pa.StructArray) -> Values | None:
        """The keys of rows; ``None`` when the table has none."""
        if self.key_schema is None:
            return None
        return Values(_struct([rows.field(place) for place in self.key_places], self.key_schema), self.key_schema)

    def values(
        self, ops: Sequence[str], after: pa.StructArray, before: pa.StructArray, at: Moment, snapshot: str = "false"
    ) -> Values:
        """The values of changes (``flat``: of their new rows)."""
        if self._style.flat:
            arrays = [after.field(place) for place in range(len(self._types))]
            arrays += [self._extra(name, ops, at) for name in self._style.extra_fields]
            return Values(_struct(arrays, self.value_schema), self.value_schema)
        arrays = [before, after, self._source(at, snapshot), pa.array(ops, pa.string()), at.millis]
        return Values(_struct(arrays, self.value_schema), self.value_schema)

    def lacks_mark(self, row: Row) -> bool:
        """Whether a row has a value that is not known, of a type that has no mark for that."""
        return any(row[place] is UNCHANGED for place in self._unmarked)

    def rows_without_mark(self, columns: Sequence[Texts]) -> list[int]:
        """Which rows :meth:`lacks_mark` is true of, by columns."""
        unknown = [mask for place in self._unmarked if (mask := columns[place].unchanged) is not None]
        return np.flatnonzero(np.logical_or.reduce(unknown)).tolist() if unknown else []

    def rows_of_texts(self, texts: Sequence[pa.Array]) -> pa.StructArray:
        """Columns of texts as rows."""
        arrays = [kind.convert(column) for kind, column in zip(self._types, texts, strict=True)]
        return _struct(arrays, self.row_schema)

    def rows_of_cells(self, columns: Sequence[Texts]) -> pa.StructArray:
        """Columns as the stream has them as rows."""
        texts = []
        for place, column in enumerate(columns):
            known = column.array
            if column.unchanged is not None and self._types[place].takes_placeholder:
                known = pc.if_else(pa.array(column.unchanged), self._style.placeholder, known)
            texts.append(known)
        return self.rows_of_texts(texts)

    def rows(self, rows: Sequence[Row | None]) -> pa.StructArray:
        """Single rows of the stream; null for ``None``."""
        mask = [row is None for row in rows]
        if all(mask):
            return self.no_rows(len(rows))
        some = next(row for row in rows if row is not None)
        nothing: Row = [some[place] if place in self.key_places else None for place in range(len(self._types))]
        columns = list(zip(*(nothing if row is None else row for row in rows), strict=True))
        arrays = [self._column(place, columns[place]) for place in range(len(self._types))]
        return _struct(arrays, self.row_schema, pa.array(mask) if any(mask) else None)

    def no_rows(self, count: int) -> pa.StructArray:
        """Nulls in place of rows. Below them, required columns still have values, as Arrow's other readers expect."""
        arrays = [
            pa.nulls(count, arrow_type(field.schema))
            if field.schema.optional
            else pa.repeat(pa.scalar(_anything(arrow_type(field.schema)), arrow_type(field.schema)), count)
            for field in self.row_schema.fields
        ]
        return _struct(arrays, self.row_schema, pa.repeat(True, count))

    def _column(self, place: int, cells: Sequence[Any]) -> pa.Array:
        if UNCHANGED in cells:
            unknown = self._style.placeholder.encode() if self._types[place].takes_placeholder else None
            cells = [unknown if cell is UNCHANGED else cell for cell in cells]
        texts = pa.array(cells, pa.binary()).cast(pa.string())
        return self._types[place].convert(texts)

    def _source(self, at: Moment, snapshot: str) -> pa.StructArray:
        count = len(at.micros)
        same = [VERSION, "postgresql", self._style.prefix]
        place = [snapshot, self._style.database, self.table.schema, self.table.name]
        arrays = [
            *(pa.repeat(pa.scalar(text, pa.string()), count) for text in same),
            at.millis,
            *(pa.repeat(pa.scalar(text, pa.string()), count) for text in place),
            at.xids,
            at.lsns,
        ]
        return _struct(arrays, _SOURCE)

    def _extra(self, name: str, ops: Sequence[str], at: Moment) -> pa.Array:
        if name == "op":
            return pa.array(ops, pa.string())
        if name == "table":
            return pa.repeat(pa.scalar(self.table.full_name, pa.string()), len(ops))
        return {"ts_ms": at.millis, "lsn": at.lsns, "txId": at.xids}[name]


_EXTRA = {
    "op": STRING.with_(optional=True),
    "table": STRING.with_(optional=True),
    "ts_ms": OPTIONAL_INT64,
    "lsn": OPTIONAL_INT64,
    "txId": OPTIONAL_INT64,
}
EXTRA_FIELDS = tuple(_EXTRA)


def _key(relation: Relation, known: tuple[str, ...]) -> tuple[str, ...]:
    """The key of rows in the stream, in the order that the catalogue has now if it is the same.

    Where the replica identity says nothing of keys (``FULL``, ``NOTHING``), the primary key of now.
    """
    told = tuple(name for name, _, _, is_key in relation.columns if is_key)
    return known if relation.identity not in "di" or set(told) == set(known) else told


def _anything(kind: pa.DataType) -> Any:
    """Some value of a type."""
    if pa.types.is_struct(kind):
        return {member.name: _anything(member.type) for member in kind}
    if pa.types.is_list(kind):
        return []
    if pa.types.is_string(kind):
        return ""
    if pa.types.is_binary(kind):
        return b""
    return False if pa.types.is_boolean(kind) else 0


def _struct(arrays: Sequence[pa.Array], schema: Schema, mask: pa.Array | None = None) -> pa.StructArray:
    kinds = arrow_type(schema)
    return pa.StructArray.from_arrays(list(arrays), fields=list(kinds), mask=mask)
