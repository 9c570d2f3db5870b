"""The sink against a real PostgreSQL, called as an executor calls it: rows, deletes, columns, repetitions, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

from penstock.api import (
    Batch,
    ConfigDef,
    DataError,
    PluginError,
    Record,
    RetriableError,
    Schema,
    SchemaType,
    SinkContext,
)
from penstock.api.logical import decimal_schema
from penstock.api.record import INT32, OPTIONAL_STRING, array_schema, struct_schema
from penstock.connectors.postgres import PostgresSink
from penstock.connectors.postgres.sink import CONFIG, PostgresSinkTask, _sessions
from penstock.connectors.postgres.types import MICRO_TIMESTAMP_NAME
from tests.support.postgres import PostgresServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

KEY = struct_schema(("id", INT32))
Report = Callable[[Record, Exception], None]


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


class Sink:
    """A task as an executor has it. ``state`` is what the runtime committed last."""

    def __init__(self, server: PostgresServer, **more: str) -> None:
        self.config = server.config(**{"name": "sink", "topics": "t", **more})
        self.state: Mapping[str, Any] | None = None
        self.reported: list[tuple[int | None, str]] = []

    def put(
        self, items: Iterable[Record | Batch], commit: bool = True, report: Report | None = None, number: int = 0
    ) -> None:
        task = PostgresSinkTask()
        task.configure(self.config)
        task.context = SinkContext("sink", number, self.state, report or self._report)
        state = task.put_mixed(items)
        if commit:
            self.state = state

    def _report(self, record: Record, error: Exception) -> None:
        self.reported.append((record.offset, str(error)))


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


LIVES: Mapping[str, Mapping[str, str]] = {
    "another worker": {},
    "deleted after keeping none": {"delivery.guarantee": "at_least_once"},
}


@pytest.mark.parametrize("change", list(LIVES))
def test_a_sink_that_begins_anew_writes_its_first_records(server: PostgresServer, change: str) -> None:
    mode = {"insert.mode": "insert", "primary.key.mode": "none"}
    before = Sink(server, **mode)
    before.put([record(n, n, {"v": "before"}) for n in range(5)])
    if LIVES[change]:
        PostgresSink().on_updated(before.config, before.config | LIVES[change])
        PostgresSink().on_deleted(before.config | LIVES[change])
        assert server.run("SELECT * FROM penstock_offsets") == []
    after = Sink(server, **mode)
    PostgresSink().on_created(after.config)
    PostgresSink().on_created(after.config)
    after.put([])
    after.put([record(n, n, {"v": "after"}) for n in range(3)])
    assert rows(server, "v") == [("after",)] * 3 + [("before",)] * 5


def test_offsets_from_before_nobody_kept_them_are_forgotten(server: PostgresServer) -> None:
    sink = Sink(server)
    sink.put([record(n, n, {"v": "a"}) for n in range(5)])
    loose = {**sink.config, "delivery.guarantee": "at_least_once"}
    PostgresSink().on_updated(sink.config, loose)
    assert len(server.run("SELECT * FROM penstock_offsets")) == 1
    PostgresSink().on_updated(loose, sink.config)
    assert server.run("SELECT * FROM penstock_offsets") == []


def test_two_tasks_with_the_same_records_write_them_once(server: PostgresServer) -> None:
    """A worker that was cut off may still put as another task number than its successor."""
    server.run("CREATE TABLE t (id int, v text)")
    sink = Sink(server, **{"insert.mode": "insert", "primary.key.mode": "none"})
    sink.put([])
    batch = [record(n, n, {"v": "once"}) for n in range(3)]
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'penstock'"
    with server.connect(autocommit=False) as holding, ThreadPoolExecutor(2) as threads:
        holding.execute("LOCK TABLE t IN SHARE MODE")
        putting = [threads.submit(sink.put, batch, commit=False, number=number) for number in (0, 1)]
        wait_until(lambda: len(server.run(waiting)) == 2, "both tasks write")
        holding.commit()
        failures = [failure for put in putting if (failure := put.exception()) is not None]
    assert [type(failure) for failure in failures] == [RetriableError]
    assert "Somebody else writes the same records" in str(failures[0])
    assert rows(server, "v") == [("once",)] * 3
    sink.put(batch, number=1)
    assert rows(server, "v") == [("once",)] * 3


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


@pytest.mark.parametrize("mode", ["upsert", "insert"])
def test_rows_the_table_refuses_in_a_large_batch_are_reported_alone(server: PostgresServer, mode: str) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY, v int CHECK (v < 100000))")
    bad = (3, 12_345, 24_999)
    sink = Sink(server, **{"insert.mode": mode})
    sink.put([record(n, n, {"v": 500_000 if n in bad else n}) for n in range(25_000)])
    left = sum(range(25_000)) - sum(bad)
    assert server.run("SELECT count(*), sum(id), sum(v) FROM t") == [(24_997, left, left)]
    assert [offset for offset, _ in sink.reported] == list(bad)


def test_a_refused_row_that_is_not_tolerated_leaves_nothing_of_its_batch(server: PostgresServer) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY, v int CHECK (v < 100000))")
    sink = Sink(server)

    def refuse(record: Record, error: Exception) -> None:
        raise error

    with pytest.raises(DataError, match="refuses the record"):
        sink.put([record(n, n, {"v": 500_000 if n == 7 else n}) for n in range(25_000)], report=refuse)
    assert rows(server) == []
    assert server.run("SELECT * FROM penstock_offsets") == []


def test_new_and_known_keys_may_come_in_any_order(server: PostgresServer) -> None:
    """Rows that are all new are inserted, others are merged: the outcome is the same."""
    sink = Sink(server)
    sink.put([record(n, 100 + n, {"v": "first"}) for n in range(10)])
    sink.put([record(10 + n, 200 + n, {"v": "new"}) for n in range(10)])
    sink.put([record(20, 105, {"v": "second"}), record(21, 50, {"v": "new"}), record(22, 205, {"v": "second"})])
    sink.put([record(23, 1, {"v": "a"}), record(24, 1, {"v": "b"}), record(25, 2, None)])
    found = dict(rows(server))
    assert len(found) == 22
    assert {number: found[number] for number in (1, 50, 105, 205, 100, 200)} == {
        1: "b",
        50: "new",
        105: "second",
        205: "second",
        100: "first",
        200: "new",
    }


def test_a_row_that_somebody_else_inserts_at_the_same_moment_is_merged(server: PostgresServer) -> None:
    server.run("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
    sink = Sink(server)
    sink.put([])
    with server.connect(autocommit=False) as other, ThreadPoolExecutor(1) as thread:
        other.execute("INSERT INTO t VALUES (2, 'theirs')")
        putting = thread.submit(sink.put, [record(n, n, {"v": "ours"}) for n in range(4)])
        waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'penstock'"
        wait_until(lambda: server.run(waiting), "the sink waits for the other transaction")
        other.commit()
        putting.result()
    assert rows(server) == [(n, "ours") for n in range(4)]
    assert sink.reported == []


def test_keys_that_only_the_table_takes_for_the_same_are_one_row(server: PostgresServer) -> None:
    server.run("CREATE TABLE t (id char(5) PRIMARY KEY, v text)")
    key = struct_schema(("id", OPTIONAL_STRING))
    pairs = [("a", "first"), ("b", "other"), ("a  ", "last")]
    sink = Sink(server)
    sink.put([Record({"v": v}, {"id": k}, "t", 0, None, key, offset=n) for n, (k, v) in enumerate(pairs)])
    assert rows(server) == [("a    ", "last"), ("b    ", "other")]


def test_deletes_are_left_out_on_request(server: PostgresServer) -> None:
    sink = Sink(server, **{"delete.enabled": "false"})
    sink.put([record(0, 1, {"v": "a"}), record(1, 1, None), record(2, 2, {"v": "b"})])
    assert rows(server) == [(1, "a"), (2, "b")]


def test_deletes_are_done_where_each_record_is_a_row(server: PostgresServer) -> None:
    server.run("CREATE TABLE t (id int, v text)", "INSERT INTO t VALUES (1, 'x'), (1, 'y'), (2, 'x')")
    sink = Sink(server, **{"insert.mode": "insert"})
    envelope = {"before": {"id": 4}, "after": None, "op": "d"}
    sink.put(
        [
            record(0, 1, None),
            record(1, 3, {"v": "a"}),
            record(2, 3, {"v": "b"}),
            record(3, 3, None),
            record(4, 3, {"v": "c"}),
            record(5, 4, {"v": "a"}),
            record(6, 4, envelope),
        ]
    )
    assert rows(server) == [(2, "x"), (3, "c")]
    sink.put([record(7, 3, None), record(8, 2, None)])
    assert rows(server) == []


def test_a_truncate_that_the_topic_tells_of_is_left_out(server: PostgresServer) -> None:
    sink = Sink(server)
    sink.put([record(0, 1, {"v": "a"})])
    truncated = {"before": None, "after": None, "op": "t"}
    changed = {"before": None, "after": {"v": "b"}, "op": "u"}
    sink.put([Record(truncated, None, "t", 0, offset=1), record(2, 1, changed)])
    assert (rows(server), sink.reported) == ([(1, "b")], [])


def test_at_least_once_keeps_no_offsets_and_may_write_a_batch_again(server: PostgresServer) -> None:
    sink = Sink(server, **{"delivery.guarantee": "at_least_once", "insert.mode": "insert", "primary.key.mode": "none"})
    for _ in range(2):
        sink.put([record(0, 1, {"v": "a"})], commit=False)
    assert rows(server, "v") == [("a",), ("a",)]
    assert server.run("SELECT to_regclass('penstock_offsets')") == [(None,)]


def test_a_user_who_cannot_make_the_table_of_offsets_is_told_what_to_do(server: PostgresServer) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY, v text)")
    server.run("DROP ROLE IF EXISTS clerk", "CREATE ROLE clerk LOGIN")
    server.run("GRANT USAGE ON SCHEMA public TO clerk", "GRANT ALL ON t TO clerk")
    clerk = {"database.user": "clerk", "auto.create": "false"}
    try:
        with pytest.raises(PluginError, match=r'CREATE TABLE IF NOT EXISTS "penstock_offsets".*at_least_once'):
            Sink(server, **clerk).put([record(0, 1, {"v": "a"})])
        Sink(server, **clerk, **{"delivery.guarantee": "at_least_once"}).put([record(0, 1, {"v": "a"})])
        assert rows(server) == [(1, "a")]
        server.run(
            "CREATE TABLE penstock_offsets (connector text, topic text, part integer, next bigint NOT NULL,"
            " PRIMARY KEY (connector, topic, part))",
            "GRANT ALL ON penstock_offsets TO clerk",
        )
        Sink(server, **clerk).put([record(1, 2, {"v": "b"})])
        assert rows(server) == [(1, "a"), (2, "b")]
    finally:
        server.run("DROP OWNED BY clerk", "DROP ROLE clerk")
