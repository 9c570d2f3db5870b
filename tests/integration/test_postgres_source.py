"""The source against a real PostgreSQL, driven as the runtime drives it but without Spark: hooks, modes, crashes."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.api import ConfigError, PluginError, Record, RetriableError
from penstock.connectors.postgres import PostgresCdc, capture, stream
from penstock.connectors.postgres.connection import Database
from tests.connectors.postgres.capturing import Capture, Committed, slots
from tests.support.postgres import PostgresServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def running() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def server(running: PostgresServer) -> PostgresServer:
    running.clear()
    return running


def test_hooks_may_be_repeated_and_leave_nothing(server: PostgresServer) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY)")
    config = server.config(**{"name": "again", "topic.prefix": "again"})
    connector = PostgresCdc()
    connector.on_created(config)
    connector.on_created(config)
    assert slots(server) == ["penstock_again"]
    connector.on_deleted(config)
    connector.on_deleted(config)
    assert slots(server) == []
    assert server.run("SELECT pubname FROM pg_publication") == []


def test_a_renamed_slot_goes_on_where_the_old_one_stood(server: PostgresServer, captures: list[Capture]) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY)")
    found = Capture(server, "move", **{"snapshot.mode": "never"})
    captures.append(found)
    server.run("INSERT INTO t VALUES (1)")
    found.run()
    server.run("INSERT INTO t VALUES (2)")
    old = found.config
    found.config = {**old, "slot.name": "elsewhere"}
    found.connector().on_updated(old, found.config)
    found.connector().on_updated(old, found.config)
    assert slots(server) == ["elsewhere"]
    assert server.run("SELECT pubname FROM pg_publication") == [("penstock_move",)]
    with pytest.raises(PluginError, match=r"publication\.name cannot change"):
        found.connector().on_updated(found.config, {**found.config, "publication.name": "other"})
    found.crash()
    assert found.run().told("public.t") == [("c", 1), ("c", 2)]


def test_a_new_name_that_is_somebody_elses_is_refused_before_anything_changes(
    server: PostgresServer, captures: list[Capture]
) -> None:
    found = Capture(server, "careful")
    captures.append(found)
    server.run("SELECT pg_create_logical_replication_slot('theirs', 'pgoutput')")
    try:
        with pytest.raises(PluginError, match="already exists and was not made by this connector"):
            found.connector().on_updated(found.config, {**found.config, "slot.name": "theirs"})
        assert slots(server) == ["penstock_careful", "theirs"]
    finally:
        server.run("SELECT pg_drop_replication_slot('theirs')")


def test_a_publication_of_somebody_else_is_used_but_never_changed(server: PostgresServer) -> None:
    server.run("CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int PRIMARY KEY)")
    server.run("CREATE PUBLICATION shared FOR TABLE a")
    config = server.config(**{"name": "guest", "topic.prefix": "guest", "publication.name": "shared"})
    with pytest.raises(PluginError, match=r'lacks public\.b.*ALTER PUBLICATION "shared" ADD TABLE "public"\."b"'):
        PostgresCdc().on_created(config)
    config["table.include.list"] = "public.a"
    PostgresCdc().on_created(config)
    PostgresCdc().on_deleted(config)
    assert slots(server) == []
    assert server.run("SELECT tablename FROM pg_publication_tables WHERE pubname = 'shared'") == [("a",)]
    server.run("DROP PUBLICATION shared")


def published(server: PostgresServer, name: str) -> list[str]:
    rows = server.run(f"SELECT tablename FROM pg_publication_tables WHERE pubname = '{name}' ORDER BY 1")
    return [table for (table,) in rows]


def test_the_publication_follows_the_tables_both_ways(server: PostgresServer, captures: list[Capture]) -> None:
    server.run("CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int PRIMARY KEY)")
    found = Capture(server, "follow", **{"table.include.list": "public.a"})
    captures.append(found)
    steps = {"public.a,public.b": ["a", "b"], "public.b": ["b"], "public.none": [], "": ["a", "b"]}
    for tables, wanted in steps.items():
        old = found.config
        found.config = {**old, "table.include.list": tables}
        found.connector().on_updated(old, found.config)
        assert published(server, "penstock_follow") == wanted


def test_lists_choose_tables_and_a_publication_may_be_of_all(server: PostgresServer, captures: list[Capture]) -> None:
    server.run("CREATE SCHEMA IF NOT EXISTS side")
    for table in ("public.a", "public.b", "side.c"):
        server.run(f"CREATE TABLE {table} (id int PRIMARY KEY)", f"INSERT INTO {table} VALUES (1)")
    lists = {
        "without": {"table.exclude.list": r"public\.b"},
        "side": {"schema.include.list": "side"},
        "main": {"schema.exclude.list": "si.*"},
        "all": {"publication.autocreate.mode": "all_tables", "table.include.list": "public.a"},
    }
    try:
        captures += [Capture(server, name, **more) for name, more in lists.items()]
        server.run(*(f"INSERT INTO {table} VALUES (2)" for table in ("public.a", "public.b", "side.c")))
        topics = {one.config["name"]: sorted(one.run().topics) for one in captures}
        assert published(server, "penstock_all") == ["a", "b", "c"]
    finally:
        server.run("DROP SCHEMA side CASCADE")
    assert topics == {
        "without": ["without.public.a", "without.side.c"],
        "side": ["side.side.c"],
        "main": ["main.public.a", "main.public.b"],
        "all": ["all.public.a"],
    }


def test_a_publication_that_must_be_there_is_an_error_with_the_way_out(server: PostgresServer) -> None:
    config = server.config(**{"name": "p", "topic.prefix": "p", "publication.autocreate.mode": "disabled"})
    with pytest.raises(PluginError, match=r"'penstock_p' does not exist.*Create it, or use filtered"):
        PostgresCdc().on_created(config)
    assert slots(server) == []


def test_keys_come_from_the_replica_identity(server: PostgresServer, captures: list[Capture]) -> None:
    columns = "(id int PRIMARY KEY, code text NOT NULL, v text)"
    identities = {"usual": "DEFAULT", "whole": "FULL", "by_index": "USING INDEX by_index_code", "none": "NOTHING"}
    for table, identity in identities.items():
        server.run(
            f"CREATE TABLE {table} {columns}",
            f"CREATE UNIQUE INDEX {table}_code ON {table} (code)",
            f"ALTER TABLE {table} REPLICA IDENTITY {identity}",
            f"INSERT INTO {table} VALUES (1, 'x', 'read')",
        )
    server.run("CREATE TABLE keyless (id int)", "INSERT INTO keyless VALUES (1)")
    captures.append(Capture(server, "ident").run())
    for table in ("usual", "whole", "by_index"):
        server.run(f"UPDATE {table} SET v = 'new'", f"DELETE FROM {table}")
    server.run("INSERT INTO none VALUES (2, 'y', 'new')", "INSERT INTO keyless VALUES (2)")
    captures[0].run()

    def told(table: str) -> list[tuple[Any, ...]]:
        found = captures[0].topics[f"ident.public.{table}"]
        return [(r.key, r.value and r.value["op"], r.value and r.value["before"]) for r in found]

    one = {"id": 1}
    assert told("usual") == [
        (one, "r", None),
        (one, "u", None),
        (one, "d", {"id": 1, "code": None, "v": None}),
        (one, None, None),
    ]
    assert told("whole") == [
        (one, "r", None),
        (one, "u", {"id": 1, "code": "x", "v": "read"}),
        (one, "d", {"id": 1, "code": "x", "v": "new"}),
        (one, None, None),
    ]
    x = {"code": "x"}
    assert told("by_index") == [
        (x, "r", None),
        (x, "u", None),
        (x, "d", {"id": None, "code": "x", "v": None}),
        (x, None, None),
    ]
    assert told("none") == [(one, "r", None), ({"id": 2}, "c", None)]
    assert told("keyless") == [(None, "r", None), (None, "c", None)]


def test_tombstones_are_left_out_on_request(server: PostgresServer, captures: list[Capture]) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY)")
    captures.append(Capture(server, "plain", **{"tombstones.on.delete": "false", "skipped.operations": "c"}).run())
    server.run("INSERT INTO t VALUES (1)", "DELETE FROM t")
    assert [record.value and record.value["op"] for record in captures[0].run().topics["plain.public.t"]] == ["d"]


def test_a_slot_stays_on_request(server: PostgresServer) -> None:
    config = server.config(**{"name": "stays", "topic.prefix": "stays", "slot.drop.on.delete": "false"})
    PostgresCdc().on_created(config)
    PostgresCdc().on_deleted(config)
    assert slots(server) == ["penstock_stays"]
    PostgresCdc().on_deleted({**config, "slot.drop.on.delete": "true"})
    assert slots(server) == []


@pytest.mark.parametrize("interruptions", [1, 3])
def test_an_interrupted_reading_misses_nothing_and_repeats_nothing(
    server: PostgresServer, captures: list[Capture], interruptions: int
) -> None:
    server.run("CREATE TABLE t (id int, v text)", "ALTER TABLE t REPLICA IDENTITY FULL")
    server.run("INSERT INTO t SELECT n, repeat('x', 500) FROM generate_series(1, 1200) n")
    found = Capture(server, "broken", **{"snapshot.split.pages": "1"})
    captures.append(found)
    for number in range(interruptions):
        assert found.step()
        server.run(
            f"UPDATE t SET v = 'new {number}' WHERE id % 7 = {number}",
            f"DELETE FROM t WHERE id % 11 = {number}",
            f"INSERT INTO t VALUES ({10_000 + number}, 'added')",
        )
        found.step(commit=False)
        found.crash()
    found.run()
    assert _state_of(found.topics["broken.public.t"]) == dict(server.run("SELECT id, v FROM t"))
    read = [key for op, key in found.told("public.t") if op == "r"]
    assert len(read) == len(set(read))
    changes = [pair for pair in found.told("public.t") if pair[0] == "c"]
    assert changes == [("c", 10_000 + number) for number in range(interruptions)]


def _state_of(records: list[Record]) -> dict[int, str]:
    """What somebody knows who believes every record; a row must not come twice.

    The change of a row that was not read yet may be the first that is heard of it.
    """
    rows: dict[int, str] = {}
    for record in records:
        after, before = record.value["after"], record.value["before"]
        if record.value["op"] in ("u", "d"):
            rows.pop(before["id"], None)
        if after is not None:
            assert after["id"] not in rows
            rows[after["id"]] = after["v"]
    return rows


def test_a_table_is_read_again_when_its_connection_breaks(server: PostgresServer, captures: list[Capture]) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY, v text)")
    server.run("INSERT INTO t SELECT n, repeat(md5(n::text), 40) FROM generate_series(1, 30000) n")
    captures.append(Capture(server, "broken", **{"snapshot.split.pages": "100000"}))
    plan = captures[0].task.plan(captures[0].offsets)
    assert plan is not None
    rows = captures[0].task.read(plan.splits[0])
    next(rows)
    reading = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY (SELECT%'"
    assert server.run(reading) == [(True,)]
    with pytest.raises(RetriableError, match=r"Table public\.t could not be read"):
        list(rows)
    captures[0].run()
    assert sorted(number for _, number in captures[0].told("public.t")) == list(range(1, 30001))


def test_tables_that_change_before_they_are_read_are_looked_up_again(
    server: PostgresServer, captures: list[Capture], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.run("CREATE TABLE gone (id int PRIMARY KEY)", "INSERT INTO gone VALUES (1)")
    server.run("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, 'x')")
    captures.append(Capture(server, "changing"))
    plan = captures[0].task.plan(captures[0].offsets)
    assert plan is not None
    server.run("DROP TABLE gone", "ALTER TABLE t RENAME v TO w")
    for split in plan.splits:
        with pytest.raises(RetriableError, match="changed before it was read"):
            list(captures[0].task.read(split))
    monkeypatch.setattr("penstock.connectors.postgres.source.LOOK_SECONDS", 0.0)
    captures[0].run()
    assert [record.value["after"] for record in captures[0].topics["changing.public.t"]] == [{"id": 1, "w": "x"}]


def test_a_stream_that_the_server_ends_is_opened_again(server: PostgresServer, captures: list[Capture]) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY)")
    captures.append(Capture(server, "ended").run())
    server.run("INSERT INTO t VALUES (1)")
    captures[0].run()
    (kept,) = stream._kept.values()
    assert server.run("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots") == [(True,)]
    wait_until(lambda: server.run("SELECT active FROM pg_replication_slots") == [(False,)], "the stream has ended")
    with pytest.raises(RetriableError, match=r"The stream of slot 'penstock_ended' ended: .*terminating connection"):
        list(kept.changes(1 << 62, time.monotonic() + 60, 1 << 20))
    server.run("INSERT INTO t VALUES (2)")
    captures[0].crash()
    assert captures[0].run().told("public.t") == [("c", 1), ("c", 2)]


def test_a_connection_lost_while_a_stream_begins_is_tried_again(
    server: PostgresServer, captures: list[Capture], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY)")
    captures.append(Capture(server, "begins").run())
    captures[0].crash()
    connect = Database.connect

    def lost(database: Database, *args: Any, replication: bool = False, **more: Any) -> Any:
        connection = connect(database, *args, replication=replication, **more)
        if replication:
            with socket.socket(fileno=os.dup(connection.pgconn.socket)) as line:
                line.shutdown(socket.SHUT_RDWR)
        return connection

    server.run("INSERT INTO t VALUES (1)")
    with monkeypatch.context() as patched:
        patched.setattr(Database, "connect", lost)
        with pytest.raises(RetriableError, match="cannot be read now: server closed the connection"):
            captures[0].step()
    assert captures[0].run().told("public.t") == [("c", 1)]


def test_large_values_survive_an_interrupted_reading(server: PostgresServer, captures: list[Capture]) -> None:
    large = "(SELECT string_agg(md5(n::text || g), '') FROM generate_series(1, 300) g)"
    server.run("CREATE TABLE t (id int PRIMARY KEY, small int, pad text, v text)")
    server.run(f"INSERT INTO t SELECT n, 0, repeat('x', 1500), {large} FROM generate_series(1, 120) n")
    found = Capture(server, "toast", **{"snapshot.split.pages": "1"})
    captures.append(found)
    assert found.step()
    assert len(found.told("public.t")) < 120
    server.run("UPDATE t SET small = 1")
    found.crash()
    found.run()
    rows: dict[int, str] = {}
    for record in found.topics["toast.public.t"]:
        after = record.value["after"]
        if after["v"] != "__debezium_unavailable_value":
            rows[after["id"]] = after["v"]
    assert rows == dict(server.run("SELECT id, v FROM t"))


def test_a_large_transaction_is_read_in_pieces_across_crashes(
    server: PostgresServer, captures: list[Capture], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "MOST_BYTES", 10_000)
    server.run("CREATE TABLE t (id int PRIMARY KEY, v text)")
    found = Capture(server, "large", **{"snapshot.mode": "never"})
    captures.append(found)
    server.run("INSERT INTO t SELECT n, repeat('x', 50) FROM generate_series(1, 2000) n", "DELETE FROM t WHERE id = 5")
    pieces = 0
    while found.step():
        pieces += 1
        offset = found.offsets.get({"server": "large"})
        (confirmed,) = server.run(
            "SELECT confirmed_flush_lsn <= %s::pg_lsn FROM pg_replication_slots".replace(
                "%s", f"'{offset['lsn']}'" if offset else "NULL"
            )
        )
        assert confirmed == (True,)
        if pieces % 3 == 0:
            found.step(commit=False)
            found.crash()
    assert pieces > 10
    assert found.told("public.t") == [*(("c", n) for n in range(1, 2001)), ("d", 5)]


def test_modes_decide_what_is_read(server: PostgresServer, captures: list[Capture]) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    modes = ("initial", "never", "always", "only", "initial_only", "no_data")
    made = {mode: Capture(server, mode, **{"snapshot.mode": mode}) for mode in modes}
    captures += made.values()
    for one in made.values():
        one.run()
    server.run("INSERT INTO t VALUES (2)")
    told = {}
    for mode, one in made.items():
        one.run()
        one.crash()
        told[mode] = one.run().told("public.t")
    assert told == {
        "initial": [("r", 1), ("c", 2)],
        "never": [("c", 2)],
        "no_data": [("c", 2)],
        "always": [("r", 1), ("c", 2), ("r", 1), ("r", 2)],
        "only": [("r", 1)],
        "initial_only": [("r", 1)],
    }


def test_partitioned_tables_go_to_one_topic(server: PostgresServer, captures: list[Capture]) -> None:
    server.run(
        "CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)",
        "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (10) TO (20)",
        "INSERT INTO t VALUES (1, 'a'), (11, 'b')",
    )
    found = Capture(server, "parts")
    captures.append(found)
    found.run()
    server.run("INSERT INTO t VALUES (2, 'c')", "UPDATE t SET v = 'd' WHERE id = 11")
    found.run()
    assert found.told("public.t") == [("r", 1), ("r", 11), ("c", 2), ("u", 11)]
    assert set(found.topics) == {"parts.public.t"}


def test_a_table_made_later_is_read_and_followed(
    server: PostgresServer, captures: list[Capture], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.connectors.postgres.source.LOOK_SECONDS", 0.0)
    server.run("CREATE TABLE a (id int PRIMARY KEY)")
    found = Capture(server, "late")
    captures.append(found)
    found.run()
    server.run("CREATE TABLE b (id int PRIMARY KEY)", "INSERT INTO b VALUES (1)", "INSERT INTO a VALUES (1)")
    found.run()
    server.run("INSERT INTO b VALUES (2)")
    found.run()
    assert (found.told("public.a"), found.told("public.b")) == ([("c", 1)], [("r", 1), ("c", 2)])


def test_what_a_running_transaction_did_before_its_table_was_published_is_not_lost(
    server: PostgresServer, captures: list[Capture], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.connectors.postgres.source.LOOK_SECONDS", 0.0)
    server.run("CREATE TABLE a (id int PRIMARY KEY)")
    found = Capture(server, "busy")
    captures.append(found)
    found.run()
    server.run("CREATE TABLE b (id int PRIMARY KEY)")
    with server.connect(autocommit=False) as writing:
        writing.execute("INSERT INTO b VALUES (1)")
        found.run()
        assert found.told("public.b") == []
        writing.execute("INSERT INTO b VALUES (2)")
        writing.commit()
    found.run()
    server.run("INSERT INTO b VALUES (3)")
    found.run()
    assert found.told("public.b") == [("r", 1), ("r", 2), ("c", 3)]


def test_a_slot_that_is_gone_is_an_error_that_says_what_to_do(server: PostgresServer, captures: list[Capture]) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    found = Capture(server, "gone")
    captures.append(found)
    found.run()
    found.crash()
    wait_until(lambda: server.run("SELECT pg_drop_replication_slot('penstock_gone')"), "nobody reads the slot")
    with pytest.raises(PluginError, match=r"does not exist any more.*reset its offsets"):
        found.run()
    with pytest.raises(ConfigError, match="does not exist"):
        found.connector().alter_offsets(found.config, [({"server": "gone"}, {"lsn": "0/1"})])
    found.offsets = Committed()
    found.crash()
    assert found.run().told("public.t") == [("r", 1), ("r", 1)]


def test_truncates_are_told_to_those_who_ask(server: PostgresServer, captures: list[Capture]) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY)")
    found = Capture(server, "empty", **{"skipped.operations": "none", "snapshot.mode": "never"})
    captures.append(found)
    server.run("INSERT INTO t VALUES (1)", "TRUNCATE t", "INSERT INTO t VALUES (1)")
    found.run()
    assert [record.value["op"] for record in found.topics["empty.public.t"]] == ["c", "t", "c"]


def test_a_server_without_logical_replication_is_an_error_that_says_what_to_do() -> None:
    with PostgresServer({"wal_level": "replica"}) as plain:
        if not plain.is_ours:
            pytest.skip("the server was given")
        config = plain.config(**{"name": "x", "topic.prefix": "x"})
        with pytest.raises(PluginError, match="ALTER SYSTEM SET wal_level = logical"):
            PostgresCdc().on_created(config)
