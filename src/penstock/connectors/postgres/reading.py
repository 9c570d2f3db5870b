"""The first reading of tables: which are unread, under which snapshot, and in which pieces."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.api import Plan, SourceOffset, SourcePartition, Split

from .catalog import File, Table, file_number, files_of, have_same_nodes
from .lsn import Visibility
from .position import Position, State, TableProgress, server_partition, table_partition
from .snapshot import Piece, Snapshot, pieces_of, places
from .upstream import Upstream
from .waiting import oldest_transaction

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)

SPLITS_A_CORE = 4
"""So many pieces of tables are read for one commit: enough that cores rarely wait for each other."""

SAY_SECONDS = 60.0
"""How often to say that a table cannot be read yet."""

Ends = list[tuple[SourcePartition, SourceOffset]]


class Reading:
    """Plans the pieces of unread tables. All that are known when a snapshot is taken are read under it.

    A table that is found later is read under a later one: between the snapshot and its publication it may have changed,
    and neither would tell.
    """

    def __init__(self, upstream: Upstream, mode: str, pages: int) -> None:
        self._upstream = upstream
        self._server = upstream.prefix
        self._mode = mode
        self._pages = pages
        self._snapshot: Snapshot | None = None
        self._files: dict[int, list[File]] = {}
        self._published_before: dict[int, int] = {}
        self._again: set[str] | None = None
        self._said = float("-inf")

    def close(self) -> None:
        """Give up the snapshot."""
        if self._snapshot is not None:
            self._snapshot.close()
        self._snapshot, self._files = None, {}

    def found(self, connection: Connection[Any], tables: Sequence[Table], state: State) -> None:
        """Take note of the captured tables, which are published now.

        A table whose reading has begun was published before that.
        """
        new = [table for table in tables if table.oid not in self._published_before]
        if new:
            row = connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").fetchone()
            now = int(row[0]) if row and self._upstream.streams else 0
            for table in new:
                self._published_before[table.oid] = 0 if state.progress(table) is not None else now
        if self._again is None:
            self._again = {table.full_name for table in tables} if self._mode == "always" else set()

    def unread(self, tables: Sequence[Table], state: State) -> list[Table]:
        """The tables that are not read to their end."""
        if self._mode == "never":
            return []
        now = self._snapshot.sees.text if self._snapshot is not None else ""
        return [table for table in tables if not self._is_read(table, state, now)]

    def left(self, tables: Sequence[Table], state: State) -> Ends:
        """Offsets of tables that are not captured any more: should they come back, they are read again."""
        names = {table.full_name for table in tables}
        gone = {name: p for name, p in state.tables.items() if name not in names and p.captured}
        return [
            (table_partition(self._server, name), replace(progress, captured=False).offset())
            for name, progress in gone.items()
        ]

    def plan(self, connection: Connection[Any], state: State, unread: Sequence[Table]) -> Plan | None:
        """The next pieces; ``None`` when no table can be read yet."""
        readable = self._still_readable(connection, unread)
        if not readable:
            self.close()
            readable = self._newly_readable(connection, unread)
        snapshot = self._snapshot
        if snapshot is None:
            return None
        ends: Ends = []
        base = state.position
        if base is None:
            slot = self._upstream.find_slot(connection) if self._upstream.streams else None
            base = Position(slot.confirmed if slot else snapshot.before)
            ends.append((server_partition(self._server), base.offset()))
        return self._plan_pieces(state, snapshot, readable, base, ends)

    def _is_read(self, table: Table, state: State, snapshot: str) -> bool:
        """Whether a table needs no reading; with ``always``, only what this run has read counts."""
        progress = state.progress(table)
        if progress is None or not progress.done:
            return False
        again = self._again or set()
        if progress.since == snapshot:
            again.discard(table.full_name)
        return table.full_name not in again

    def _still_readable(self, connection: Connection[Any], unread: Sequence[Table]) -> list[Table]:
        """The tables of the snapshot there is, if it still serves: pages of a rewritten table mean something else."""
        readable = [table for table in unread if table.oid in self._files]
        if not readable or self._snapshot is None or not self._snapshot.alive:
            return []
        files = [file for table in readable for file in self._files[table.oid]]
        return readable if have_same_nodes(connection, files) else []

    def _newly_readable(self, connection: Connection[Any], unread: Sequence[Table]) -> list[Table]:
        """The tables of a new snapshot: those for which all transactions have ended that changed them unpublished.

        The stream does not tell what these did to them then, so the snapshot must see it.
        """
        row = connection.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint").fetchone()
        lower = int(row[0]) if row else 0
        settled = [table for table in unread if lower >= self._published_before.get(table.oid, 0)]
        if len(settled) < len(unread):
            self._say_who_waits(connection, [table for table in unread if table not in settled], lower)
        if settled:
            self._snapshot = Snapshot(self._upstream.database)
            self._files = {table.oid: files_of(self._snapshot.connection, table) for table in settled}
        return settled

    def _say_who_waits(self, connection: Connection[Any], tables: Sequence[Table], xid: int) -> None:
        if time.monotonic() - self._said > SAY_SECONDS:
            self._said = time.monotonic()
            log.warning(
                "Waiting to read %s until all transactions from before the publication have ended; the oldest is %s. "
                "Changes of other tables go on meanwhile.",
                ", ".join(table.full_name for table in tables),
                oldest_transaction(connection, xid),
            )

    def _plan_pieces(
        self, state: State, snapshot: Snapshot, unread: Sequence[Table], base: Position, ends: Ends
    ) -> Plan:
        room = SPLITS_A_CORE * (os.cpu_count() or 1)
        splits: list[Split] = []
        for table in unread:
            progress = self._progress(state, table, snapshot)
            files = self._files[table.oid]
            step = 1 if table.partitioned else self._pages
            until = min(progress.pages, progress.page + max(1, room - len(splits)) * step)
            unchanged = ""
            if progress.resumed:
                unchanged = f"NOT {Visibility.parse(progress.since).changed_since(snapshot.sees)}"
            for first in range(progress.page, until, step):
                for piece in pieces_of(table, files, first, min(first + step, until), unchanged):
                    splits.append(_split(table, piece, snapshot, base))
            ends.append((table_partition(self._server, table.full_name), progress.at(until).offset()))
            if len(splits) >= room:
                break
        return Plan(splits or [Split({"kind": "nothing"})], ends)

    def _progress(self, state: State, table: Table, snapshot: Snapshot) -> TableProgress:
        """How far a table is, under the snapshot there is now.

        Where rows of it were read before, and it has a key, changes since then are told again: some are deletes of
        rows that the new reading does not find.
        """
        files = self._files[table.oid]
        number = file_number(files) if files else 0
        known = state.progress(table)
        if known is not None and not known.done:
            if known.filenode == number:
                return known if known.since == snapshot.sees.text else replace(known, resumed=snapshot.after)
            log.warning("Table %s was rewritten while it was read; it is read from the beginning", table.full_name)
        total = places(table, files) if files else 0
        earlier = known.told_since if known is not None and table.key else ""
        return TableProgress(snapshot.sees.text, snapshot.after, 0, total, number, oid=table.oid, replayed=earlier)


def _split(table: Table, piece: Piece, snapshot: Snapshot, base: Position) -> Split:
    return Split(
        {
            "kind": "rows",
            "table": table,
            "piece": piece,
            "snapshot": snapshot.name,
            "lsn": base.lsn,
            "micros": time.time_ns() // 1000,
        }
    )
