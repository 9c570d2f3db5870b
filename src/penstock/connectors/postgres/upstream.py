"""What a source keeps in the database for as long as it exists: a publication and a replication slot.

A comment on a publication names the connector and its slot. That is how a slot is known to be ours: hooks may be called
again after a crash, and must neither fail on their own work nor touch somebody else's.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.api import ConfigError, PluginError, RetriableError

from .catalog import Selection, Table, find_tables, literal
from .connection import Database, driver, failures_retried, identity_of
from .lsn import lsn_text, parse_lsn
from .publication import Publication
from .settings import SNAPSHOT_MODES, SOURCE
from .stream import release

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Slot:
    """What the server knows of a slot. Changes after ``confirmed`` can be had; with ``lost`` none."""

    plugin: str
    database: str
    confirmed: int
    lost: bool


@dataclass(frozen=True)
class Upstream:
    """The publication and the slot of one configuration; neither if it only reads tables and not their changes."""

    database: Database
    connector: str
    prefix: str
    slot: str
    publication: str
    mode: str
    selection: Selection
    streams: bool
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
            own["topic.prefix"],
            own["slot.name"] or default,
            own["publication.name"] or default,
            own["publication.autocreate.mode"],
            Selection.of(own),
            SNAPSHOT_MODES[own["snapshot.mode"]] != "only",
            own["slot.adopt"],
            own["slot.failover"],
            own["slot.drop.on.delete"],
        )

    @property
    def _published(self) -> Publication:
        return Publication(self.database, self.connector, self.slot, self.publication, self.mode, self.selection)

    def make(self, copied_from: str = "") -> None:
        """Make what is missing, and bring the publication to the tables that are captured now.

        ``copied_from`` is a slot of the same database whose position the new one takes over.
        """
        if not self.streams:
            return
        with self.database.connect() as connection:
            _check_server(connection, self.database)
            slot = self.find_slot(connection)
            if slot is not None and not self._is_ours(connection, slot):
                raise PluginError(self._refusal(slot))
            self.publish(connection)
            self._mark(connection, slot)
            if slot is None:
                self._make_slot(connection, copied_from)

    def _mark(self, connection: Connection[Any], slot: Slot | None) -> None:
        """Say whose the slot is. One that was adopted is ours by the configuration too."""
        if self._published.is_marked(connection):
            return
        try:
            self._published.mark(connection)
        except PluginError:
            if slot is None or not self.adopt:
                raise

    def remove(self) -> None:
        """Drop the slot and the publication, if they are ours and there."""
        if not self.drops:
            return
        release(self.database, self.slot)
        with failures_retried(f"{self.database} could not be cleaned up"), self.database.connect() as connection:
            slot = self.find_slot(connection)
            if slot is not None and self._is_ours(connection, slot):
                connection.execute("SELECT pg_drop_replication_slot(%s)", [self.slot])
                log.info("Dropped replication slot '%s' of %s", self.slot, self.database)
            self._published.drop(connection)

    def take_over(self, connection: Connection[Any], old: Upstream) -> bool:
        """Mark the slot of this configuration as the connector's, if that of an earlier one was; whether it was."""
        if self._published.is_marked(connection):
            return True
        if not old._published.is_marked(connection):
            return False
        slot = self.find_slot(connection)
        if slot is not None and self.slot != old.slot and not self.adopt:
            raise PluginError(self._refusal(slot))
        self._published.mark(connection)
        return True

    def drop_copied(self, connection: Connection[Any]) -> None:
        """Drop a slot that another one has taken the place of, with its mark."""
        connection.execute("SELECT pg_drop_replication_slot(%s)", [self.slot])
        self._published.drop_owner(connection)

    def is_there(self) -> bool:
        """Whether the database has the slot, and it is this connector's."""
        with self.database.connect() as connection:
            return self._published.is_marked(connection) and self.find_slot(connection) is not None

    def publish(self, connection: Connection[Any]) -> list[Table]:
        """Bring the publication to the captured tables, which come back."""
        if not self.streams:
            return find_tables(connection, self.selection)
        return self._published.follow(connection)

    def find_slot(self, connection: Connection[Any]) -> Slot | None:
        row = connection.execute(
            "SELECT plugin, database, confirmed_flush_lsn::text, coalesce(wal_status = 'lost', false)"
            " FROM pg_replication_slots WHERE slot_name = %s",
            [self.slot],
        ).fetchone()
        if row is None:
            return None
        return Slot(row[0] or "", row[1] or "", parse_lsn(row[2]) if row[2] else 0, row[3])

    def _is_ours(self, connection: Connection[Any], slot: Slot) -> bool:
        usable = slot.plugin == "pgoutput" and slot.database == self.database.name
        return usable and ((self.adopt and self.streams) or self._published.is_marked(connection))

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
            f"SELECT pg_drop_replication_slot({literal(self.slot)})"
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
    if not new.streams:
        if old.streams:
            old.remove()
        return
    if not old.streams:
        new.make()
        return
    same = _is_same_database(old, new)
    if not same:
        _move_elsewhere(old, new, old_answers=same is not None)
        return
    old = replace(old, database=new.database)
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
            old.drop_copied(connection)


def _is_same_database(old: Upstream, new: Upstream) -> bool | None:
    """Whether two configurations lead to one database, be it by different addresses; ``None`` if the old is silent."""
    one, other = old.database, new.database
    if (one.host, one.port, one.name) == (other.host, other.port, other.name):
        return True
    with other.connect() as connection:
        identity = identity_of(connection)
    try:
        with one.connect() as connection:
            return identity_of(connection) == identity
    except RetriableError as error:
        log.warning("Whether %s is the same database as %s cannot be told: %s", other, one, error)
        return None


def _move_elsewhere(old: Upstream, new: Upstream, old_answers: bool) -> None:
    """To another database: one that has the connector's slot already, or one where everything begins anew.

    The first is a standby that took over, or the database from which a change that is taken back led away.
    """
    if not new.is_there() and old.prefix == new.prefix:
        unless = "" if old_answers else f", unless they are the same, which cannot be told while {old.database} is down"
        raise PluginError(
            f"database.hostname, database.port and database.dbname now lead to {new.database}, which has no slot "
            f"'{new.slot}' of this connector, and no longer to {old.database}. Positions in the log of one database "
            f"mean nothing in another{unless}. Set topic.prefix to another value, with which everything begins anew, "
            f"or delete the connector with its offsets (DELETE /connectors/{new.connector}?includeOffsets=true) and "
            f"create it anew."
        )
    new.make()
    if old_answers or old.prefix != new.prefix:
        old.remove()


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


def _check_server(connection: Connection[Any], database: Database) -> None:
    row = connection.execute("SELECT current_setting('wal_level')").fetchone()
    if row is None or row[0] != "logical":
        raise PluginError(
            f"{database} has wal_level={row[0] if row else '?'}, but changes can only be read with wal_level=logical: "
            f"ALTER SYSTEM SET wal_level = logical; and restart the server."
        )
