"""Keys that change, large values that the log leaves out, and names that need quotes, with a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from penstock.api import Record, SinkContext
from penstock.connectors.postgres import large_values
from penstock.connectors.postgres.sink import PostgresSinkTask, _sessions
from tests.connectors.postgres.capturing import Capture
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.integration

LOOSE = {"delivery.guarantee": "at_least_once"}
LARGE = {
    "txt": ("text", "(SELECT string_agg(md5(n::text || {seed}), '') FROM generate_series(1, 300) n)"),
    "ints": ("int[]", "(SELECT array_agg((random() * 1e9)::int) FROM generate_series(1, 3000 + {seed}))"),
    "bits": (
        "varbit",
        "(SELECT ('xf1' || string_agg(md5(n::text || {seed}), ''))::varbit FROM generate_series(1, 300) n)",
    ),
    "num": (
        "numeric",
        "(SELECT string_agg((1e8 + random() * 1e8)::int::text, '')::numeric FROM generate_series(1, 2500))",
    ),
}
"""Columns of large values that do not shrink, and what makes one."""


@pytest.fixture(scope="module")
def running() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def server(running: PostgresServer) -> PostgresServer:
    for key in list(_sessions):
        _sessions.pop(key).connection.close()
    running.clear()
    return running


def copy(server: PostgresServer, found: Capture, **more: str) -> None:
    """Write everything that was captured into tables of the schema ``copy``."""
    task = PostgresSinkTask()
    task.configure(
        server.config(**{"name": "copy", "topics": "x", "table.name.format": "copy.${table}", **LOOSE, **more})
    )
    task.context = SinkContext("copy", 0, None, _refused)
    for records in found.topics.values():
        task.put([replace(record, partition=0, offset=n) for n, record in enumerate(records)])
    found.topics.clear()


def _refused(record: Record, error: Exception) -> None:
    raise error


def keys(found: Capture, table: str) -> list[tuple[Any, Any]]:
    records = found.topics[f"{found.config['topic.prefix']}.{table}"]
    return [(record.value and record.value["op"], record.key) for record in records]


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_a_new_primary_key_is_the_key_from_then_on(
    server: PostgresServer, captures: list[Capture], identity: str
) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY, code text NOT NULL)", f"ALTER TABLE t REPLICA IDENTITY {identity}")
    captures.append(Capture(server, "rekeyed").run())
    server.run("INSERT INTO t VALUES (1, 'a')")
    captures[0].run()
    server.run("ALTER TABLE t DROP CONSTRAINT t_pkey", "ALTER TABLE t ADD PRIMARY KEY (code)")
    server.run("UPDATE t SET id = 2", "DELETE FROM t")
    captures[0].run()
    assert keys(captures[0], "public.t") == [
        ("c", {"id": 1}),
        ("u", {"code": "a"}),
        ("d", {"code": "a"}),
        (None, {"code": "a"}),
    ]


def test_a_new_identity_index_is_the_key_from_then_on(server: PostgresServer, captures: list[Capture]) -> None:
    server.run("CREATE TABLE t (a int NOT NULL, b int NOT NULL)")
    server.run("CREATE UNIQUE INDEX by_a ON t (a)", "CREATE UNIQUE INDEX by_b_a ON t (b, a)")
    server.run("ALTER TABLE t REPLICA IDENTITY USING INDEX by_a")
    captures.append(Capture(server, "indexed").run())
    server.run("INSERT INTO t VALUES (1, 2)", "ALTER TABLE t REPLICA IDENTITY USING INDEX by_b_a", "DELETE FROM t")
    captures[0].run()
    last = {"b": 2, "a": 1}
    assert keys(captures[0], "public.t") == [("c", {"a": 1}), ("d", last), (None, last)]
    assert list(captures[0].topics["indexed.public.t"][-1].key) == ["b", "a"]


def test_large_values_that_stayed_are_in_the_copy_whatever_their_type(
    server: PostgresServer, captures: list[Capture], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_values, "_ROWS_AT_ONCE", 2)
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in LARGE.items())
    values = ", ".join(make.format(seed=0) for _, make in LARGE.values())
    server.run(f"CREATE TABLE t (id int PRIMARY KEY, n int, {columns})")
    server.run(*(f"INSERT INTO t SELECT {number}, 0, {values}" for number in range(1, 6)))
    captures.append(Capture(server, "toast").run())

    def different() -> list[Any]:
        copy(server, captures[0].run())
        shown = f"SELECT id, n, {', '.join(f'md5({name}::text), left({name}::text, 20)' for name in LARGE)} FROM"
        ours, theirs = (set(server.run(f"{shown} {table}")) for table in ("t", "copy.t"))
        return sorted(ours ^ theirs, key=str)

    copy(server, captures[0])
    server.run("UPDATE t SET n = 1")
    captures[0].run()
    told = [record.value["after"] for record in captures[0].topics["toast.public.t"]]
    assert all(len(row["ints"]) == 3000 and row["bits"] and row["num"] for row in told)
    assert different() == []
    server.run("UPDATE t SET id = id + 10 WHERE id > 2", "UPDATE t SET n = 3", "DELETE FROM t WHERE id = 15")
    server.run("UPDATE t SET n = 4, ints = NULL WHERE id = 14")
    assert different() == []


def test_a_row_with_a_new_key_has_its_large_values(server: PostgresServer, captures: list[Capture]) -> None:
    make = LARGE["txt"][1]
    server.run("CREATE TABLE t (id int PRIMARY KEY, v text)", f"INSERT INTO t VALUES (1, {make.format(seed=1)})")
    captures.append(Capture(server, "rekey", **{"snapshot.mode": "never"}).run())
    server.run("UPDATE t SET id = 2")
    captures[0].run()
    (value,) = server.run("SELECT v FROM t")[0]
    told = captures[0].topics["rekey.public.t"]
    assert [(r.value and r.value["op"], r.key["id"]) for r in told] == [("d", 1), ("c", 2), (None, 1)]
    assert told[1].value["after"] == {"id": 2, "v": value}


NAMES = ["Upper", 'quo"te', "do.t", "per%cent", "per%s", "sp ace", "dollar$", "ünï"]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_need_quotes_go_through_source_and_sink(
    server: PostgresServer, captures: list[Capture], name: str
) -> None:
    table, column = '"' + name.replace('"', '""') + '"', '"c ' + name.replace('"', '""') + '"'
    key = '"k ' + name.replace('"', '""') + '"'
    large = LARGE["ints"][1].format(seed=0)
    server.run(f"CREATE TABLE {table} ({key} int PRIMARY KEY, {column} text, large int[])")
    server.run(f"INSERT INTO {table} VALUES (1, 'read', {large}), (2, 'read', {large})")
    captures.append(Capture(server, "names").run())
    copied = f"copy.{table}" if name != "do.t" else 'copy."t"'

    def same() -> bool:
        copy(server, captures[0].run())
        shown = f"SELECT {key}, {column}, large FROM"
        return server.run(f"{shown} {table} ORDER BY 1") == server.run(f"{shown} {copied} ORDER BY 1")

    assert same()
    server.run(f"UPDATE {table} SET {column} = 'changed'", f"INSERT INTO {table} VALUES (3, 'new', NULL)")
    server.run(f"UPDATE {table} SET {key} = 4 WHERE {key} = 2", f"DELETE FROM {table} WHERE {key} = 3")
    assert same()
    inserts = {"insert.mode": "insert", "table.name.format": "copy.rows"}
    server.run(f"UPDATE {table} SET {column} = 'last' WHERE {key} = 1", f"DELETE FROM {table} WHERE {key} = 4")
    copy(server, captures[0].run(), **inserts)
    assert server.run(f"SELECT {key}, {column} FROM copy.rows") == [(1, "last")]
