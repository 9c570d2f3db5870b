"""A replication stream that PostgreSQL ends."""

from __future__ import annotations

import time

import pytest

from penstock.api import RetriableError
from penstock.connectors.postgres.connection import Database
from penstock.connectors.postgres.position import Position
from penstock.connectors.postgres.stream import Stream, release
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.integration

SLOT = "stream_test"


def test_a_stream_that_the_server_ends_is_read_again_and_says_why() -> None:
    with PostgresServer() as server:
        server.run(
            f"DROP PUBLICATION IF EXISTS {SLOT}",
            f"CREATE PUBLICATION {SLOT} FOR ALL TABLES",
            f"SELECT pg_create_logical_replication_slot('{SLOT}', 'pgoutput')",
        )
        database = Database.of(server.config())
        stream = Stream(database, SLOT, SLOT, Position(0))
        try:
            release(database, SLOT)
            with pytest.raises(RetriableError, match=f"slot '{SLOT}' ended: .*terminating connection"):
                list(stream.changes(1 << 62, time.monotonic() + 60, 1 << 20))
        finally:
            stream.close()
            server.run(f"SELECT pg_drop_replication_slot('{SLOT}')", f"DROP PUBLICATION {SLOT}")
