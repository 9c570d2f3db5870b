"""Kill the worker and PostgreSQL again and again, while tables are read and change: nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import random
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.postgres import PostgresServer
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(2400)]

ROUNDS = int(os.environ.get("PENSTOCK_POSTGRES_FAULTS", "20"))
ROWS = 30_000
JSON = "org.apache.kafka.connect.json.JsonConverter"
CONVERTERS = {
    "key.converter": JSON,
    "value.converter": JSON,
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
}
SCHEMA = (
    "CREATE TABLE items (id int PRIMARY KEY, change bigint, note text)",
    "ALTER TABLE items REPLICA IDENTITY FULL",
    "CREATE SEQUENCE changes",
    "CREATE TABLE audit (xid xid8 DEFAULT pg_current_xact_id(), op text, id int, change bigint)",
    """CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       INSERT INTO audit (op, id, change)
       SELECT lower(substr(replace(TG_OP, 'INSERT', 'C'), 1, 1)), (CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END).id,
              (CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END).change;
       RETURN NULL; END $$""",
    "CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON items FOR EACH ROW EXECUTE FUNCTION note_change()",
)


class Writer:
    """Changes rows at random, one small transaction after the other, from a thread; waits while the server is down."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._stop = threading.Event()
        self._random = random.Random(7)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.transactions = 0

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(120)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._server.connect(autocommit=False) as connection:
                    while not self._stop.wait(0.01):
                        self._write(connection)
            except psycopg.Error:
                self._stop.wait(0.1)

    def _write(self, connection: psycopg.Connection[Any]) -> None:
        for _ in range(self._random.randint(1, 8)):
            at, kind = self._random.randint(1, 2 * ROWS), self._random.random()
            if kind < 0.3:
                connection.execute("DELETE FROM items WHERE id = %s", [at])
            else:
                connection.execute(
                    "INSERT INTO items VALUES (%s, nextval('changes'), repeat('n', %s)) ON CONFLICT (id)"
                    " DO UPDATE SET change = EXCLUDED.change, note = EXCLUDED.note",
                    [at, self._random.randint(0, 200)],
                )
        if self._random.random() < 0.1:
            connection.rollback()
        else:
            connection.commit()
        self.transactions += 1


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        if not running.is_ours:
            pytest.skip("the server was given and is not stopped")
        running.run(*SCHEMA)
        running.run(
            f"INSERT INTO items SELECT n, nextval('changes'), repeat('x', 60) FROM generate_series(1, {ROWS}) n"
        )
        yield running


def test_every_change_arrives_once_whatever_dies(server: PostgresServer, worker: PenstockProcess) -> None:
    source = {"connector.class": "PostgresCdc", "topic.prefix": "f", "table.include.list": "public.items"}
    sink = {"connector.class": "PostgresSink", "topics": "f.public.items", "table.name.format": "copy.items"}
    with Writer(server) as writer:
        worker.create("in", server.config(**source, **CONVERTERS, **{"snapshot.split.pages": "1"}))
        worker.create("out", server.config(**sink, **CONVERTERS))
        phases = Counter[str]()
        for number in range(ROUNDS):
            if number == ROUNDS // 2:
                wait_until(lambda: _phase(_offsets(worker)) == "streaming", "the table is read", 180.0)
            before = _offsets(worker)
            wait_until(lambda: _offsets(worker) != before, f"round {number}: something moves", 120.0)  # noqa: B023
            phases[_phase(_offsets(worker))] += 1
            if number % 3 == 0:
                worker.restart()
            if number % 3 != 0 or number % 2:
                server.stop(immediately=True)
                server.start()
        assert phases["reading"] >= ROUNDS // 4
        assert phases["streaming"] >= ROUNDS // 2
        before_end = writer.transactions
        wait_until(lambda: writer.transactions > before_end + 50, "the writer goes on after the last fault")
    wait_until(lambda: _is_copied(server), "the copy equals the table", 180.0)
    assert _failures(worker) == []
    _check_topic(server, worker)


