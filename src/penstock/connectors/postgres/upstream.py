"""What a source keeps in the database for as long as it exists: a publication and a replication slot.

The publication carries a comment that names the connector and its slot. That is how a slot is known to be ours: hooks
may be called again after a crash, and must neither fail on their own work nor touch somebody else's.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.api import ConfigError, PluginError

from .catalog import Selection, Table, find_tables, quoted
from .connection import Database, driver, failures_retried
from .lsn import lsn_text, parse_lsn
from .settings import SOURCE
from .stream import release

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)

FILTERED, ALL_TABLES, DISABLED = "filtered", "all_tables", "disabled"


@dataclass(frozen=True)
class Slot:
    """What the server knows of a slot. Changes after ``confirmed`` can be had; with ``lost`` none."""

    plugin: str
    database: str
    confirmed: int
    lost: bool


@dataclass(frozen=True)
class Upstream:
    """The publication and the slot of one configuration."""

    database: Database
    connector: str
    slot: str
    publication: str
    mode: str
    selection: Selection
    adopt: bool
    failover: bool
    drops: bool

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Upstream:
        own = SOURCE.parse(config)
        connector = config.get("name", "")
        default = "penstock_" + re.sub(r"[^a-z0-9_]", "_", connector.lower())[:54]
        return cls(
            Database.of(config),
            connector,
            own["slot.name"] or default,
            own["publication.name"] or default,
            own["publication.autocreate.mode"],
            Selection.of(own),
            own["slot.adopt"],
            own["slot.failover"],
            own["slot.drop.on.delete"],
        )

    @property
    def _mark(self) -> str:
        return f"Made by Penstock for connector '{self.connector}' with slot '{self.slot}'"

    def make(self, copied_from: str = "") -> None:
        """Make what is missing, and bring the publication to the tables that are captured now.

        ``copied_from`` is a slot of the same database whose position the new one takes over.
        """
        with self.database.connect() as connection:
            _check_server(connection, self.database)
            slot = self.find_slot(connection)
            if slot is not None and not self._is_ours(connection, slot):
                raise PluginError(self._refusal(slot))
            self.publish(connection)
            if slot is None:
                self._make_slot(connection, copied_from)

    def remove(self) -> None:
        """Drop the slot and the publication, if they are ours and there."""
        if not self.drops:
            return
        release(self.database, self.slot)
        with failures_retried(f"{self.database} could not be cleaned up"), self.database.connect() as connection:
            slot = self.find_slot(connection)
            marked = self._comment(connection) == self._mark
            if slot is not None and (marked or self.mode == DISABLED):
                connection.execute("SELECT pg_drop_replication_slot(%s)", [self.slot])
                log.info("Dropped replication slot '%s' of %s", self.slot, self.database)
            if marked:
                connection.execute(f"DROP PUBLICATION IF EXISTS {quoted(self.publication)}")

    @property
    def place(self) -> tuple[str, int, str]:
        """Which database this is."""
        return self.database.host, self.database.port, self.database.name

    def take_over(self, connection: Connection[Any], old: Upstream) -> bool:
        """Make the publication of an earlier configuration this one's; whether it, and so the old slot, was ours."""
        if self._comment(connection) == self._mark:
            return True
        if old._comment(connection) != old._mark:
            return False
        slot = self.find_slot(connection)
        if slot is not None and self.slot != old.slot and not self.adopt:
            raise PluginError(self._refusal(slot))
        connection.execute(f"COMMENT ON PUBLICATION {quoted(self.publication)} IS {_literal(self._mark)}")
        return True

    def find_slot(self, connection: Connection[Any]) -> Slot | None:
        row = connection.execute(
            "SELECT plugin, database, confirmed_flush_lsn::text, coalesce(wal_status = 'lost', false)"
            " FROM pg_replication_slots WHERE slot_name = %s",
            [self.slot],
        ).fetchone()
        if row is None:
            return None
        return Slot(row[0] or "", row[1] or "", parse_lsn(row[2]) if row[2] else 0, row[3])

    def publish(self, connection: Connection[Any]) -> list[Table]:
        """Bring the publication to the captured tables, which come back."""
        tables = find_tables(connection, self.selection)
        comment = self._comment(connection)
        changed = comment is None
        if comment is None:
            self._make_publication(connection, tables)
        elif comment == self._mark and self.mode == FILTERED:
            names = {(table.schema, table.name) for table in tables}
            if names != self._published(connection):
                changed = True
                listed = _listed(tables)
                name = quoted(self.publication)
                if listed:
                    connection.execute(f"ALTER PUBLICATION {name} SET TABLE {listed}")
                else:
                    self._clear_publication(connection)
        elif comment != self._mark:
            self._check_foreign_publication(connection, tables)
        if changed:
            _warn_of_tables_without_identity(tables)
        return tables

    def _make_publication(self, connection: Connection[Any], tables: Sequence[Table]) -> None:
        if self.mode == DISABLED:
            raise PluginError(
                f"Publication '{self.publication}' does not exist in {self.database}, and "
                f"publication.autocreate.mode={DISABLED} forbids making it. Create it, or use {FILTERED}."
            )
        name, listed = quoted(self.publication), _listed(tables)
        what = " FOR ALL TABLES" if self.mode == ALL_TABLES else f" FOR TABLE {listed}" if listed else ""
        with connection.transaction():
            connection.execute(f"CREATE PUBLICATION {name}{what} WITH (publish_via_partition_root = true)")
            connection.execute(f"COMMENT ON PUBLICATION {name} IS {_literal(self._mark)}")

    def _clear_publication(self, connection: Connection[Any]) -> None:
        for schema, table in self._published(connection):
            connection.execute(f"ALTER PUBLICATION {quoted(self.publication)} DROP TABLE {quoted(schema, table)}")

    def _check_foreign_publication(self, connection: Connection[Any], tables: Sequence[Table]) -> None:
        published = self._published(connection)
        missing = [table for table in tables if (table.schema, table.name) not in published]
        if missing:
            raise PluginError(
                f"Publication '{self.publication}' of {self.database} was not made by this connector and lacks "
                f"{', '.join(table.full_name for table in missing)}. Add them (ALTER PUBLICATION "
                f"{quoted(self.publication)} ADD TABLE {_listed(missing)}), take them out of table.include.list, or "
                f"set publication.name to one that does not exist."
            )

    def _published(self, connection: Connection[Any]) -> set[tuple[str, str]]:
        rows = connection.execute(
            "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", [self.publication]
        )
        return {(schema, name) for schema, name in rows}

    def _comment(self, connection: Connection[Any]) -> str | None:
        """The comment of the publication; empty without one, ``None`` without a publication."""
        row = connection.execute(
            "SELECT coalesce(obj_description(oid, 'pg_publication'), '') FROM pg_publication WHERE pubname = %s",
            [self.publication],
        ).fetchone()
        return None if row is None else str(row[0])

    def _is_ours(self, connection: Connection[Any], slot: Slot) -> bool:
        usable = slot.plugin == "pgoutput" and slot.database == self.database.name
        return usable and (self.adopt or self._comment(connection) == self._mark)

    def _refusal(self, slot: Slot) -> str:
        if slot.plugin != "pgoutput" or slot.database != self.database.name:
            kind = f"it belongs to database '{slot.database}' and plugin '{slot.plugin}'"
            more = ""
        else:
            kind = f"changes after {lsn_text(slot.confirmed)} wait in it for somebody"
            more = " or, if it was meant for this connector, set slot.adopt=true;"
        return (
            f"Replication slot '{self.slot}' of {self.database} already exists and was not made by this connector: "
            f"{kind}. Set slot.name to another name;{more} or, if nobody needs it, drop it: "
            f"SELECT pg_drop_replication_slot({_literal(self.slot)})"
        )

    def _make_slot(self, connection: Connection[Any], copied_from: str) -> None:
        psycopg = driver()
        try:
            if copied_from:
                connection.execute("SELECT pg_copy_logical_replication_slot(%s, %s)", [copied_from, self.slot])
            elif self.failover:
                connection.execute(
                    "SELECT pg_create_logical_replication_slot(%s, 'pgoutput', failover => true)", [self.slot]
                )
            else:
                connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [self.slot])
        except psycopg.errors.ConfigurationLimitExceeded as error:
            raise PluginError(
                f"{self.database} has no room for another replication slot: {error}. Raise max_replication_slots or "
                f"drop slots nobody uses."
            ) from error
        log.info("Made replication slot '%s' of %s", self.slot, self.database)


