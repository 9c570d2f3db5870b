"""Large values that the stream leaves out, asked for in the table itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .catalog import Table, quoted
from .connection import driver
from .pgoutput import UNCHANGED, Row

if TYPE_CHECKING:
    from psycopg import Connection


def with_large_values(connection: Connection[Any], table: Table, row: Row) -> Row:
    """A new row with the values that its table has now in place of those the stream left out.

    If the value changed since, a later change tells it too; if the row is gone, a later change tells that. The table
    may have lost the column, or be gone itself.
    """
    names = [column.name for column in table.columns]
    wanted = [place for place, cell in enumerate(row) if cell is UNCHANGED]
    keys = [names.index(name) for name in table.key]
    columns = ", ".join(f"{quoted(names[place])}::text" for place in wanted)
    same = " AND ".join(f"{quoted(names[place])} = %s" for place in keys)
    query = f"SELECT {columns} FROM {quoted(table.schema, table.name)} WHERE {same}"
    try:
        found = connection.execute(query.encode(), [row[place].decode() for place in keys]).fetchone()
    except driver().errors.ProgrammingError:
        return row
    if found is None:
        return row
    values = dict(zip(wanted, found, strict=True))
    return [_cell(values[place]) if place in values else cell for place, cell in enumerate(row)]


def _cell(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