def _offsets(worker: PenstockProcess) -> list[dict[str, Any]]:
    answer = worker.http.get("/connectors/in/offsets")
    assert _failures(worker) == []
    found: list[dict[str, Any]] = answer.json()["offsets"]
    return found


def _phase(offsets: list[dict[str, Any]]) -> str:
    """Whether the table is still read."""
    tables = [entry["offset"] for entry in offsets if "table" in entry["partition"]]
    return "streaming" if tables and all(table["page"] >= table["pages"] for table in tables) else "reading"


def _failures(worker: PenstockProcess) -> list[str]:
    statuses = [worker.status(name) for name in ("in", "out")]
    parts = [part for status in statuses for part in (status["connector"], *status["tasks"])]
    return [part["trace"] for part in parts if part["state"] == "FAILED"]


def _is_copied(server: PostgresServer) -> bool:
    rows = "SELECT id, change, note FROM items", "SELECT id, change, note FROM copy.items"
    return not server.run(f"({rows[0]} EXCEPT {rows[1]}) UNION ALL ({rows[1]} EXCEPT {rows[0]}) LIMIT 1")


def _check_topic(server: PostgresServer, worker: PenstockProcess) -> None:
    """Every change that the reading of the table did not see is in the topic, once and in order."""
    (table,) = [entry for entry in _offsets(worker) if "table" in entry["partition"]]
    unseen = f"NOT pg_visible_in_snapshot(xid, '{table['offset']['since']}'::pg_snapshot)"
    wanted = Counter(server.run(f"SELECT op, id, change FROM audit WHERE {unseen}"))
    found, newest = Counter[tuple[Any, ...]](), dict[int, int]()
    for value in _values(worker, "f.public.items"):
        row = value["before"] if value["op"] == "d" else value["after"]
        if value["op"] != "r":
            found[value["op"], row["id"], row["change"]] += 1
        if value["op"] != "d":
            assert row["change"] > newest.get(row["id"], -1), f"{row} after {newest[row['id']]}"
            newest[row["id"]] = row["change"]
    assert found - wanted == Counter()
    assert wanted - found == Counter()


def _values(worker: PenstockProcess, topic: str) -> Iterator[Any]:
    start = "0:0"
    while True:
        page = worker.http.get(f"/topics/{topic}/records", params={"from": start, "limit": 1000}).json()
        for record in page["records"]:
            if record["value"] is not None:
                yield json.loads(record["value"]["text"])
        if not page["more"]:
            return
        start = page["next"]


def test_a_table_without_a_key_is_read_once_although_reading_was_interrupted(
    server: PostgresServer, tmp_path: Path
) -> None:
    """Rows nobody changed meanwhile are read under the next snapshot, others come with their change: none twice."""
    server.run("CREATE TABLE log (n int, t text)", f"INSERT INTO log SELECT n, 'x' FROM generate_series(1, {ROWS}) n")
    source = {"connector.class": "PostgresCdc", "topic.prefix": "g", "table.include.list": "public.log"}
    pages = {"snapshot.split.pages": "1"}
    with PenstockProcess(tmp_path / "keyless") as worker:
        worker.create("in", server.config(**source, **CONVERTERS, **pages))

        def page() -> int:
            offsets = worker.http.get("/connectors/in/offsets").json()["offsets"]
            return sum(entry["offset"].get("page", 0) for entry in offsets)

        wait_until(page, "the table is partly read", 120.0)
        server.stop(immediately=True)
        server.start()
        server.run(f"INSERT INTO log SELECT n, 'later' FROM generate_series({ROWS + 1}, {ROWS + 500}) n")

        def count() -> int:
            answer = worker.http.get("/topics/g.public.log/offsets", params={"at": "latest"})
            return sum(answer.json()["offsets"]) if answer.status_code == 200 else 0

        wait_until(lambda: count() >= ROWS + 500, "all rows are there", 120.0)
        rows = Counter(value["after"]["n"] for value in _values(worker, "g.public.log"))
        assert rows == Counter(range(1, ROWS + 501))
