"""The sink against a real PostgreSQL, called as an executor calls it: rows, deletes, columns, repetitions, refusals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest

from penstock.api import Batch, ConfigDef, PluginError, Record, Schema, SchemaType, SinkContext
from penstock.api.logical import decimal_schema
from penstock.api.record import INT32, OPTIONAL_STRING, array_schema, struct_schema
from penstock.connectors.postgres import PostgresSink
from penstock.connectors.postgres.sink import CONFIG, PostgresSinkTask, _sessions
from penstock.connectors.postgres.types import MICRO_TIMESTAMP_NAME
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.integration

KEY = struct_schema(("id", INT32))


@pytest.fixture(scope="module")
def running() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def server(running: PostgresServer) -> PostgresServer:
    for key in list(_sessions):
        _sessions.pop(key).connection.close()
    running.run("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    return running


class Sink:
    """A task as an executor has it. ``state`` is what the runtime committed last."""

    def __init__(self, server: PostgresServer, **more: str) -> None:
        self.config = server.config(**{"name": "sink", "topics": "t", **more})
        self.state: Mapping[str, Any] | None = None
        self.reported: list[tuple[int | None, str]] = []

    def put(self, items: Iterable[Record | Batch], commit: bool = True) -> None:
        task = PostgresSinkTask()
        task.configure(self.config)
        task.context = SinkContext("sink", 0, self.state, lambda r, e: self.reported.append((r.offset, str(e))))
        state = task.put_mixed(items)
        if commit:
            self.state = state


def record(offset: int, number: int, value: Mapping[str, Any] | None, schema: Schema | None = None) -> Record:
    return Record(value, {"id": number}, "t", 0, schema, KEY, offset=offset)


def rows(server: PostgresServer, columns: str = "*", table: str = "t") -> list[tuple[Any, ...]]:
    return server.run(f"SELECT {columns} FROM {table} ORDER BY 1")


def test_the_last_record_of_a_key_wins_and_tombstones_delete(server: PostgresServer) -> None:
    sink = Sink(server)
    sink.put([record(0, 1, {"v": "a"}), record(1, 2, {"v": "b"}), record(2, 1, {"v": "c"}), record(3, 2, None)])
    assert rows(server) == [(1, "c")]
    sink.put([record(4, 1, None), record(5, 1, {"v": "again"}), record(6, 3, {"v": "d"})])
    assert rows(server) == [(1, "again"), (3, "d")]
    assert sink.reported == []


def test_a_batch_repeated_after_a_crash_is_written_once(server: PostgresServer) -> None:
    sink = Sink(server, **{"insert.mode": "insert", "primary.key.mode": "none"})
    sink.put([])
    sink.put([record(0, 1, {"v": "a"})])
    sink.put([record(1, 2, {"v": "b"})], commit=False)
    sink.put([record(1, 2, {"v": "b"}), record(2, 3, {"v": "c"})])
    assert rows(server, "v") == [("a",), ("b",), ("c",)]
    assert server.run("SELECT connector, topic, part, next FROM penstock_offsets") == [("sink", "t", 0, 3)]


def test_records_come_again_after_offsets_were_moved_back(server: PostgresServer) -> None:
    sink = Sink(server, **{"insert.mode": "insert", "primary.key.mode": "none"})
    batch = [record(0, 1, {"v": "a"}), record(1, 2, {"v": "b"})]
    sink.put(batch)
    assert PostgresSink().alter_offsets(sink.config, {("t", 0): 0})
    sink.put(batch)
    assert len(rows(server)) == 4
    PostgresSink().on_deleted(sink.config)
    assert server.run("SELECT * FROM penstock_offsets") == []


def test_tables_and_columns_are_made_as_records_need_them(server: PostgresServer) -> None:
    first = struct_schema(("v", OPTIONAL_STRING))
    stamp = Schema(SchemaType.INT64, name=MICRO_TIMESTAMP_NAME, version=1)
    second = struct_schema(
        ("v", OPTIONAL_STRING), ("n", decimal_schema(2)), ("at", stamp), ("tags", array_schema(INT32))
    )
    sink = Sink(server, **{"table.name.format": "made.${table}_x"})
    value = {"v": "b", "n": Decimal("1.50"), "at": 1_500_000, "tags": [1, 2]}
    sink.put([record(0, 1, {"v": "a"}, first), record(1, 2, value, second)])
    assert rows(server, "id, v, n::text, at::text, tags", "made.t_x") == [
        (1, "a", None, None, None),
        (2, "b", "1.50", "1970-01-01 00:00:01.5", [1, 2]),
    ]
    server.run("DROP SCHEMA made CASCADE")


def test_without_leave_tables_and_columns_are_an_error_with_the_statement(server: PostgresServer) -> None:
    with pytest.raises(PluginError, match=r'auto\.create is off\. Create it: CREATE TABLE IF NOT EXISTS "t"'):
        Sink(server, **{"auto.create": "false"}).put([record(0, 1, {"v": "a"})])
    server.run("CREATE TABLE t (id int PRIMARY KEY)")
    with pytest.raises(PluginError, match=r'auto\.evolve is off\. Add them: ALTER TABLE "t" ADD COLUMN'):
        Sink(server, **{"auto.evolve": "false"}).put([record(0, 1, {"v": "a"})])


def test_an_upsert_needs_a_unique_index_and_says_so(server: PostgresServer) -> None:
    server.run("CREATE TABLE t (id int, v text)")
    with pytest.raises(PluginError, match=r'CREATE UNIQUE INDEX ON "t" \("id"\)'):
        Sink(server).put([record(0, 1, {"v": "a"})])


@pytest.mark.parametrize("mode", ["upsert", "insert"])
def test_a_row_the_table_refuses_is_reported_alone(server: PostgresServer, mode: str) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY, v int CHECK (v < 100))")
    sink = Sink(server, **{"insert.mode": mode})
    sink.put([record(n, n, {"v": "bad" if n == 3 else 500 if n == 7 else n}) for n in range(10)])
    assert [number for number, _ in rows(server)] == [0, 1, 2, 4, 5, 6, 8, 9]
    assert sorted(offset or 0 for offset, _ in sink.reported) == [3, 7]
    assert all("refuses the record" in text for _, text in sink.reported)


def test_a_value_that_stayed_leaves_its_column_alone(server: PostgresServer) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY, v jsonb, n int)")
    unknown = "__debezium_unavailable_value"
    sink = Sink(server)
    sink.put([record(0, 1, {"v": '{"a": 1}', "n": 1}), record(1, 2, {"v": '{"b": 1}', "n": 1})])
    sink.put(
        [
            record(2, 1, {"v": unknown, "n": 2}),
            record(3, 3, {"v": '{"c": 1}', "n": 3}),
            record(4, 3, {"v": unknown, "n": 4}),
            record(5, 2, None),
        ]
    )
    assert rows(server) == [(1, {"a": 1}, 2), (3, {"c": 1}, 4)]


def test_keys_may_come_from_the_value_or_be_plain(server: PostgresServer) -> None:
    taken = Sink(server, **{"primary.key.mode": "record_value", "primary.key.fields": "a,b", "table.name.format": "x"})
    taken.put([Record({"a": 1, "b": 2, "c": n}, None, "t", 0, offset=n) for n in range(3)])
    assert rows(server, table="x") == [(1, 2, 2)]
    plain = Sink(server, **{"primary.key.fields": "code", "table.name.format": "y", "name": "other"})
    plain.put([Record({"v": 1}, "k", "u", 0, offset=0), Record({"v": 2}, "k", "u", 0, offset=1)])
    assert rows(server, table="y") == [("k", 2)]


def test_settings_that_cannot_work_together_are_refused() -> None:
    base = {"database.dbname": "d", "topics": "t"}
    found = PostgresSink().validate({**base, "primary.key.mode": "none"})
    assert "insert.mode=insert" in found["primary.key.mode"][0]
    found = PostgresSink().validate({**base, "primary.key.mode": "record_value"})
    assert "primary.key.fields" in found
    assert isinstance(CONFIG, ConfigDef)
