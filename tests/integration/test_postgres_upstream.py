"""What a source keeps in a real PostgreSQL: whose slots are, where they are, and what they still have to tell."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from penstock.api import PluginError
from penstock.connectors.postgres import PostgresCdc
from tests.connectors.postgres.capturing import Capture, slots
from tests.support.ports import free_port
from tests.support.postgres import PostgresServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

DISABLED = {"publication.name": "shared", "publication.autocreate.mode": "disabled"}


@pytest.fixture(scope="module")
def running() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def server(running: PostgresServer) -> Iterator[PostgresServer]:
    running.clear()
    running.run("CREATE TABLE t (id int PRIMARY KEY)")
    yield running
    running.run("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active")
    for (name,) in running.run("SELECT pubname FROM pg_publication"):
        running.run(f'DROP PUBLICATION "{name}"')


def changed(capture: Capture, **keys: str) -> None:
    change(capture, {**capture.config, **keys})


def change(capture: Capture, config: dict[str, str]) -> None:
    """What a new configuration brings, twice: hooks may be repeated."""
    old, capture.config = capture.config, config
    for _ in range(2):
        capture.connector().on_updated(old, capture.config)
    capture.crash()


def publications(server: PostgresServer) -> list[str]:
    return [name for (name,) in server.run("SELECT pubname FROM pg_publication ORDER BY 1")]


def test_another_name_of_the_same_server_keeps_the_slot(server: PostgresServer) -> None:
    found = Capture(server, "named", **{"snapshot.mode": "never", "database.hostname": "127.0.0.1"})
    server.run("INSERT INTO t VALUES (1)")
    found.run()
    server.run("INSERT INTO t VALUES (2)")
    changed(found, **{"database.hostname": "localhost"})
    assert slots(server) == ["penstock_named"]
    server.run("INSERT INTO t VALUES (3)")
    assert found.run().told("public.t") == [("c", 1), ("c", 2), ("c", 3)]
    changed(found, **{"database.hostname": "127.0.0.1", "slot.name": "renamed"})
    assert slots(server) == ["renamed"]
    found.close()
    assert (slots(server), publications(server)) == ([], [])


def test_a_standby_that_took_over_with_the_slot_is_used_although_the_old_server_is_down(server: PostgresServer) -> None:
    found = Capture(server, "failed", **{"snapshot.mode": "never"})
    gone = {**found.config, "database.port": str(free_port())}
    found.connector().on_updated(gone, found.config)
    assert slots(server) == ["penstock_failed"]
    server.run("INSERT INTO t VALUES (1)")
    assert found.run().told("public.t") == [("c", 1)]
    found.close()
    with pytest.raises(
        PluginError, match=r"has no slot 'penstock_failed'.*cannot be told while .* is down.*topic\.prefix"
    ):
        found.connector().on_updated(gone, found.config)
    assert slots(server) == []


def test_another_database_is_refused_unless_everything_begins_anew(server: PostgresServer) -> None:
    server.run("DROP DATABASE IF EXISTS other", "CREATE DATABASE other")
    found = Capture(server, "moving", **{"snapshot.mode": "never"})
    here, there = found.config, {**found.config, "database.dbname": "other", "slot.name": "moved"}
    with pytest.raises(PluginError, match=r"Positions in the log .* mean nothing in another\. Set topic\.prefix"):
        found.connector().on_updated(here, there)
    assert slots(server) == ["penstock_moving"]
    found.connector().on_updated(there, here)
    server.run("INSERT INTO t VALUES (1)")
    assert found.run().told("public.t") == [("c", 1)]
    with server.connect(dbname="other") as other:
        other.execute("CREATE TABLE t (id int PRIMARY KEY)")
        change(found, {**there, "topic.prefix": "anew"})
        assert slots(server) == ["moved"]
        other.execute("INSERT INTO t VALUES (7)")
    assert found.run().told("public.t") == [("c", 7)]
    change(found, here)
    assert slots(server) == ["penstock_moving"]
    found.close()
    server.run("DROP DATABASE other")


def test_a_slot_beside_a_publication_of_somebody_else_is_known_as_ours(server: PostgresServer) -> None:
    server.run("CREATE PUBLICATION shared FOR TABLE t")
    found = Capture(server, "guest", **DISABLED)
    found.connector().on_created(found.config)
    changed(found, **{"poll.interval.ms": "1"})
    changed(found, **{"slot.name": "renamed"})
    assert slots(server) == ["renamed"]
    found.close()
    assert (slots(server), publications(server)) == ([], ["shared"])


def test_a_slot_of_somebody_else_stays_whatever_the_publication(server: PostgresServer) -> None:
    server.run("CREATE PUBLICATION shared FOR TABLE t")
    server.run("SELECT pg_create_logical_replication_slot('theirs', 'pgoutput')")
    config = server.config(**{"name": "thief", "topic.prefix": "thief", "slot.name": "theirs", **DISABLED})
    with pytest.raises(PluginError, match="was not made by this connector"):
        PostgresCdc().on_created(config)
    PostgresCdc().on_deleted(config)
    assert slots(server) == ["theirs"]
    PostgresCdc().on_created({**config, "slot.adopt": "true"})
    PostgresCdc().on_deleted({**config, "slot.adopt": "true"})
    assert (slots(server), publications(server)) == ([], ["shared"])


def test_a_user_who_cannot_mark_a_slot_is_told_what_to_do(server: PostgresServer) -> None:
    server.run("CREATE PUBLICATION shared FOR TABLE t", "DROP ROLE IF EXISTS clerk")
    server.run(
        "CREATE ROLE clerk LOGIN REPLICATION", "GRANT ALL ON t TO clerk", "GRANT USAGE ON SCHEMA public TO clerk"
    )
    clerk = {"name": "clerk", "topic.prefix": "clerk", "database.user": "clerk", **DISABLED}
    config = server.config(**clerk)
    try:
        with pytest.raises(PluginError, match=r'GRANT CREATE ON DATABASE "postgres" TO "clerk", or .*slot\.adopt=true'):
            PostgresCdc().on_created(config)
        assert slots(server) == []
        server.run("SELECT pg_create_logical_replication_slot('penstock_clerk', 'pgoutput')")
        PostgresCdc().on_created({**config, "slot.adopt": "true"})
        PostgresCdc().on_deleted({**config, "slot.adopt": "true"})
        assert slots(server) == []
    finally:
        server.run("DROP OWNED BY clerk", "DROP ROLE clerk")


def test_a_publication_may_become_one_of_all_tables_and_back(server: PostgresServer) -> None:
    server.run("CREATE TABLE other (id int PRIMARY KEY)")
    found = Capture(server, "wide", **{"snapshot.mode": "never", "table.include.list": "public.t"})
    kind = "SELECT puballtables FROM pg_publication"
    numbers = iter(range(1, 9))
    for mode, of_all in (("all_tables", True), ("filtered", False), ("all_tables", True)):
        server.run(f"INSERT INTO t VALUES ({next(numbers)})", f"INSERT INTO other VALUES ({next(numbers)})")
        changed(found, **{"publication.autocreate.mode": mode})
        assert server.run(kind) == [(of_all,)]
    server.run("INSERT INTO t VALUES (100)")
    assert [number for _, number in found.run().told("public.t")] == [1, 3, 5, 100]
    assert set(found.topics) == {"wide.public.t"}
    found.close()


def test_a_table_of_somebody_else_is_left_out_unless_it_was_asked_for(
    server: PostgresServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.connectors.postgres.source.LOOK_SECONDS", 0.0)
    server.run("DROP ROLE IF EXISTS clerk", "CREATE ROLE clerk LOGIN REPLICATION")
    server.run("GRANT ALL ON SCHEMA public TO clerk", "GRANT CREATE ON DATABASE postgres TO clerk")
    server.run("DROP TABLE t", "CREATE TABLE mine (id int PRIMARY KEY)", "ALTER TABLE mine OWNER TO clerk")
    found = Capture(server, "poor", **{"database.user": "clerk"})
    try:
        found.run()
        with caplog.at_level(logging.WARNING):
            server.run("CREATE TABLE theirs (id int PRIMARY KEY)", "INSERT INTO mine VALUES (1)")
            found.run()
        assert found.told("public.mine") == [("c", 1)]
        (warning,) = [r.getMessage() for r in caplog.records if "public.theirs" in r.getMessage()]
        assert "is left out: user 'clerk' does not own it" in warning
        assert "name the table in table.exclude.list" in warning
        with pytest.raises(
            PluginError, match=r"user 'clerk' .* does not own public\.theirs\. GRANT .*table\.include\.list"
        ):
            found.connector().on_updated(found.config, {**found.config, "table.include.list": "public.*"})
    finally:
        found.close()
        server.run("DROP OWNED BY clerk", "DROP ROLE clerk")


def test_tables_that_are_only_read_need_no_slot(server: PostgresServer) -> None:
    server.run("INSERT INTO t VALUES (1)")
    found = Capture(server, "once", **{"snapshot.mode": "only"})
    assert (slots(server), publications(server)) == ([], [])
    assert found.run().told("public.t") == [("r", 1)]
    assert (slots(server), publications(server)) == ([], [])
    changed(found, **{"snapshot.mode": "initial"})
    assert slots(server) == ["penstock_once"]
    with pytest.raises(PluginError, match="are lost"):
        found.run()
    changed(found, **{"snapshot.mode": "only"})
    assert (slots(server), publications(server)) == ([], [])
    found.close()


def test_a_slot_that_somebody_moved_on_is_an_error_that_says_what_to_do(server: PostgresServer) -> None:
    found = Capture(server, "pushed", **{"snapshot.mode": "never"})
    server.run("INSERT INTO t VALUES (1)")
    found.run()
    found.crash()
    wait_until(lambda: server.run("SELECT active FROM pg_replication_slots") == [(False,)], "the stream has ended")
    server.run("INSERT INTO t VALUES (2)")
    server.run("SELECT pg_replication_slot_advance('penstock_pushed', pg_current_wal_lsn())")
    with pytest.raises(PluginError, match=r"'penstock_pushed' begins at .* moved it on .* are lost.*reset its offsets"):
        found.run()
    found.close()


def test_a_slot_is_told_only_what_is_durable(server: PostgresServer) -> None:
    """With transactions over several batches, offsets that are planned from may still be taken back."""
    found = Capture(server, "open", **{"snapshot.mode": "never"})
    server.run("INSERT INTO t VALUES (1)")
    found.run()
    committed, found.task.committed = found.task.committed, lambda offsets: None  # type: ignore[method-assign]
    last = found.offsets.get({"server": "open"})
    for number in range(2, 6):
        server.run(f"INSERT INTO t VALUES ({number})")
        found.run()
    assert last is not None
    assert server.run(f"SELECT confirmed_flush_lsn <= '{last['lsn']}' FROM pg_replication_slots") == [(True,)]
    newest = found.offsets.get({"server": "open"})
    assert newest is not None
    committed([({"server": "open"}, newest)])
    server.run("INSERT INTO t VALUES (6)")
    found.run()
    assert server.run(f"SELECT confirmed_flush_lsn >= '{newest['lsn']}' FROM pg_replication_slots") == [(True,)]
    found.close()
