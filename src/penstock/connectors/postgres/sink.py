"""Writes records into PostgreSQL tables, in batches, each record once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from penstock.api import (
    Batch,
    Config,
    ConfigDef,
    ConfigKey,
    Importance,
    Record,
    RetriableError,
    SinkConnector,
    SinkTask,
    Type,
    non_empty_string,
    one_of,
)

from . import connection
from .background import Background
from .blocks import Block, KeyRule, blocks_of
from .connection import Database, driver, failures_retried
from .loading import Loader, Session
from .tables import Tables, TargetName
from .written import OffsetTable, Written

TABLE, ROWS, DELIVERY = "Tables", "Rows", "Delivery"
UPSERT, INSERT = "upsert", "insert"
EXACTLY_ONCE, AT_LEAST_ONCE = "exactly_once", "at_least_once"
ROWS_AT_ONCE = 5_000
"""So many rows are worth writing while more are converted."""

_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW

CONFIG = connection.KEYS + ConfigDef(
    ConfigKey(
        "table.name.format",
        Type.STRING,
        "${topic}",
        _HIGH,
        "The table of a topic, with its schema in front if need be. ${topic} is the topic with underscores for dots,"
        " ${table} what follows its last dot.",
        non_empty_string,
        TABLE,
    ),
    ConfigKey(
        "auto.create", Type.BOOLEAN, True, _MEDIUM, "Create tables that do not exist, from the records.", None, TABLE
    ),
    ConfigKey("auto.evolve", Type.BOOLEAN, True, _MEDIUM, "Add columns that tables do not have yet.", None, TABLE),
    ConfigKey(
        "insert.mode",
        Type.STRING,
        UPSERT,
        _HIGH,
        "upsert: a record replaces the row with the same key; insert: each record is a new row.",
        one_of(UPSERT, INSERT),
        ROWS,
    ),
    ConfigKey(
        "primary.key.mode",
        Type.STRING,
        "record_key",
        _HIGH,
        "Where the key columns come from: the key of the record, its value, or none (only with insert.mode=insert).",
        one_of("record_key", "record_value", "none"),
        ROWS,
    ),
    ConfigKey(
        "primary.key.fields",
        Type.LIST,
        "",
        _MEDIUM,
        "Which fields of key or value are key columns; for a key that is a plain value, the name of its column.",
        None,
        ROWS,
    ),
    ConfigKey(
        "delete.enabled",
        Type.BOOLEAN,
        True,
        _MEDIUM,
        "Delete the rows of its key when a record has no value or tells of a delete. Otherwise, and without a key, such"
        " records are left out.",
        None,
        ROWS,
    ),
    ConfigKey(
        "unavailable.value.placeholder",
        Type.STRING,
        "__debezium_unavailable_value",
        _LOW,
        "A value that says: as it was. The column is left alone.",
        non_empty_string,
        ROWS,
    ),
    ConfigKey(
        "delivery.guarantee",
        Type.STRING,
        EXACTLY_ONCE,
        _MEDIUM,
        "exactly_once: offsets are kept in the same transaction as the rows, in offsets.table; at_least_once: a crash"
        " may write the last batch again.",
        one_of(EXACTLY_ONCE, AT_LEAST_ONCE),
        DELIVERY,
    ),
    ConfigKey(
        "offsets.table",
        Type.STRING,
        "penstock_offsets",
        _LOW,
        "Where offsets are kept, for all sinks of a database.",
        non_empty_string,
        DELIVERY,
    ),
)

_sessions: dict[tuple[Database, bool, bool, str], Session] = {}


class PostgresSinkTask(SinkTask):
    """One transaction a batch: COPY, into staging tables where rows must be merged, and the offsets."""

    keeps_state = True

    def configure(self, config: Mapping[str, str]) -> None:
        super().configure(config)
        own = CONFIG.parse(config)
        self._database = Database.of(config)
        self._pattern: str = own["table.name.format"]
        self._creates: bool = own["auto.create"]
        self._evolves: bool = own["auto.evolve"]
        self._upserts = own["insert.mode"] == UPSERT
        self._rule = KeyRule(own["primary.key.mode"], tuple(own["primary.key.fields"] or ()))
        self._deletes: bool = own["delete.enabled"]
        self._placeholder: str = own["unavailable.value.placeholder"]
        self._once = own["delivery.guarantee"] == EXACTLY_ONCE
        self._offsets = OffsetTable(own["offsets.table"])

    def put(self, records: Iterable[Record]) -> Mapping[str, Any] | None:
        return self.put_mixed(records)

    def put_mixed(self, items: Iterable[Record | Batch]) -> Mapping[str, Any] | None:
        trying = failures_retried(f"{self._database} did not take a batch")
        with trying, self._session() as session, session.connection.transaction():
            return self._put(session, items)

    def _put(self, session: Session, items: Iterable[Record | Batch]) -> Mapping[str, Any] | None:
        connector = self.context.connector
        stored = self._offsets.read(session.connection, connector, self.context.task) if self._once else {}
        written = Written(stored, self.context.state, session.place)
        loader = Loader(session, self._upserts, self._placeholder)
        with Background() as background:
            last = self._write_all_but_the_last(background, loader, items, written)
        self._report(loader)
        if last:
            self._write(loader, last)
            self._report(loader)
        if not self._once:
            return None
        self._offsets.write(session.connection, connector, stored, written.next)
        return written.state()

    def _write_all_but_the_last(
        self, background: Background, loader: Loader, items: Iterable[Record | Batch], written: Written
    ) -> list[Block]:
        """Write rows while the next ones are converted; those that nothing follows come back."""
        waiting: list[Block] = []
        for whole in blocks_of(items, self._rule, self._deletes, self.context.report):
            block = written.rest(whole) if self._once else whole
            if not len(block):
                continue
            if waiting and (sum(map(len, waiting)) >= ROWS_AT_ONCE or not _alike(waiting[0], block)):
                background.finish()
                self._report(loader)
                background.run(partial(self._write, loader, waiting))
                waiting = []
            waiting.append(block)
        return waiting

    def _write(self, loader: Loader, blocks: Sequence[Block]) -> None:
        loader.write(TargetName.of(self._pattern, blocks[0].topic), blocks)

    def _report(self, loader: Loader) -> None:
        """Have the runtime decide about records that were refused. Only while nothing is written."""
        refused, loader.refused = loader.refused, []
        for record, error in refused:
            self.context.report(record, error)

    @contextlib.contextmanager
    def _session(self) -> Iterator[Session]:
        """The connection of this process to the database; one that failed is not used again.

        What a kept one knows of tables may not be true any more: then the batch comes again, to a new one.
        """
        key = (self._database, self._creates, self._evolves, self._offsets.name if self._once else "")
        session = _sessions.pop(key, None)
        outdated: tuple[type[Exception], ...] = _table_errors()
        if session is None or session.connection.closed:
            outdated = ()
            session = self._new_session()
        try:
            yield session
        except outdated as error:
            session.connection.close()
            raise RetriableError(f"A table of {self._database} has changed meanwhile: {error}") from error
        except BaseException:
            session.connection.close()
            raise
        _sessions[key] = session

    def _new_session(self) -> Session:
        session = Session(self._database.connect(), Tables(self._creates, self._evolves), {})
        try:
            if self._once:
                self._offsets.make(session.connection)
                session.place = self._offsets.place(session.connection)
        except BaseException:
            session.connection.close()
            raise
        return session


def _table_errors() -> tuple[type[Exception], ...]:
    errors = driver().errors
    return (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName)


def _alike(one: Block, other: Block) -> bool:
    """Whether rows can go together: same table, same key, and the same columns or none but the key to delete by."""
    if (one.topic, one.keys) != (other.topic, other.keys):
        return False
    first, second = ({name: cells.type for name, cells in block.columns.items()} for block in (one, other))
    return first == second or (set(second) == set(one.keys) and second.items() <= first.items())


class PostgresSink(SinkConnector):
    """Writes records into PostgreSQL tables: inserts, upserts and deletes, each record once."""

    version = "0.1.0"
    task = PostgresSinkTask
    config = CONFIG

    def validate(self, settings: Config) -> Mapping[str, Sequence[str]]:
        driver()
        own = CONFIG.parse(settings)
        errors: dict[str, list[str]] = {}
        if own["insert.mode"] == UPSERT and own["primary.key.mode"] == "none":
            errors["primary.key.mode"] = ["none has no key to upsert by: use insert.mode=insert, or give a key"]
        if own["primary.key.mode"] == "record_value" and own["insert.mode"] == UPSERT and not own["primary.key.fields"]:
            errors["primary.key.fields"] = ["primary.key.mode=record_value needs primary.key.fields to upsert by"]
        return errors

    def task_configs(self, max_tasks: int) -> Sequence[Config]:
        return [dict(self.settings) for _ in range(max_tasks)]

    def on_created(self, config: Config) -> None:
        """Forget the offsets that an earlier sink of this name left: they are of topics that may have begun anew."""
        if CONFIG.parse(config)["delivery.guarantee"] == EXACTLY_ONCE:
            _forget(config)

    def on_updated(self, old: Config, new: Config) -> None:
        """Forget offsets from before a time in which nobody kept them."""
        before, now = (CONFIG.parse(config)["delivery.guarantee"] for config in (old, new))
        if before != EXACTLY_ONCE and now == EXACTLY_ONCE:
            _forget(new)

    def on_deleted(self, old: Config) -> None:
        """Remove the offsets kept beside the rows, also those from before ``at_least_once``; the tables stay."""
        _forget(old)

    def alter_offsets(self, config: Config, offsets: Mapping[tuple[str, int], int | None]) -> bool:
        """Forget what was written of the altered partitions: what comes again is then no repetition."""
        own = CONFIG.parse(config)
        if own["delivery.guarantee"] == EXACTLY_ONCE:
            table = OffsetTable(own["offsets.table"])
            with Database.of(config).connect() as opened:
                for topic, partition in offsets:
                    table.forget(opened, config.get("name", ""), topic, partition)
        return True


def _forget(config: Config) -> None:
    """Remove the offsets of a connector from the database that its configuration leads to."""
    with Database.of(config).connect() as opened:
        OffsetTable(CONFIG.parse(config)["offsets.table"]).forget(opened, config.get("name", ""))