def move(old: Upstream, new: Upstream) -> None:
    """From one configuration to the next: what is new is there before what is old goes.

    A slot that only changes its name keeps its position.
    """
    if old.place != new.place:
        new.make()
        old.remove()
        return
    if old.publication != new.publication:
        raise PluginError(
            f"publication.name cannot change from '{old.publication}' to '{new.publication}': what the slot still has "
            f"to tell was published under the old name. Keep it, or delete the connector and create it anew."
        )
    renamed = old.slot != new.slot
    with new.database.connect() as connection:
        ours = new.take_over(connection, old)
        copied = renamed and ours and old.find_slot(connection) is not None
    if copied:
        release(old.database, old.slot)
    new.make(old.slot if copied else "")
    if copied and old.drops:
        with new.database.connect() as connection:
            connection.execute("SELECT pg_drop_replication_slot(%s)", [old.slot])


def check_lsn(upstream: Upstream, lsn: int) -> None:
    """Raise ``ConfigError`` unless the slot can go on from a position."""
    with upstream.database.connect() as connection:
        slot = upstream.find_slot(connection)
        row = connection.execute("SELECT pg_current_wal_lsn()::text").fetchone()
    end = parse_lsn(row[0]) if row else 0
    if slot is None or slot.lost:
        state = "does not exist" if slot is None else "has lost its part of the log"
        raise ConfigError(
            f"Replication slot '{upstream.slot}' {state}: no position can be set. Reset the offsets instead, so that "
            f"the tables are read again."
        )
    if not slot.confirmed <= lsn <= end:
        raise ConfigError(
            f"Replication slot '{upstream.slot}' cannot go on from {lsn_text(lsn)}: it has the log from "
            f"{lsn_text(slot.confirmed)} to {lsn_text(end)}. To see older changes again, reset the offsets, so that "
            f"the tables are read again."
        )


def _warn_of_tables_without_identity(tables: Sequence[Table]) -> None:
    mute = [table.full_name for table in tables if not table.key and table.identity != "f"]
    if mute:
        log.warning(
            "PostgreSQL refuses updates and deletes of published tables without a primary key: %s. Give them one, or "
            "ALTER TABLE … REPLICA IDENTITY FULL, or leave them out with table.exclude.list.",
            ", ".join(mute),
        )


def _check_server(connection: Connection[Any], database: Database) -> None:
    row = connection.execute("SELECT current_setting('wal_level')").fetchone()
    if row is None or row[0] != "logical":
        raise PluginError(
            f"{database} has wal_level={row[0] if row else '?'}, but changes can only be read with wal_level=logical: "
            f"ALTER SYSTEM SET wal_level = logical; and restart the server."
        )


def _listed(tables: Sequence[Table]) -> str:
    return ", ".join(quoted(table.schema, table.name) for table in tables)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
