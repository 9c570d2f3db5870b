"""Which tables a slot tells of: a publication, ours or somebody else's.

Ours carries a comment that names the connector and its slot. Beside a publication of somebody else, an empty one of our
own carries it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.api import PluginError

from .catalog import Selection, Table, find_tables, literal, quoted
from .connection import Database, driver

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)

FILTERED, ALL_TABLES, DISABLED = "filtered", "all_tables", "disabled"
_MOST_BYTES, _OWNER = 63, "_owner"


@dataclass(frozen=True)
class Publication:
    """The publication of one configuration, and the mark of its slot."""

    database: Database
    connector: str
    slot: str
    name: str
    mode: str
    selection: Selection

    @property
    def _begin_of_mark(self) -> str:
        return f"Made by Penstock for connector '{self.connector}' with slot "

    @property
    def _mark(self) -> str:
        return f"{self._begin_of_mark}'{self.slot}'"

    @property
    def _owner(self) -> str:
        """The name of the empty publication that marks a slot where the other one is not ours."""
        return self.slot[: _MOST_BYTES - len(_OWNER)] + _OWNER

    def is_marked(self, connection: Connection[Any]) -> bool:
        """Whether something says that the slot is this connector's."""
        return self._mark in (_comment(connection, self.name), _comment(connection, self._owner))

    def mark(self, connection: Connection[Any]) -> None:
        """Say that the slot is this connector's; ``PluginError`` without leave to."""
        if (_comment(connection, self.name) or "").startswith(self._begin_of_mark):
            connection.execute(f"COMMENT ON PUBLICATION {quoted(self.name)} IS {literal(self._mark)}")
            return
        owner = quoted(self._owner)
        try:
            with connection.transaction():
                if _comment(connection, self._owner) is None:
                    connection.execute(f"CREATE PUBLICATION {owner}")
                connection.execute(f"COMMENT ON PUBLICATION {owner} IS {literal(self._mark)}")
        except driver().errors.InsufficientPrivilege as error:
            raise PluginError(
                f"Publication '{self.name}' of {self.database} was not made by this connector, so an empty one, "
                f"'{self._owner}', must say that slot '{self.slot}' is its own, and cannot be made: {error}. GRANT "
                f"CREATE ON DATABASE {quoted(self.database.name)} TO {quoted(self.database.user)}, or make the slot "
                f"(SELECT pg_create_logical_replication_slot({literal(self.slot)}, 'pgoutput')) and set "
                f"slot.adopt=true."
            ) from error

    def drop(self, connection: Connection[Any]) -> None:
        """Drop what carries the mark of this slot, and thereby the mark."""
        for name in (self.name, self._owner):
            if _comment(connection, name) == self._mark:
                connection.execute(f"DROP PUBLICATION IF EXISTS {quoted(name)}")

    def drop_owner(self, connection: Connection[Any]) -> None:
        """Drop the mark of a slot that is gone, where it is not on the publication itself."""
        if _comment(connection, self._owner) == self._mark:
            connection.execute(f"DROP PUBLICATION IF EXISTS {quoted(self._owner)}")

    def follow(self, connection: Connection[Any]) -> list[Table]:
        """Bring the publication to the captured tables, which come back."""
        tables = find_tables(connection, self.selection)
        comment = _comment(connection, self.name)
        if comment is not None and comment != self._mark:
            self._check_foreign(connection, tables)
            return tables
        if self.mode == FILTERED:
            tables = self._those_of_ours(tables)
        if comment is None:
            with connection.transaction():
                self._make(connection, tables)
        elif not self._is_up_to_date(connection, tables):
            self._change(connection, tables)
        else:
            return tables
        _warn_of_tables_without_identity(tables)
        return tables

    def _is_up_to_date(self, connection: Connection[Any], tables: Sequence[Table]) -> bool:
        if self.mode == DISABLED:
            return True
        if self._is_of_all(connection) != (self.mode == ALL_TABLES):
            return False
        names = {(table.schema, table.name) for table in tables}
        return self.mode == ALL_TABLES or names == self._published(connection)

    def _change(self, connection: Connection[Any], tables: Sequence[Table]) -> None:
        name, listed = quoted(self.name), _listed(tables)
        if self.mode == FILTERED and listed and not self._is_of_all(connection):
            connection.execute(f"ALTER PUBLICATION {name} SET TABLE {listed}")
            return
        with connection.transaction():
            connection.execute(f"DROP PUBLICATION {name}")
            self._make(connection, tables)

    def _make(self, connection: Connection[Any], tables: Sequence[Table]) -> None:
        if self.mode == DISABLED:
            raise PluginError(
                f"Publication '{self.name}' does not exist in {self.database}, and "
                f"publication.autocreate.mode={DISABLED} forbids making it. Create it, or use {FILTERED}."
            )
        name, listed = quoted(self.name), _listed(tables)
        what = " FOR ALL TABLES" if self.mode == ALL_TABLES else f" FOR TABLE {listed}" if listed else ""
        connection.execute(f"CREATE PUBLICATION {name}{what} WITH (publish_via_partition_root = true)")
        connection.execute(f"COMMENT ON PUBLICATION {name} IS {literal(self._mark)}")

    def _those_of_ours(self, tables: Sequence[Table]) -> list[Table]:
        """The tables that may be published: only their owner may."""
        foreign = [table.full_name for table in tables if not table.owned]
        if foreign and self.selection.included:
            raise PluginError(
                f"Only the owner of a table may publish it, and user '{self.database.user}' of {self.database} does "
                f"not own {', '.join(foreign)}. GRANT the owner's role to the user, take the tables out of "
                f"table.include.list, or use a publication of somebody who owns them with "
                f"publication.autocreate.mode={DISABLED}."
            )
        for name in foreign:
            if (self.database, name) not in _left_out:
                _left_out.add((self.database, name))
                log.warning(
                    "Table %s of %s is left out: user '%s' does not own it, and only the owner of a table may publish "
                    "it. GRANT the owner's role to the user, or name the table in table.exclude.list.",
                    name,
                    self.database,
                    self.database.user,
                )
        return [table for table in tables if table.owned]

    def _check_foreign(self, connection: Connection[Any], tables: Sequence[Table]) -> None:
        published = self._published(connection)
        missing = [table for table in tables if (table.schema, table.name) not in published]
        if missing:
            raise PluginError(
                f"Publication '{self.name}' of {self.database} was not made by this connector and lacks "
                f"{', '.join(table.full_name for table in missing)}. Add them (ALTER PUBLICATION "
                f"{quoted(self.name)} ADD TABLE {_listed(missing)}), take them out of table.include.list, or "
                f"set publication.name to one that does not exist."
            )

    def _published(self, connection: Connection[Any]) -> set[tuple[str, str]]:
        rows = connection.execute(
            "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", [self.name]
        )
        return {(schema, name) for schema, name in rows}

    def _is_of_all(self, connection: Connection[Any]) -> bool:
        row = connection.execute("SELECT puballtables FROM pg_publication WHERE pubname = %s", [self.name]).fetchone()
        return bool(row and row[0])


_left_out: set[tuple[Database, str]] = set()
"""Tables that this process has warned of."""


def _comment(connection: Connection[Any], publication: str) -> str | None:
    """The comment of a publication; empty without one, ``None`` without a publication."""
    row = connection.execute(
        "SELECT coalesce(obj_description(oid, 'pg_publication'), '') FROM pg_publication WHERE pubname = %s",
        [publication],
    ).fetchone()
    return None if row is None else str(row[0])


def _warn_of_tables_without_identity(tables: Sequence[Table]) -> None:
    mute = [table.full_name for table in tables if not table.key and table.identity != "f"]
    if mute:
        log.warning(
            "PostgreSQL refuses updates and deletes of published tables without a primary key: %s. Give them one, or "
            "ALTER TABLE … REPLICA IDENTITY FULL, or leave them out with table.exclude.list.",
            ", ".join(mute),
        )


def _listed(tables: Sequence[Table]) -> str:
    return ", ".join(quoted(table.schema, table.name) for table in tables)
