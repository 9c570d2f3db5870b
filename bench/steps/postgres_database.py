"""The tables that connectors read and write, in a PostgreSQL of the step's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from tests.support.postgres import PostgresServer

from ..waiting import wait_for

SETTINGS = {"max_wal_size": "8GB", "autovacuum": "off"}
"""No checkpoint and no clean-up amid a pass."""

ROW_WITHOUT_NOTE = 32
ROWS_A_TRANSACTION = 10_000
DROP_SECONDS = 60.0


class Database:
    """Tables of orders: a key, a customer, an amount, a time, and a note that fills a row up to its size."""

    def __init__(self, server: PostgresServer, asking: psycopg.Connection[Any]) -> None:
        self.server = server
        self._asking = asking

    def make(self, table: str) -> None:
        self.server.run(
            f"CREATE TABLE {table} (id bigint PRIMARY KEY, customer text, amount bigint, placed bigint, note text)"
        )

    def fill(self, table: str, first: int, last: int, row_bytes: int) -> None:
        """Insert the orders ``first`` to ``last`` in transactions of some thousand rows."""
        words = f"rpad('order of ' || i || ' pumps and valves, ', {row_bytes - ROW_WITHOUT_NOTE}, 'gasket flange ')"
        row = f"i, 'customer ' || i % 1000, i * 7, 1767225600000 + i, {words}"
        for begin in range(first, last + 1, ROWS_A_TRANSACTION):
            end = min(last, begin + ROWS_A_TRANSACTION - 1)
            self.server.run(f"INSERT INTO {table} SELECT {row} FROM generate_series({begin}, {end}) AS i")

    def settle(self) -> None:
        """Write everything to disk now, not amid the next pass."""
        self.server.run("VACUUM ANALYZE", "CHECKPOINT")

    def has_row(self, table: str, number: int) -> bool:
        """Asked many times during a pass, so over a connection that stays: a new one costs the server milliseconds."""
        return self._asking.execute(f"SELECT 1 FROM {table} WHERE id = {number}".encode()).fetchone() is not None

    def count(self, table: str) -> int:
        return int(self.server.run(f"SELECT count(*) FROM {table}")[0][0])

    def forget(self, name: str, *tables: str) -> None:
        """Drop slot and publication of a deleted connector, where it has left them, and its tables."""
        wait_for(lambda: self._dropped(name), f"slot {name} is dropped", DROP_SECONDS, pause=0.1)
        self.server.run(f"DROP PUBLICATION IF EXISTS {name}", *(f"DROP TABLE IF EXISTS {table}" for table in tables))

    def _dropped(self, name: str) -> bool:
        slots = f"FROM pg_replication_slots WHERE slot_name = '{name}'"
        self.server.run(f"SELECT pg_drop_replication_slot(slot_name) {slots} AND NOT active")
        return not self.server.run(f"SELECT 1 {slots}")


@contextmanager
def started_database() -> Iterator[Database]:
    """A server on an empty folder."""
    with PostgresServer(SETTINGS) as server, server.connect() as asking:
        yield Database(server, asking)
