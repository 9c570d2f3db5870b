"""A consistent view of the tables, shared by all executors that read them."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.api import Batch, RetriableError

from .catalog import Column, File, Table, have_same_nodes, quoted
from .connection import Database, driver, failures_retried
from .copied_rows import as_text, columns_of
from .lsn import Visibility, parse_lsn
from .shape import Moment, Shape

if TYPE_CHECKING:
    from psycopg import Connection

_BYTES_A_BATCH = 8 << 20


class Snapshot:
    """An exported snapshot, alive as long as this object's connection.

    Every transaction that committed before ``before`` (but for those in the very act of it) is seen; every one that is
    seen committed before ``after``.
    """

    def __init__(self, database: Database) -> None:
        self._connection = database.connect(settings={"idle_in_transaction_session_timeout": "0"})
        try:
            with failures_retried(f"No snapshot of {database} could be taken"):
                self.before = self._one_lsn()
                self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                row = self._connection.execute("SELECT pg_export_snapshot(), pg_current_snapshot()::text").fetchone()
                assert row is not None
                self.name, self.sees = str(row[0]), Visibility.parse(row[1])
                self.after = self._one_lsn()
        except BaseException:
            self.close()
            raise

    @property
    def connection(self) -> Connection[Any]:
        """A connection that sees this snapshot, for the driver."""
        return self._connection

    @property
    def alive(self) -> bool:
        """Whether executors can still use it; asks the server."""
        try:
            self._connection.execute("SELECT 1")
        except driver().Error:
            return False
        return True

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._connection.close()

    def _one_lsn(self) -> int:
        row = self._connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        assert row is not None
        return parse_lsn(row[0])


@dataclass(frozen=True)
class Piece:
    """Some pages of a file of a table; ``condition`` is SQL over its rows, or empty."""

    file: File
    first: int
    last: int
    condition: str = ""


def read_piece(database: Database, snapshot: str, shape: Shape, piece: Piece, lsn: int, micros: int) -> Iterator[Batch]:
    """The rows of a piece, as the snapshot sees them. ``lsn`` and ``micros`` are where and when they are from.

    ``RetriableError`` at the end if the table was rewritten since the piece was cut: its pages had other rows. Having
    read it, nobody can rewrite it before we look.
    """
    columns = shape.table.columns
    if not columns or piece.last <= piece.first:
        return
    query = f"COPY ({_select(columns, piece)}) TO STDOUT (FORMAT binary)"
    errors = driver().errors
    try:
        with failures_retried(f"Table {shape.table.full_name} could not be read"), _view(database, snapshot) as opened:
            for number, rows in enumerate(_messages(opened, query)):
                texts = columns_of(rows, number == 0, len(columns))
                if len(texts[0]):
                    yield _batch(shape, texts, lsn, micros)
            if not have_same_nodes(opened, [piece.file]):
                raise RetriableError(f"Table {shape.table.full_name} was rewritten before it was read")
    except (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction, errors.InvalidSchemaName) as error:
        raise RetriableError(f"Table {shape.table.full_name} changed before it was read: {error}") from error


def _select(columns: Sequence[Column], piece: Piece) -> str:
    conditions = [f"ctid >= '({piece.first},0)'::tid", f"ctid < '({piece.last},0)'::tid"]
    if piece.condition:
        conditions.append(piece.condition)
    texts = ", ".join(map(as_text, columns))
    file = quoted(piece.file.schema, piece.file.name)
    return f"SELECT {texts} FROM ONLY {file} WHERE {' AND '.join(conditions)}"


def _messages(connection: Connection[Any], query: str) -> Iterator[list[bytes]]:
    """What a COPY sends, some megabytes at a time. The driver's own way costs more than all that follows."""
    pg: Any = connection.pgconn
    _check(connection, pg.exec_(query.encode()), "COPY_OUT")
    get, waiting, size = pg.get_copy_data, list[bytes](), 0
    while (found := get(1))[0] >= 0:
        if found[0] == 0:
            select.select([pg.socket], [], [])
            pg.consume_input()
            continue
        waiting.append(found[1].tobytes())
        size += found[0]
        if size > _BYTES_A_BATCH:
            yield waiting
            waiting, size = [], 0
    while (result := pg.get_result()) is not None:
        _check(connection, result, "COMMAND_OK")
    if waiting:
        yield waiting


def _check(connection: Connection[Any], result: Any, wanted: str) -> None:
    psycopg = driver()
    if result.status != psycopg.pq.ExecStatus[wanted]:
        error = psycopg.errors.error_from_result(result, "utf-8")
        raise psycopg.OperationalError(str(error)) if connection.closed else error


def _batch(shape: Shape, texts: Sequence[pa.Array], lsn: int, micros: int) -> Batch:
    rows = shape.rows_of_texts(texts)
    count = len(rows)
    when, where = pa.repeat(pa.scalar(micros, pa.int64()), count), pa.repeat(pa.scalar(lsn, pa.int64()), count)
    values = shape.values(
        ["r"] * count, rows, shape.no_rows(count), Moment(when, pa.nulls(count, pa.int64()), where), "true"
    )
    return Batch(shape.topic, values, shape.keys(rows))


_connections: dict[Database, Connection[Any]] = {}


@contextlib.contextmanager
def _view(database: Database, snapshot: str) -> Iterator[Connection[Any]]:
    """A connection of this process that sees a snapshot. No transaction stays open: it would hold locks on tables."""
    connection = _connections.pop(database, None)
    if connection is None or connection.closed:
        connection = database.connect()
    try:
        with connection.transaction():
            _join(connection, database, snapshot)
            yield connection
    except BaseException:
        connection.close()
        raise
    _connections[database] = connection


def _join(connection: Connection[Any], database: Database, snapshot: str) -> None:
    try:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        connection.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
    except driver().errors.DatabaseError as error:
        raise RetriableError(f"The snapshot {snapshot} of {database} is gone, another one is taken: {error}") from error


def pieces_of(table: Table, files: Sequence[File], first: int, last: int, condition: str = "") -> list[Piece]:
    """The pieces from place ``first`` to ``last``: pages of a plain table, whole parts of a partitioned one."""
    if table.partitioned:
        return [Piece(file, 0, file.pages, condition) for file in files[first:last]]
    return [Piece(files[0], first, last, condition)]


def places(table: Table, files: Sequence[File]) -> int:
    """How many places a table has."""
    return len(files) if table.partitioned else files[0].pages
