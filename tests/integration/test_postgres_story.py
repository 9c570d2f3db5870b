"""PostgreSQL with a worker: the slot's life, nothing missed, tables that change, types, errors with a way out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.postgres import PostgresServer
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

JSON = "org.apache.kafka.connect.json.JsonConverter"
PLAIN = {
    "key.converter": JSON,
    "value.converter": JSON,
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
}
TYPED = {"key.converter": JSON, "value.converter": JSON}


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        yield running


@pytest.fixture
def database(server: PostgresServer, shared_worker: PenstockProcess) -> Iterator[PostgresServer]:
    """The server with an empty schema ``public`` and no ``copy``; a test that fails leaves no connector behind."""
    server.clear()
    yield server
    delete(shared_worker, *shared_worker.http.get("/connectors").json())
    wait_until(lambda: slots(server) == [], "no slot is left")


def source(server: PostgresServer, **more: str) -> dict[str, str]:
    return server.config(**{"connector.class": "PostgresCdc", "topic.prefix": "p", **PLAIN, **more})


def slots(server: PostgresServer) -> list[str]:
    return [name for (name,) in server.run("SELECT slot_name FROM pg_replication_slots ORDER BY 1")]


def published(server: PostgresServer) -> list[str]:
    return [name for (name,) in server.run("SELECT tablename FROM pg_publication_tables ORDER BY 1")]


def records(worker: PenstockProcess, topic: str) -> list[tuple[Any, Any]]:
    """Keys and values of a topic with JSON in it, in order."""
    answer = worker.http.get(f"/topics/{topic}/records", params={"limit": 1000})
    if answer.status_code == 404:
        return []
    found = answer.json()["records"]
    return [tuple(record[part] and json.loads(record[part]["text"]) for part in ("key", "value")) for record in found]


def ops(worker: PenstockProcess, topic: str) -> list[tuple[str, Any]]:
    """What the records of a topic tell: operation and key, ``-`` for a tombstone."""
    return [(value["op"] if value else "-", key["id"] if key else None) for key, value in records(worker, topic)]


def wait_ops(worker: PenstockProcess, topic: str, wanted: list[tuple[str, Any]], seconds: float = 120.0) -> None:
    wait_until(lambda: len(ops(worker, topic)) >= len(wanted), f"{topic} has {len(wanted)} records", seconds)
    assert ops(worker, topic) == wanted


def delete(worker: PenstockProcess, *names: str) -> None:
    for name in names:
        assert worker.http.delete(f"/connectors/{name}").status_code == 204


def test_a_slot_lives_as_long_as_its_connector(database: PostgresServer, shared_worker: PenstockProcess) -> None:
    worker = shared_worker
    database.run(
        "CREATE TABLE orders (id int PRIMARY KEY, item text)",
        "CREATE TABLE people (id int PRIMARY KEY, name text)",
        "INSERT INTO orders VALUES (1, 'tea'), (2, 'coffee')",
    )
    worker.create("story", source(database, **{"topic.prefix": "story", "table.include.list": "public.orders"}))
    wait_ops(worker, "story.public.orders", [("r", 1), ("r", 2)])
    assert slots(database) == ["penstock_story"]
    assert published(database) == ["orders"]

    worker.stop()
    database.run(
        "UPDATE orders SET item = 'green tea' WHERE id = 1",
        "DELETE FROM orders WHERE id = 2",
        "INSERT INTO orders VALUES (2, 'cocoa')",
    )
    assert slots(database) == ["penstock_story"]
    worker.start()
    told = [("r", 1), ("r", 2), ("u", 1), ("d", 2), ("-", 2), ("c", 2)]
    wait_ops(worker, "story.public.orders", told)

    database.run("INSERT INTO people VALUES (7, 'Ada')")
    config = source(database, **{"topic.prefix": "story", "table.include.list": "public.orders,public.people"})
    assert worker.http.put("/connectors/story/config", json=config).status_code == 200
    wait_until(lambda: published(database) == ["orders", "people"], "the publication follows the tables")
    wait_ops(worker, "story.public.people", [("r", 7)])
    database.run("INSERT INTO people VALUES (8, 'Bob')", "INSERT INTO orders VALUES (3, 'milk')")
    wait_ops(worker, "story.public.people", [("r", 7), ("c", 8)])
    wait_ops(worker, "story.public.orders", [*told, ("c", 3)])

    for tables in ("public.orders", "public.orders,public.people"):
        config["table.include.list"] = tables
        assert worker.http.put("/connectors/story/config", json=config).status_code == 200
        wait_until(lambda: len(published(database)) == len(tables.split(",")), "the publication follows")  # noqa: B023
        wait_until(lambda: _captured(worker, "public.people") == ("people" in tables), "the task has noticed")  # noqa: B023
        database.run("INSERT INTO people SELECT max(id) + 1, 'Zoe' FROM people")
    wait_ops(worker, "story.public.people", [("r", 7), ("c", 8), ("r", 7), ("r", 8), ("r", 9), ("c", 10)])

    delete(worker, "story")
    wait_until(lambda: slots(database) == [], "the slot is gone")
    wait_until(lambda: published(database) == [], "the publication is gone")


def _captured(worker: PenstockProcess, table: str) -> bool:
    """Whether a table is read to its end, and not left out."""
    entries = worker.http.get("/connectors/story/offsets").json()["offsets"]
    (offset,) = [entry["offset"] for entry in entries if entry["partition"].get("table") == table]
    return offset.get("captured", True) and offset["page"] >= offset["pages"]


def test_deleting_while_the_database_is_down_cleans_up_later(
    database: PostgresServer, shared_worker: PenstockProcess
) -> None:
    if not database.is_ours:
        pytest.skip("the server was given and is not stopped")
    worker = shared_worker
    database.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    worker.create("orphan", source(database, **{"topic.prefix": "orphan"}))
    wait_ops(worker, "orphan.public.t", [("r", 1)])
    database.stop(immediately=True)
    try:
        delete(worker, "orphan")
        assert worker.http.get("/connectors/orphan").status_code == 404
        wait_until(lambda: _cleanup_tried(worker, "orphan"), "the clean-up was tried in vain")
    finally:
        database.start()
    assert slots(database) == ["penstock_orphan"]
    wait_until(lambda: slots(database) == [], "the slot is dropped once the database is back")


def _cleanup_tried(worker: PenstockProcess, name: str) -> bool:
    found = worker.http.get("/lifecycle/cleanups").json()
    return any(cleanup["connector"] == name and "cannot be reached" in json.dumps(cleanup) for cleanup in found)


def test_a_slot_of_somebody_else_is_refused_with_the_way_out(
    database: PostgresServer, shared_worker: PenstockProcess
) -> None:
    worker = shared_worker
    database.run("CREATE TABLE t (id int PRIMARY KEY)")
    database.run("SELECT pg_create_logical_replication_slot('theirs', 'pgoutput')")
    try:
        worker.create("thief", source(database, **{"topic.prefix": "thief", "slot.name": "theirs"}))
        status = worker.wait_state("thief", "FAILED", tasks=None)
        trace = status["connector"]["trace"]
        assert "already exists and was not made by this connector" in trace
        assert "slot.adopt=true" in trace
        assert "pg_drop_replication_slot('theirs')" in trace
        delete(worker, "thief")
        assert slots(database) == ["theirs"]
    finally:
        database.run("SELECT pg_drop_replication_slot('theirs')")


def test_a_key_of_debezium_that_would_keep_values_back_is_refused(
    database: PostgresServer, shared_worker: PenstockProcess
) -> None:
    config = source(database, **{"topic.prefix": "leak", "column.exclude.list": "public.people.secret"})
    answer = shared_worker.http.put("/connectors/leak/config", json=config)
    assert answer.status_code == 400
    assert "values that it keeps back would go out" in answer.json()["message"]
    assert slots(database) == []


def test_offsets_are_readable_and_only_set_to_what_the_slot_can_serve(
    database: PostgresServer, shared_worker: PenstockProcess
) -> None:
    worker, url = shared_worker, "/connectors/alter/offsets"
    database.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    worker.create("alter", source(database, **{"topic.prefix": "alter"}))
    wait_ops(worker, "alter.public.t", [("r", 1)])
    worker.http.put("/connectors/alter/stop")
    worker.wait_state("alter", "STOPPED", tasks=0)
    (start,) = [entry for entry in worker.http.get(url).json()["offsets"] if "table" not in entry["partition"]]
    assert set(start["offset"]) == {"lsn"}

    def alter(lsn: str) -> Any:
        return worker.http.patch(url, json={"offsets": [{"partition": {"server": "alter"}, "offset": {"lsn": lsn}}]})

    old, future = alter("0/1"), alter("FFFF/0")
    assert (old.status_code, future.status_code) == (400, 400)
    assert "cannot go on from 0/1: it has the log from" in old.json()["message"]
    database.run("INSERT INTO t VALUES (2)")
    (now,) = database.run("SELECT pg_current_wal_lsn()::text")[0]
    database.run("INSERT INTO t VALUES (3)")
    assert alter(now).status_code == 200
    worker.http.put("/connectors/alter/resume")
    wait_ops(worker, "alter.public.t", [("r", 1), ("c", 3)])

    worker.http.put("/connectors/alter/stop")
    worker.wait_state("alter", "STOPPED", tasks=0)
    assert worker.http.delete(url).status_code == 200
    worker.http.put("/connectors/alter/resume")
    wait_ops(worker, "alter.public.t", [("r", 1), ("c", 3), ("r", 1), ("r", 2), ("r", 3)])
    delete(worker, "alter")
    wait_until(lambda: slots(database) == [], "the slot is gone")


ALL_TYPES = {
    "b": ("bool", "true"),
    "i2": ("int2", "-7"),
    "i8": ("int8", "9223372036854775807"),
    "f4": ("real", "1.5"),
    "f8": ("float8", "-1.5e300"),
    "n1": ("numeric(10,2)", "12.30"),
    "n2": ("numeric", "123456789012345678901234567890.123456789"),
    "m": ("money", "'-12.30'"),
    "c": ("char(4)", "'ab'"),
    "v": ("varchar(20)", "'quo\"te, comma\nline'"),
    "e": ("text", "''"),
    "u": ("uuid", "'0e37df36-f698-11e6-8dd4-cb9ced3df976'"),
    "j": ("json", "'{\"a\": [1, null]}'"),
    "jb": ("jsonb", "'{\"a\": [1, null]}'"),
    "by": ("bytea", "'\\x00ff'"),
    "d": ("date", "'2024-02-29'"),
    "di": ("date", "'infinity'"),
    "t": ("time", "'12:30:00.123456'"),
    "tz": ("timetz", "'12:30:00+02'"),
    "ts": ("timestamp", "'2024-02-29 12:30:00.123456'"),
    "ts3": ("timestamp(3)", "'1969-12-31 23:59:59.999'"),
    "tsi": ("timestamp", "'-infinity'"),
    "tstz": ("timestamptz", "'2024-02-29 12:30:00.123456+02'"),
    "iv": ("interval", "'3 days 04:05:06.5'"),
    "ip": ("inet", "'10.0.0.1/8'"),
    "bits": ("bit(10)", "B'1000000001'"),
    "ia": ("int[]", "'{1,NULL,3}'"),
    "ta": ("text[]", '\'{"a b",NULL,"\\""}\''),
    "tsa": ("timestamptz[]", "'{2024-02-29 12:30:00+00}'"),
    "r": ("int4range", "'[1,5)'"),
    "mood": ("mood", "'happy'"),
    "dom": ("positive", "5"),
    "small": ("small_positive", "4"),
    "priced": ("price", "12.30"),
    "dbc": ("date", "'0044-03-15 BC'"),
    "tsbc": ("timestamp", "'0044-03-15 12:00:00 BC'"),
    "cidr": ("cidr", "'10.0.0.0/8'"),
    "mac": ("macaddr", "'08:00:2b:01:02:03'"),
    "vb": ("varbit", "B'101'"),
    "p": ("point", "'(1,2)'"),
    "nothing": ("text", "NULL"),
}


def test_every_type_arrives_as_it_was_through_snapshot_and_stream(
    database: PostgresServer, shared_worker: PenstockProcess
) -> None:
    worker = shared_worker
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in ALL_TYPES.items())
    values = ", ".join(value for _, value in ALL_TYPES.values())
    database.run(
        "CREATE TYPE mood AS ENUM ('happy', 'sad')",
        "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
        "CREATE DOMAIN small_positive AS positive CHECK (VALUE < 10)",
        "CREATE DOMAIN price AS numeric(10,2)",
        f"CREATE TABLE types (id int PRIMARY KEY, {columns})",
        f"INSERT INTO types VALUES (1, {values})",
    )
    names = {"topic.prefix": "types", "table.include.list": "public.types"}
    worker.create("types", source(database, **names, **TYPED) | {k: "true" for k in PLAIN if "schemas" in k})
    sink = {"connector.class": "PostgresSink", "topics": "types.public.types", "table.name.format": "copy.${table}"}
    worker.create("types-out", database.config(**sink, **TYPED))
    wait_until(lambda: database.run("SELECT count(*) FROM copy.types") == [(1,)], "the snapshot is there")
    database.run(f"INSERT INTO types VALUES (2, {values})", "INSERT INTO types (id) VALUES (3)")
    wait_until(lambda: database.run("SELECT count(*) FROM copy.types") == [(3,)], "the changes are there")
    shown = ", ".join(f"{name}::text" for name in ALL_TYPES)
    original = database.run(f"SELECT id, {shown} FROM types ORDER BY id")
    copied = database.run(f"SELECT id, {shown} FROM copy.types ORDER BY id")
    translated = {"m": "-12.30", "tz": "10:30:00+00", "c": "ab", "iv": "76:05:06.5", "vb": "00000101"}
    for before, after in zip(original, copied, strict=True):
        for name, was, now in zip(("id", *ALL_TYPES), before, after, strict=True):
            wanted = translated.get(name, was) if was is not None else None
            assert (name, str(now).strip() if name == "c" and now else now) == (name, wanted)
    kinds = dict(
        database.run("SELECT column_name, data_type FROM information_schema.columns WHERE table_schema='copy'")
    )
    assert {name: kinds[name] for name in ("ts", "jb", "u", "ia", "dom", "small", "priced")} == {
        "ts": "timestamp without time zone",
        "jb": "jsonb",
        "u": "uuid",
        "ia": "ARRAY",
        "dom": "integer",
        "small": "integer",
        "priced": "numeric",
    }
    delete(worker, "types", "types-out")
    wait_until(lambda: slots(database) == [], "the slot is gone")


def test_tables_that_somebody_drops_are_made_again(database: PostgresServer, shared_worker: PenstockProcess) -> None:
    worker = shared_worker
    database.run("CREATE TABLE lost (id int PRIMARY KEY)", "INSERT INTO lost VALUES (0)")
    worker.create("lost", source(database, **{"topic.prefix": "lost", "table.include.list": "public.lost"}))
    sink = {"connector.class": "PostgresSink", "topics": "lost.public.lost", "table.name.format": "copy.${table}"}
    worker.create("lost-out", database.config(**sink, **PLAIN))

    def copied() -> list[tuple[Any, ...]]:
        return database.run("SELECT id FROM copy.lost ORDER BY id")

    wait_until(lambda: copied() == [(0,)], "the first row is there")
    for number in range(1, 4):
        database.run("DROP SCHEMA copy CASCADE", "DROP TABLE penstock_offsets", f"INSERT INTO lost VALUES ({number})")
        wait_until(lambda: copied() == [(number,)], f"row {number} is there")  # noqa: B023
    worker.wait_state("lost-out", "RUNNING")


def test_columns_come_and_go_and_large_values_stay(database: PostgresServer, shared_worker: PenstockProcess) -> None:
    worker = shared_worker
    large = "SELECT string_agg(md5(n::text), '') FROM generate_series(1, 2000) n"
    many = "SELECT array_agg(n * 7919 % 1000003) FROM generate_series(1, 5000) n"
    database.run(
        "CREATE TABLE docs (id int PRIMARY KEY, body text, n int)",
        f"INSERT INTO docs VALUES (1, ({large}), 1)",
        "CREATE TABLE lists (id int PRIMARY KEY, body text, many int[], n int)",
        f"INSERT INTO lists VALUES (1, ({large}), ({many}), 1)",
    )
    tables = {"table.include.list": "public.docs,public.lists"}
    worker.create("docs", source(database, **{"topic.prefix": "docs"}, **tables))
    topics = "docs.public.docs,docs.public.lists"
    sink = {"connector.class": "PostgresSink", "topics": topics, "table.name.format": "copy.${table}"}
    worker.create("docs-out", database.config(**sink, **PLAIN))

    def same(columns: str) -> bool:
        rows = database.run(f"SELECT {columns} FROM docs ORDER BY id")
        return database.run(f"SELECT {columns} FROM copy.docs ORDER BY id") == rows

    def lists() -> bool:
        rows = database.run("SELECT id, body, n, to_jsonb(many) FROM lists")
        return database.run("SELECT id, body, n, many::jsonb FROM copy.lists") == rows

    wait_until(lists, "the lists are there")
    database.run("UPDATE lists SET n = 2", "UPDATE lists SET id = 5", "UPDATE lists SET n = 3")
    wait_until(lambda: database.run("SELECT id, n FROM copy.lists") == [(5, 3)], "the changes are there")
    assert lists()
    wait_until(lambda: same("id, body, n"), "the snapshot is there")
    database.run("UPDATE docs SET n = 2", f"INSERT INTO docs VALUES (2, ({large}), 5)", "UPDATE docs SET n = n + 1")
    wait_until(lambda: same("id, body, n"), "large values stayed")
    told = [value["after"]["body"] for _, value in records(worker, "docs.public.docs") if value["op"] == "u"]
    assert set(told) == {"__debezium_unavailable_value"}

    database.run("ALTER TABLE docs ADD COLUMN lang text DEFAULT 'en'", "UPDATE docs SET lang = 'de' WHERE id = 2")
    wait_until(lambda: database.run("SELECT lang FROM copy.docs WHERE id = 2") == [("de",)], "the new column is there")
    database.run("ALTER TABLE docs DROP COLUMN n", "ALTER TABLE docs REPLICA IDENTITY FULL")
    database.run("UPDATE docs SET id = 3 WHERE id = 2", "DELETE FROM docs WHERE id = 1")
    wait_until(lambda: same("id, body, lang"), "columns went, a key changed, a row was deleted")
    assert [op for op in ops(worker, "docs.public.docs") if op[1] != 1][-3:] == [("d", 2), ("c", 3), ("-", 2)]
    delete(worker, "docs", "docs-out")
    wait_until(lambda: slots(database) == [], "the slot is gone")


def test_a_quiet_table_does_not_hold_back_the_log(database: PostgresServer, shared_worker: PenstockProcess) -> None:
    worker = shared_worker
    database.run("CREATE TABLE quiet (id int PRIMARY KEY)", "CREATE TABLE busy (id int)")
    database.run("CREATE TABLE beats (at timestamptz)")
    names = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput",
        "topic.prefix": "quiet",
        "table.include.list": "public.quiet",
        "heartbeat.interval.ms": "500",
        "heartbeat.action.query": "INSERT INTO beats VALUES (now())",
    }
    worker.create("quiet", source(database, **names))
    worker.wait_state("quiet", "RUNNING")
    database.run("INSERT INTO busy SELECT generate_series(1, 10000)")
    (written,) = database.run("SELECT pg_current_wal_lsn()")[0]

    def moved() -> bool:
        query = f"SELECT confirmed_flush_lsn >= '{written}'::pg_lsn FROM pg_replication_slots"
        return database.run(query) == [(True,)]

    wait_until(moved, "the slot moved on without a change of ours")
    wait_until(lambda: records(worker, "__debezium-heartbeat.quiet"), "there is a heartbeat")
    wait_until(lambda: database.run("SELECT * FROM beats"), "the query of the heartbeat has run")
    assert records(worker, "quiet.public.quiet") == []
    delete(worker, "quiet")
    wait_until(lambda: slots(database) == [], "the slot is gone")


def test_flat_rows_modes_and_a_large_transaction(database: PostgresServer, shared_worker: PenstockProcess) -> None:
    worker = shared_worker
    database.run("CREATE TABLE many (id int PRIMARY KEY, v text)", "INSERT INTO many VALUES (0, 'before')")
    names = {"topic.prefix": "flat", "envelope": "flat", "flat.add.fields": "op", "snapshot.mode": "never"}
    worker.create("flat", source(database, **names))
    worker.wait_state("flat", "RUNNING")
    with psycopg.connect(**database.parameters) as connection:
        connection.execute("INSERT INTO many SELECT n, repeat('x', 500) FROM generate_series(1, 60000) n")
        connection.execute("DELETE FROM many WHERE id = 0")

    def count() -> int:
        answer = worker.http.get("/topics/flat.public.many/offsets", params={"at": "latest"})
        return sum(answer.json()["offsets"]) if answer.status_code == 200 else 0

    wait_until(lambda: count() == 60_001, "all of a large transaction is there", 120.0)
    last = worker.http.get("/topics/flat.public.many/records", params={"from": "0:59999"}).json()["records"]
    assert json.loads(last[0]["value"]["text"]) == {"id": 60_000, "v": "x" * 500, "__op": "c"}
    assert (last[1]["key"]["text"], last[1]["value"]) == ('{"id":0}', None)
    delete(worker, "flat")
    wait_until(lambda: slots(database) == [], "the slot is gone")
