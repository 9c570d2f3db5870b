"""Captures changes of PostgreSQL tables: each table is read once, then every change follows in order."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.api import (
    Batch,
    Config,
    ConfigError,
    Plan,
    PluginError,
    Progress,
    Record,
    SourceConnector,
    SourceOffset,
    SourceOffsets,
    SourcePartition,
    SourceTask,
    Split,
)

from . import upstream
from .capture import Capture, Source, Span
from .catalog import File, Selection, Table, file_number, files_of
from .connection import driver, failures_retried
from .lsn import Visibility, lsn_text, parse_lsn
from .position import TABLE, Position, State, TableProgress, check_partition, server_partition, table_partition
from .settings import SNAPSHOT_MODES, SOURCE, refused_keys
from .shape import EXTRA_FIELDS, Shape, Style
from .snapshot import Piece, Snapshot, pieces_of, places, read_piece
from .types import Handling
from .upstream import Upstream

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)

LOOK_SECONDS = 10.0
"""How often to look for tables that were made or dropped."""

SPLITS_A_CORE = 4
"""So many pieces of tables are read for one commit: enough that cores rarely wait for each other."""

_PLANNING = {"lock_timeout": "2000", "statement_timeout": "20000"}

CONFIRM_SECONDS = 2.0
"""How long a committed position may stay unknown to a slot that has nothing else to tell."""


def _source(config: Mapping[str, str]) -> Source:
    own = SOURCE.parse(config)
    made = Upstream.of(config)
    times = "connect" if own["time.precision.mode"] == "connect" else "adaptive"
    style = Style(
        own["topic.prefix"],
        made.database.name,
        Handling(own["decimal.handling.mode"], times, own["interval.handling.mode"]),
        own["envelope"] == "flat",
        tuple(own["flat.add.fields"] or ()),
        own["unavailable.value.placeholder"],
    )
    skipped = frozenset(own["skipped.operations"] or ())
    return Source(
        made.database, made.slot, made.publication, made.selection, style, own["tombstones.on.delete"], skipped
    )


class PostgresCdcTask(SourceTask):
    """Plans pieces of tables while some are unread, else spans of the stream of changes; see ``position``."""

    java_class = "io.debezium.connector.postgresql.PostgresConnectorTask"

    def configure(self, config: Mapping[str, str]) -> None:
        super().configure(config)
        own = SOURCE.parse(config)
        self._source = _source(config)
        self._upstream = Upstream.of(config)
        self._server: str = own["topic.prefix"]
        self._mode = SNAPSHOT_MODES[own["snapshot.mode"]]
        self._pages: int = own["snapshot.split.pages"]
        self._poll: float = own["poll.interval.ms"] / 1000
        self._heartbeat: float = own["heartbeat.interval.ms"] / 1000
        self._heartbeat_topic = f"{own['heartbeat.topics.prefix']}.{self._server}"
        self._heartbeat_query: str = own["heartbeat.action.query"]
        self._connection: Connection[Any] | None = None
        self._snapshot: Snapshot | None = None
        self._tables: list[Table] = []
        self._files: dict[str, list[File]] = {}
        self._again: set[str] | None = None
        self._looked = self._planned = self._beat = self._said = float("-inf")
        self._published_before = 0
        self._told = -1
        self._shapes: dict[int, Shape] = {}

    def stop(self) -> None:
        self._drop_snapshot()
        if self._connection is not None:
            self._connection.close()

    # -- driver: planning

    def plan(self, offsets: SourceOffsets) -> Plan | None:
        state = State.of(offsets, self._server)
        with failures_retried(f"{self._upstream.database} does not answer"):
            try:
                return self._plan(state)
            except driver().Error:
                self._forget_connection()
                raise

    def _plan(self, state: State) -> Plan | None:
        connection = self._connected(state)
        unread = self._unread(state)
        if unread:
            return self._plan_reading(connection, state, unread)
        self._drop_snapshot()
        return None if self._mode == "only" else self._plan_changes(connection, state)

    def _connected(self, state: State) -> Connection[Any]:
        """The connection for planning. With it, and now and then, the tables are looked up and the slot is checked."""
        connection = self._connection
        if connection is None or connection.closed:
            connection = self._connection = self._upstream.database.connect(settings=_PLANNING)
            self._looked = float("-inf")
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._check_slot(connection, state)
            self._look_up_tables(connection)
            self._looked = time.monotonic()
        return connection

    def _look_up_tables(self, connection: Connection[Any]) -> None:
        """Find the captured tables and publish them; somebody who is changing one right now is not waited for."""
        before = self._tables
        try:
            self._tables = self._upstream.publish(connection)
        except driver().errors.LockNotAvailable as error:
            if self._again is None:
                raise
            log.info("Captured tables are looked up later: %s", error)
        if self._again is None or {table.oid for table in before} != {table.oid for table in self._tables}:
            row = connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").fetchone()
            self._published_before = int(row[0]) if row else 0
        if self._again is None:
            self._again = {table.full_name for table in self._tables} if self._mode == "always" else set()

    def _check_slot(self, connection: Connection[Any], state: State) -> None:
        slot = self._upstream.find_slot(connection)
        name = self._upstream.slot
        if slot is None and state.position is None:
            self._upstream.make()
        elif slot is None or slot.lost:
            what = "does not exist any more" if slot is None else "was too far behind, and the server has given it up"
            drop = "" if slot is None else f" Drop it (SELECT pg_drop_replication_slot('{name}')), then"
            raise PluginError(
                f"Replication slot '{name}' {what}: changes after {_where(state)} are lost."
                f"{drop or ' To begin anew,'} stop the connector, reset its offsets and resume it: the slot is made"
                f" again, and with snapshot.mode=initial the tables are read again."
            )

    def _unread(self, state: State) -> list[Table]:
        if self._mode == "never":
            return []
        now = self._snapshot.sees.text if self._snapshot is not None else ""
        return [table for table in self._tables if not self._is_read(table.full_name, state, now)]

    def _is_read(self, table: str, state: State, snapshot: str) -> bool:
        """Whether a table needs no reading; with ``always``, only what this run has read counts."""
        progress = state.tables.get(table)
        if progress is None or not progress.done:
            return False
        again = self._again or set()
        if progress.since == snapshot:
            again.discard(table)
        return table not in again

    def _plan_reading(self, connection: Connection[Any], state: State, unread: Sequence[Table]) -> Plan | None:
        snapshot = self._snapshot
        if snapshot is not None and not snapshot.alive:
            self._drop_snapshot()
            snapshot = None
        if snapshot is None:
            snapshot = Snapshot(self._upstream.database)
            if not self._is_settled(snapshot):
                snapshot.close()
                return None
            self._snapshot = snapshot
            self._files = {table.full_name: files_of(snapshot.connection, table) for table in unread}
        ends: list[tuple[SourcePartition, SourceOffset]] = []
        base = state.position
        if base is None:
            slot = self._upstream.find_slot(connection)
            base = Position(slot.confirmed if slot else snapshot.before)
            ends.append((server_partition(self._server), base.offset()))
        return self._plan_pieces(state, snapshot, unread, base, ends)

    def _is_settled(self, snapshot: Snapshot) -> bool:
        """Whether all transactions have ended that may have changed a table before it was published.

        The stream does not tell what they did to it then, so the snapshot must see it.
        """
        if snapshot.sees.lower >= self._published_before:
            return True
        if time.monotonic() - self._said > LOOK_SECONDS:
            self._said = time.monotonic()
            log.info("Tables are read as soon as the oldest transaction (%d) has ended", snapshot.sees.lower)
        return False

    def _plan_pieces(
        self,
        state: State,
        snapshot: Snapshot,
        unread: Sequence[Table],
        base: Position,
        ends: list[tuple[SourcePartition, SourceOffset]],
    ) -> Plan:
        room = SPLITS_A_CORE * (os.cpu_count() or 1)
        splits: list[Split] = []
        for table in unread:
            progress = self._progress(state, table, snapshot)
            files = self._files[table.full_name]
            step = 1 if table.partitioned else self._pages
            until = min(progress.pages, progress.page + max(1, room - len(splits)) * step)
            unchanged = ""
            if progress.resumed:
                unchanged = f"NOT {Visibility.parse(progress.since).changed_since(snapshot.sees)}"
            for first in range(progress.page, until, step):
                for piece in pieces_of(table, files, first, min(first + step, until), unchanged):
                    splits.append(self._piece_split(table, piece, snapshot, base))
            ends.append((table_partition(self._server, table.full_name), progress.at(until).offset()))
            if len(splits) >= room:
                break
        return Plan(splits or [Split({"kind": "nothing"})], ends)

    def _progress(self, state: State, table: Table, snapshot: Snapshot) -> TableProgress:
        """How far a table is, under the snapshot there is now."""
        files = self._files.setdefault(table.full_name, files_of(snapshot.connection, table))
        number = file_number(files) if files else 0
        known = state.tables.get(table.full_name)
        if known is not None and not known.done and known.filenode == number:
            if known.since == snapshot.sees.text:
                return known
            return replace(known, resumed=snapshot.after)
        if known is not None and not known.done:
            log.warning("Table %s was rewritten while it was read; it is read from the beginning", table.full_name)
        total = places(table, files) if files else 0
        return TableProgress(snapshot.sees.text, snapshot.after, 0, total, number)

    def _piece_split(self, table: Table, piece: Piece, snapshot: Snapshot, base: Position) -> Split:
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

    def _plan_changes(self, connection: Connection[Any], state: State) -> Plan | None:
        now = time.monotonic()
        if now - self._planned < self._poll:
            return None
        position = state.position
        if position is None:
            slot = self._upstream.find_slot(connection)
            position = Position(slot.confirmed if slot else 0)
        row = connection.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
        target = parse_lsn(row[0]) if row else 0
        beats = bool(self._heartbeat) and now - self._beat >= self._heartbeat
        untold = position.lsn > self._told and now - self._planned >= CONFIRM_SECONDS
        if target <= position.lsn and not (beats or untold or position.seq):
            return None
        splits = [self._changes_split(state, position, target)]
        if beats:
            self._beat = now
            if self._heartbeat_query:
                connection.execute(self._heartbeat_query.encode())
            splits.append(Split({"kind": "heartbeat"}))
        self._planned, self._told = now, position.lsn
        return Plan(splits)

    def _changes_split(self, state: State, position: Position, target: int) -> Split:
        seen = {
            name: (progress.since, progress.until)
            for name, progress in state.tables.items()
            if progress.until > position.lsn
        }
        gaps = {name: p.resumed for name, p in state.tables.items() if p.resumed > position.lsn}
        return Split({"kind": "changes", "span": Span(position, target, seen, gaps)})

    def _drop_snapshot(self) -> None:
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None

    def _forget_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # -- executors: reading

    def read(self, split: Split) -> Iterator[Record | Batch | Progress]:
        part = split.payload
        if part["kind"] == "changes":
            yield from Capture(self._source, part["span"]).run()
        elif part["kind"] == "rows":
            table: Table = part["table"]
            shape = self._shapes.get(table.oid)
            if shape is None or shape.table != table:
                shape = self._shapes[table.oid] = Shape(table, self._source.style)
            view, lsn, micros = part["snapshot"], part["lsn"], part["micros"]
            yield from read_piece(self._source.database, view, shape, part["piece"], lsn, micros)
        elif part["kind"] == "heartbeat":
            key, value = {"serverName": self._server}, {"ts_ms": time.time_ns() // 1_000_000}
            yield Record(topic=self._heartbeat_topic, key=key, value=value)


class PostgresCdc(SourceConnector):
    """Captures every change of PostgreSQL tables through a replication slot that lives as long as the connector."""

    version = "0.1.0"
    java_class = "io.debezium.connector.postgresql.PostgresConnector"
    task = PostgresCdcTask
    config = SOURCE

    def validate(self, settings: Config) -> Mapping[str, Sequence[str]]:
        driver()
        errors = refused_keys(settings)
        own = SOURCE.parse(settings)
        try:
            Selection.of(own)
        except ConfigError as error:
            errors.setdefault("table.include.list", []).append(str(error))
        unknown = set(own["flat.add.fields"] or ()) - set(EXTRA_FIELDS)
        if unknown:
            errors["flat.add.fields"] = [f"{sorted(unknown)} is none of {', '.join(EXTRA_FIELDS)}"]
        slot = Upstream.of(settings).slot
        if not (0 < len(slot) < 64 and slot.replace("_", "a").isalnum() and slot.islower() and slot.isascii()):
            errors["slot.name"] = [f"'{slot}': slot names have 1 to 63 of the characters a-z, 0-9 and _"]
        return errors

    def task_configs(self, max_tasks: int) -> Sequence[Config]:
        return [dict(self.settings)]

    def on_created(self, config: Config) -> None:
        Upstream.of(config).make()

    def on_updated(self, old: Config, new: Config) -> None:
        upstream.move(Upstream.of(old), Upstream.of(new))

    def on_deleted(self, old: Config) -> None:
        Upstream.of(old).remove()

    def alter_offsets(self, config: Config, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]) -> bool:
        """Check that the slot can serve each position."""
        server = SOURCE.parse(config)["topic.prefix"]
        for partition, offset in offsets:
            if offset is None:
                continue
            check_partition(partition, server)
            try:
                if TABLE in partition:
                    TableProgress.of(offset)
                else:
                    upstream.check_lsn(Upstream.of(config), Position.of(offset).lsn)
            except ValueError as error:
                raise ConfigError(f"{dict(offset)}: {error}") from None
        return True


def _where(state: State) -> str:
    return "its beginning" if state.position is None else lsn_text(state.position.lsn)
