"""Large values that the stream leaves out, asked for in the table itself."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .catalog import Table, quoted
from .connection import driver
from .pgoutput import UNCHANGED, Row

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)

_ROWS_AT_ONCE = 100


def with_large_values(connection: Connection[Any], table: Table, rows: Sequence[Row]) -> list[Row]:
    """New rows with the values that their table has now in place of those the stream left out.

    If the value changed since, a later change tells it too; if the row is gone, a later change tells that. The table
    may have lost the column, or be gone itself.
    """
    found: list[Row] = []
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[start : start + _ROWS_AT_ONCE]
        try:
            found += _filled(connection, table, some)
        except driver().errors.ProgrammingError as error:
            log.info("Large values of table %s, which changed meanwhile, stay unknown: %s", table.full_name, error)
            found += some
    return found


def _filled(connection: Connection[Any], table: Table, rows: Sequence[Row]) -> list[Row]:
    """One query for some rows. Values are taken as the server writes them, which is how the stream has them."""
    names = [column.name for column in table.columns]
    keys = [names.index(name) for name in table.key]
    wanted = sorted({place for row in rows for place, cell in enumerate(row) if cell is UNCHANGED} - set(keys))
    columns = ", ".join(_written(names[place]) for place in wanted)
    same = " AND ".join(f"{_written(names[place])} = %s" for place in keys)
    source = f"{quoted(table.schema, table.name)}".replace("%", "%%")
    single = [f"SELECT {number}, {columns} FROM {source} WHERE {same}" for number in range(len(rows))]
    parameters = [row[place].decode() for row in rows for place in keys]
    result = connection.execute(" UNION ALL ".join(single).encode(), parameters).pgresult
    assert result is not None
    filled = [list(row) for row in rows]
    for at in range(result.ntuples):
        row = filled[int(result.get_value(at, 0) or b"0")]
        for column, place in enumerate(wanted, 1):
            if row[place] is UNCHANGED:
                row[place] = result.get_value(at, column)
    return filled


def _written(name: str) -> str:
    """A column in a statement with parameters."""
    return quoted(name).replace("%", "%%")
