"""Reading tables of a real PostgreSQL while they are rewritten, made, dropped, left out and taken in again."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.api import RetriableError
from tests.connectors.postgres.capturing import Capture
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.integration

PIECES = {"snapshot.split.pages": "1"}
LARGE = "INSERT INTO t SELECT n, repeat('x', 500) FROM generate_series(1, 1200) n"


@pytest.fixture(scope="module")
def running() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def server(running: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> PostgresServer:
    """The server with an empty schema, whose tables are looked up with every plan."""
    monkeypatch.setattr("penstock.connectors.postgres.source.LOOK_SECONDS", 0.0)
    running.clear()
    return running


def state_of(found: Capture, table: str = "public.t") -> dict[Any, Any]:
    """What somebody knows who believes the last record of each key."""
    rows: dict[Any, Any] = {}
    for record in found.topics[f"{found.config['topic.prefix']}.{table}"]:
        if record.value is None or record.value["after"] is None:
            rows.pop(record.key["id"], None)
        else:
            rows[record.key["id"]] = record.value["after"]["v"]
    return rows


@pytest.mark.parametrize(
    "rewrite", ["VACUUM FULL t", "CLUSTER t USING t_pkey", "ALTER TABLE t ALTER id TYPE bigint", "TRUNCATE t"]
)
@pytest.mark.parametrize("when", ["between pieces", "before a piece"])
def test_a_table_rewritten_while_it_is_read_is_read_from_its_beginning(
    server: PostgresServer, captures: list[Capture], rewrite: str, when: str
) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY, v text)", LARGE)
    found = Capture(server, "rewritten", **PIECES, **{"skipped.operations": "none"})
    captures.append(found)
    assert found.step()
    assert 0 < len(found.told("public.t")) < 1200
    changes = ("DELETE FROM t WHERE id < 400", "UPDATE t SET v = 'new' WHERE id % 2 = 0", rewrite)
    if when == "between pieces":
        server.run(*changes)
    else:
        plan = found.task.plan(found.offsets)
        assert plan is not None
        server.run(*changes)
        with pytest.raises(RetriableError, match=r"public\.t (was rewritten|changed) before it was read"):
            list(found.task.read(plan.splits[-1]))
    found.run()
    rows = dict(server.run("SELECT id, v FROM t"))
    if rewrite == "TRUNCATE t":
        assert [record.value["op"] for record in found.topics["rewritten.public.t"] if record.value][-1] == "t"
    else:
        assert state_of(found) == rows
    server.run("INSERT INTO t VALUES (5000, 'after')")
    last = found.run().topics["rewritten.public.t"][-1]
    assert (last.value["op"], last.key) == ("c", {"id": 5000})


def test_a_table_made_while_another_is_read_is_read_with_all_its_rows(
    server: PostgresServer, captures: list[Capture]
) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY, v text)", LARGE)
    found = Capture(server, "made", **PIECES)
    captures.append(found)
    assert found.step()
    server.run("CREATE TABLE late (id int PRIMARY KEY)", "INSERT INTO late VALUES (1)")
    found.step()
    server.run("INSERT INTO late VALUES (2)")
    found.run()
    server.run("INSERT INTO late VALUES (3)")
    found.run()
    assert found.told("public.late") == [("r", 1), ("r", 2), ("c", 3)]
    assert sorted(number for _, number in found.told("public.t")) == list(range(1, 1201))


def test_another_table_of_the_same_name_is_read(server: PostgresServer, captures: list[Capture]) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    found = Capture(server, "swap", **{"table.include.list": "public.t"})
    captures.append(found)
    found.run()
    server.run("CREATE TABLE t_new (id int PRIMARY KEY)", "INSERT INTO t_new VALUES (2)")
    with server.connect(autocommit=False) as swapping:
        swapping.execute("ALTER TABLE t RENAME TO t_old")
        swapping.execute("ALTER TABLE t_new RENAME TO t")
        swapping.commit()
    found.run()
    server.run("INSERT INTO t VALUES (3)")
    assert found.run().told("public.t") == [("r", 1), ("r", 2), ("c", 3)]
    server.run("DROP TABLE t", "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (4)")
    assert found.run().told("public.t") == [("r", 1), ("r", 2), ("c", 3), ("r", 4)]


@pytest.mark.parametrize("kind", ["filtered", "all_tables"])
def test_a_table_taken_in_again_is_read_again(server: PostgresServer, captures: list[Capture], kind: str) -> None:
    server.run("CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int PRIMARY KEY)")
    server.run("INSERT INTO b VALUES (1)")
    found = Capture(server, "back", **{"publication.autocreate.mode": kind})
    captures.append(found)
    found.run()
    for tables in ("public.a", "public.a,public.b"):
        old = found.config
        found.config = {**old, "table.include.list": tables}
        found.connector().on_updated(old, found.config)
        found.crash()
        found.run()
        server.run("INSERT INTO b SELECT max(id) + 1 FROM b")
        found.run()
    assert found.told("public.b") == [("r", 1), ("r", 1), ("r", 2), ("c", 3)]


def test_offsets_without_the_number_of_a_table_are_understood(server: PostgresServer, captures: list[Capture]) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    captures.append(Capture(server, "older").run())
    at = {"server": "older", "table": "public.t"}
    offset = captures[0].offsets.get(at)
    assert offset is not None
    captures[0].offsets.put(at, {key: value for key, value in offset.items() if key != "oid"})
    captures[0].crash()
    assert captures[0].run().told("public.t") == [("r", 1)]


def test_changes_go_on_while_a_new_table_waits_for_a_transaction(
    server: PostgresServer, captures: list[Capture], caplog: pytest.LogCaptureFixture
) -> None:
    server.run("CREATE TABLE a (id int PRIMARY KEY)")
    found = Capture(server, "waits", **{"table.include.list": "public.*"})
    captures.append(found)
    found.run()
    server.run("CREATE TABLE b (id int PRIMARY KEY)")
    with server.connect(autocommit=False, application_name="slow") as writing:
        writing.execute("INSERT INTO b VALUES (1)")
        with caplog.at_level(logging.WARNING):
            found.run()
        for number in (1, 2):
            server.run(f"INSERT INTO a VALUES ({number})", f"INSERT INTO b VALUES ({number + 10})")
            found.run()
            found.crash()
        assert (found.told("public.a"), found.told("public.b")) == ([("c", 1), ("c", 2)], [])
        pid = writing.info.backend_pid
        writing.commit()
    server.run("INSERT INTO b VALUES (13)", "INSERT INTO a VALUES (3)")
    found.run()
    server.run("INSERT INTO b VALUES (14)")
    found.run()
    assert found.told("public.a") == [("c", 1), ("c", 2), ("c", 3)]
    assert sorted(found.told("public.b")) == [("c", 14), ("r", 1), ("r", 11), ("r", 12), ("r", 13)]
    texts = [r.getMessage() for r in caplog.records if "Waiting to read public.b until" in r.getMessage()]
    assert f"the one of pid {pid} (user {server.parameters['user']}, application 'slow'), which began" in texts[0]
