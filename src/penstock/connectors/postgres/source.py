"""Captures changes of PostgreSQL tables: each table is read once, then every change follows in order."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
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
from .catalog import Selection, Table
from .connection import driver, failures_retried
from .lsn import lsn_text, parse_lsn
from .position import TABLE, Position, State, TableProgress, check_partition, server_partition
from .reading import Reading
from .settings import SNAPSHOT_MODES, SOURCE, refused_keys
from .shape import EXTRA_FIELDS, Shape, Style
from .snapshot import read_piece
from .types import Handling
from .upstream import Upstream

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)

LOOK_SECONDS = 10.0
"""How often to look for tables that were made or dropped."""

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
        mode = SNAPSHOT_MODES[own["snapshot.mode"]]
        self._reading = Reading(self._upstream, mode, own["snapshot.split.pages"])
        self._poll: float = own["poll.interval.ms"] / 1000
        self._heartbeat: float = own["heartbeat.interval.ms"] / 1000
        self._heartbeat_topic = f"{own['heartbeat.topics.prefix']}.{self._server}"
        self._heartbeat_query: str = own["heartbeat.action.query"]
        self._connection: Connection[Any] | None = None
        self._tables: list[Table] | None = None
        self._looked = self._planned = self._beat = float("-inf")
        self._durable: int | None = None
        self._told = -1
        self._shapes: dict[int, Shape] = {}

    def stop(self) -> None:
        self._reading.close()
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
        tables = self._tables or []
        left = self._reading.left(tables, state)
        if left:
            return Plan([Split({"kind": "nothing"})], left)
        unread = self._reading.unread(tables, state)
        plan = self._reading.plan(connection, state, unread) if unread else None
        if plan is not None or not self._upstream.streams or (unread and state.position is None):
            return plan
        if not unread:
            self._reading.close()
        return self._plan_changes(connection, state, frozenset(table.full_name for table in unread))

    def committed(self, offsets: Sequence[tuple[SourcePartition, SourceOffset]]) -> None:
        for partition, offset in offsets:
            if dict(partition) == server_partition(self._server):
                self._durable = Position.of(offset).lsn

    def _connected(self, state: State) -> Connection[Any]:
        """The connection for planning. With it, and now and then, the tables are looked up and the slot is checked."""
        connection = self._connection
        if connection is None or connection.closed:
            connection = self._connection = self._upstream.database.connect(settings=_PLANNING)
            self._looked = float("-inf")
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._check_slot(connection, state)
            self._look_up_tables(connection, state)
            self._looked = time.monotonic()
        return connection

    def _look_up_tables(self, connection: Connection[Any], state: State) -> None:
        """Find the captured tables and publish them; somebody who is changing one right now is not waited for."""
        try:
            self._tables = self._upstream.publish(connection)
        except driver().errors.LockNotAvailable as error:
            if self._tables is None:
                raise
            log.info("Captured tables are looked up later: %s", error)
        self._reading.found(connection, self._tables, state)

    def _check_slot(self, connection: Connection[Any], state: State) -> None:
        """See that the slot has all changes from the position on."""
        if not self._upstream.streams:
            return
        slot, name, position = self._upstream.find_slot(connection), self._upstream.slot, state.position
        if slot is None and position is None:
            self._upstream.make()
            return
        if slot is None:
            what = "does not exist any more"
        elif slot.lost:
            what = "was too far behind, and the server has given it up"
        elif position is not None and slot.confirmed > position.lsn:
            what = f"begins at {lsn_text(slot.confirmed)}: somebody else has moved it on or made it anew"
        else:
            return
        drop = "" if slot is None else f" Drop it (SELECT pg_drop_replication_slot('{name}')), then"
        raise PluginError(
            f"Replication slot '{name}' {what}: changes after {_where(state)} are lost."
            f"{drop or ' To begin anew,'} stop the connector, reset its offsets and resume it: the slot is made"
            f" again, and with snapshot.mode=initial the tables are read again."
        )

    def _plan_changes(self, connection: Connection[Any], state: State, waiting: frozenset[str]) -> Plan | None:
        """The next span of changes but for those of ``waiting`` tables, which are read later."""
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
        if self._durable is None:
            self._durable = position.lsn
        untold = self._durable > self._told and now - self._planned >= CONFIRM_SECONDS
        if target <= position.lsn and not (beats or untold or position.seq):
            return None
        span = self._span(state, position, target, waiting)
        splits = [Split({"kind": "changes", "span": span})]
        if beats:
            self._beat = now
            if self._heartbeat_query:
                connection.execute(self._heartbeat_query.encode())
            splits.append(Split({"kind": "heartbeat"}))
        self._planned, self._told = now, span.durable
        return Plan(splits)

    def _span(self, state: State, position: Position, target: int, waiting: frozenset[str]) -> Span:
        seen = {
            name: (progress.told_since, progress.until)
            for name, progress in state.tables.items()
            if progress.until > position.lsn
        }
        gaps = {name: p.resumed for name, p in state.tables.items() if p.resumed > position.lsn}
        durable = min(position.lsn, self._durable or 0)
        return Span(position, target, durable, seen, gaps, waiting)

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
