"""Rows into a table: COPY, or COPY into a staging table of the session and then one statement for all of them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from penstock.api import DataError, PluginError, Record, RetriableError

from .blocks import Block, Cells
from .catalog import quoted
from .connection import driver
from .tables import Tables, Target, TargetName

if TYPE_CHECKING:
    from psycopg import Connection

_NUMBER, _GONE = "_penstock_row", "_penstock_gone"
_WHOLE_NUMBERS = {"smallint", "integer", "bigint"}
_WRITE = csv.WriteOptions(include_header=False, batch_size=16_384, quoting_style="needed")


@dataclass
class Session:
    """A connection of this process and what it has prepared; ``place`` is where it keeps offsets."""

    connection: Connection[Any]
    tables: Tables
    staging: dict[tuple[str, tuple[tuple[str, str], ...]], str]
    place: str = ""


class Loader:
    """Writes blocks of one table within the current transaction of a session. ``refused`` collects bad records."""

    def __init__(self, session: Session, upserts: bool, placeholder: str) -> None:
        self._session = session
        self._upserts = upserts
        self._placeholder = placeholder
        self.refused: list[tuple[Record, Exception]] = []

    def write(self, name: TargetName, blocks: Sequence[Block]) -> None:
        """Write blocks that have the same columns. Rows that the database refuses are found one by one."""
        first = blocks[0]
        types = {column: cells.type for column, cells in first.columns.items()}
        errors = driver().errors
        try:
            target = self._session.tables.ready(self._session.connection, name, types, first.keys)
        except (errors.UniqueViolation, errors.DuplicateTable, errors.DuplicateColumn) as error:
            raise RetriableError(f"Somebody else changes table {name} at the same time: {error}") from error
        whole = joined(blocks)
        for part in self._known_parts(whole):
            self._write_or_halve(target, part)

    def _write_or_halve(self, target: Target, block: Block) -> None:
        errors = driver().errors
        try:
            self._write_alike(target, block)
        except (errors.DataError, errors.IntegrityError) as error:
            self._session.staging.clear()
            if len(block) == 1:
                refusal = DataError(f"Table {target.name} refuses the record: {error}")
                self.refused.append((block.record_at(0), refusal))
                return
            middle = len(block) // 2
            for start, end in ((0, middle), (middle, len(block))):
                self._write_or_halve(target, block.take(pa.array(range(start, end), pa.int64())))

    def _write_alike(self, target: Target, block: Block) -> None:
        """Write all rows or none. Keys that differ here may be the same to the table, as with ``citext``."""
        try:
            with self._session.connection.transaction():
                self._write(target, block, _distinct(block))
        except driver().errors.CardinalityViolation:
            self._session.staging.clear()
            with self._session.connection.transaction():
                self._write(target, block, False)

    def _write(self, target: Target, block: Block, distinct: bool) -> None:
        if not self._upserts or not block.keys:
            self._insert(target, block)
            return
        self._check_unique(target, block.keys)
        if distinct and self._is_new(target, block) and self._inserted(target, block):
            return
        staging = self._staging(target, tuple(block.columns))
        extra = {
            _NUMBER: Cells("bigint", pa.array(np.arange(len(block)))),
            _GONE: Cells("boolean", block.gone),
        }
        self._copy(staging, {**block.columns, **extra})
        self._merge(target, staging, block, distinct)
        self._session.connection.execute(f"TRUNCATE {staging}")

    def _insert(self, target: Target, block: Block) -> None:
        """Add rows, and delete those of keys that are gone: from the table, and what came before within the block."""
        if not pc.any(block.gone).as_py():
            self._copy(target.name.sql, block.columns)
            return
        self._delete(target, block.take(_where(block.gone)))
        left = _after_deletes(block)
        if len(left):
            self._copy(target.name.sql, left.columns)

    def _delete(self, target: Target, gone: Block) -> None:
        staging = self._staging(target, gone.keys)
        numbers = Cells("bigint", pa.array(np.arange(len(gone))))
        keys = {key: gone.columns[key] for key in gone.keys}
        self._copy(staging, {**keys, _NUMBER: numbers, _GONE: Cells("boolean", gone.gone)})
        same = " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in gone.keys)
        self._session.connection.execute(f"DELETE FROM {target.name.sql} t USING {staging} s WHERE {same}")
        self._session.connection.execute(f"TRUNCATE {staging}")

    def _is_new(self, target: Target, block: Block) -> bool:
        """Whether the table has no row between the lowest and the highest key: then nothing is there to be merged."""
        cells = block.columns[block.keys[0]]
        whole = pa.types.is_integer(cells.array.type) and target.columns[block.keys[0]] in _WHOLE_NUMBERS
        if len(block.keys) > 1 or not whole or cells.array.null_count or pc.any(block.gone).as_py():
            return False
        ends, key = pc.min_max(cells.array), quoted(block.keys[0])
        found = self._session.connection.execute(
            f"SELECT 1 FROM {target.name.sql} WHERE {key} BETWEEN {ends['min']} AND {ends['max']} LIMIT 1"
        )
        return found.fetchone() is None

    def _inserted(self, target: Target, block: Block) -> bool:
        """Insert rows; not if somebody else has inserted one of them meanwhile."""
        try:
            with self._session.connection.transaction():
                self._copy(target.name.sql, block.columns)
        except driver().errors.UniqueViolation:
            return False
        return True

    def _merge(self, target: Target, staging: str, block: Block, distinct: bool) -> None:
        execute = self._session.connection.execute
        keys = ", ".join(quoted(key) for key in block.keys)
        newest = f"(SELECT DISTINCT ON ({keys}) * FROM {staging} ORDER BY {keys}, {_NUMBER} DESC)"
        deletes = bool(pc.any(block.gone).as_py())
        source = staging if distinct and not deletes else newest
        if deletes:
            same = " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in block.keys)
            execute(f"DELETE FROM {target.name.sql} t USING {newest} s WHERE s.{_GONE} AND {same}")
        if pc.all(block.gone).as_py():
            return
        columns = ", ".join(quoted(column) for column in block.columns)
        others = [column for column in block.columns if column not in block.keys]
        changes = ", ".join(f"{quoted(column)} = EXCLUDED.{quoted(column)}" for column in others)
        action = f"DO UPDATE SET {changes}" if changes else "DO NOTHING"
        execute(
            f"INSERT INTO {target.name.sql} ({columns}) SELECT {columns} FROM {source} s WHERE NOT s.{_GONE}"
            f" ON CONFLICT ({keys}) {action}"
        )

    def _staging(self, target: Target, columns: tuple[str, ...]) -> str:
        known = tuple((column, target.columns[column]) for column in columns)
        key = (target.name.sql, known)
        if key not in self._session.staging:
            name = f"pg_temp.{quoted(f'_penstock_{len(self._session.staging)}')}"
            listed = ", ".join(quoted(column) for column in columns)
            self._session.connection.execute(f"DROP TABLE IF EXISTS {name}")
            self._session.connection.execute(
                f"CREATE TEMPORARY TABLE {name.removeprefix('pg_temp.')} AS SELECT {listed}, 0::bigint AS {_NUMBER},"
                f" false AS {_GONE} FROM {target.name.sql} WITH NO DATA"
            )
            self._session.staging[key] = name
        return self._session.staging[key]

    def _copy(self, table: str, columns: Mapping[str, Cells]) -> None:
        listed = ", ".join(quoted(column) for column in columns)
        rows = pa.table({column: cells.array for column, cells in columns.items()})
        data = io.BytesIO()
        csv.write_csv(rows, data, _WRITE)
        with (
            self._session.connection.cursor() as cursor,
            cursor.copy(f"COPY {table} ({listed}) FROM STDIN (FORMAT csv)".encode()) as copy,
        ):
            copy.write(data.getbuffer())

    def _check_unique(self, target: Target, keys: tuple[str, ...]) -> None:
        if frozenset(keys) not in target.unique:
            listed = ", ".join(quoted(key) for key in keys)
            raise PluginError(
                f"Table {target.name} has no unique index over ({', '.join(keys)}), which insert.mode=upsert needs. "
                f"Create it: CREATE UNIQUE INDEX ON {target.name.sql} ({listed}); or use insert.mode=insert."
            )

    def _known_parts(self, block: Block) -> Iterator[Block]:
        """The block without values that only say "as it was": such rows leave those columns alone."""
        unknown = {name: mask for name, cells in block.columns.items() if (mask := self._unknown(cells)) is not None}
        if not unknown or not block.keys or not self._upserts:
            yield block
            return
        seen: dict[tuple[Any, ...], int] = {}
        groups: dict[tuple[int, tuple[str, ...]], list[int]] = {}
        keys = zip(*(block.columns[key].array.to_pylist() for key in block.keys), strict=True)
        masks = {name: mask.to_pylist() for name, mask in unknown.items()}
        for row, key in enumerate(keys):
            seen[key] = seen.get(key, -1) + 1
            left_alone = tuple(name for name, mask in masks.items() if mask[row])
            groups.setdefault((seen[key], left_alone), []).append(row)
        for (_, left_alone), rows in sorted(groups.items(), key=lambda item: item[0][0]):
            part = block.take(pa.array(rows, pa.int64()))
            yield replace(part, columns={n: c for n, c in part.columns.items() if n not in left_alone})

    def _unknown(self, cells: Cells) -> pa.Array | None:
        """Which values are placeholders; ``None`` when there is none."""
        if not pa.types.is_string(cells.array.type) and not pa.types.is_large_string(cells.array.type):
            return None
        wanted = [self._placeholder, "\\x" + self._placeholder.encode().hex()]
        found = pc.is_in(cells.array, pa.array(wanted, cells.array.type))
        return found if pc.any(found).as_py() else None


def joined(blocks: Sequence[Block]) -> Block:
    """Blocks with the same columns as one."""
    if len(blocks) == 1:
        return blocks[0]
    first = blocks[0]
    columns = {
        name: Cells(cells.type, _concatenated([_values(block, name) for block in blocks]))
        for name, cells in first.columns.items()
    }
    starts = [0]
    for block in blocks:
        starts.append(starts[-1] + len(block))

    def record(row: int) -> Record:
        at = next(place for place in range(len(blocks)) if row < starts[place + 1])
        return blocks[at].record_at(row - starts[at])

    gone = pa.concat_arrays([block.gone for block in blocks])
    offsets = pa.concat_arrays([block.offsets for block in blocks])
    return replace(first, columns=columns, gone=gone, offsets=offsets, record=record, rows=None)


def _values(block: Block, name: str) -> pa.Array:
    cells = block.columns.get(name)
    return pa.nulls(len(block)) if cells is None else cells.array


def _concatenated(arrays: Sequence[pa.Array]) -> pa.Array:
    kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
    if len(kinds) > 1:
        return pa.concat_arrays([array.cast(pa.string()) for array in arrays])
    kind = next(iter(kinds), pa.null())
    return pa.concat_arrays([array.cast(kind) if array.type != kind else array for array in arrays])


def _distinct(block: Block) -> bool:
    """Whether no two rows have the same key."""
    if len(block) == 1 or not block.keys:
        return True
    if len(block.keys) == 1:
        return int(pc.count_distinct(block.columns[block.keys[0]].array).as_py()) == len(block)
    table = pa.table({key: block.columns[key].array for key in block.keys})
    return len(table.group_by(list(block.keys)).aggregate([])) == len(block)


def _after_deletes(block: Block) -> Block:
    """The rows that no later row of the block deletes."""
    keys = list(zip(*(block.columns[key].array.to_pylist() for key in block.keys), strict=True))
    gone = block.gone.to_pylist()
    deleted = {key: row for row, key in enumerate(keys) if gone[row]}
    left = [row for row, key in enumerate(keys) if not gone[row] and row > deleted.get(key, -1)]
    return block.take(pa.array(left, pa.int64()))


def _where(mask: pa.Array) -> pa.Array:
    return pc.indices_nonzero(mask).cast(pa.int64())
