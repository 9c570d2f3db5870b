"""The source against a real PostgreSQL, driven as the runtime drives it but without Spark: hooks, modes, crashes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from penstock.api import (
    Batch,
    ConfigError,
    Plan,
    PluginError,
    Progress,
    Record,
    SourceOffset,
    SourceOffsets,
    SourcePartition,
)
from penstock.connectors.postgres import PostgresCdc, capture, stream
from penstock.connectors.postgres.source import PostgresCdcTask
from tests.support.postgres import PostgresServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration


class Committed(SourceOffsets):
    """Offsets as the runtime would keep them."""

    def __init__(self) -> None:
        self._pairs: dict[str, tuple[SourcePartition, SourceOffset]] = {}

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        return self._pairs.get(json.dumps(partition, sort_keys=True), (None, None))[1]

    def all(self) -> Sequence[tuple[SourcePartition, SourceOffset]]:
        return list(self._pairs.values())

    def put(self, partition: SourcePartition, offset: SourceOffset) -> None:
        self._pairs[json.dumps(partition, sort_keys=True)] = (partition, json.loads(json.dumps(offset)))


class Capture:
    """A connector, its task and its topics. ``crash`` loses the task and every connection, ``step`` is one batch."""

    def __init__(self, server: PostgresServer, name: str, **more: str) -> None:
        self.server = server
        names = {"name": name, "topic.prefix": name, "poll.interval.ms": "0"}
        self.config = server.config(**{**names, **more})
        self.offsets = Committed()
        self.topics: dict[str, list[Record]] = {}
        self.connector().on_created(self.config)
        self.task = self._task()

    def connector(self) -> PostgresCdc:
        made = PostgresCdc()
        made.configure(self.config)
        return made

    def _task(self) -> PostgresCdcTask:
        task = PostgresCdcTask()
        task.configure(self.config)
        return task

    def crash(self) -> None:
        self.task.stop()
        for kept in list(stream._kept):
            stream._kept.pop(kept).close()
        self.task = self._task()

    def step(self, commit: bool = True) -> bool:
        plan = self.task.plan(self.offsets)
        if plan is None:
            return False
        records, progress = self._read(plan)
        if commit:
            for record in records:
                self.topics.setdefault(record.topic, []).append(record)
            for partition, offset in [*plan.ends, *progress]:
                self.offsets.put(partition, offset)
        return True

    def run(self) -> Capture:
        """Everything there is now."""
        while self.step():
            pass
        return self

    def _read(self, plan: Plan) -> tuple[list[Record], list[tuple[SourcePartition, SourceOffset]]]:
        records: list[Record] = []
        progress = []
        for split in plan.splits:
            for item in self.task.read(split):
                if isinstance(item, Progress):
                    progress.append((item.partition, item.offset))
                else:
                    records += item.records() if isinstance(item, Batch) else [item]
        return records, progress

    def told(self, table: str) -> list[tuple[str, Any]]:
        records = self.topics.get(f"{self.config['topic.prefix']}.{table}", [])
        return [(r.value["op"], (r.value["after"] or r.value["before"])["id"]) for r in records if r.value]

    def close(self) -> None:
        self.crash()
        self.task.stop()
        self.connector().on_deleted(self.config)


@pytest.fixture(scope="module")
def running() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def server(running: PostgresServer) -> PostgresServer:
    running.run("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    return running


@pytest.fixture
def captures() -> Iterator[list[Capture]]:
    made: list[Capture] = []
    yield made
    for one in made:
        one.close()


def slots(server: PostgresServer) -> list[str]:
    return [name for (name,) in server.run("SELECT slot_name FROM pg_replication_slots ORDER BY 1")]


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
    PostgresCdc().on_created({**config, "slot.adopt": "true"})
    PostgresCdc().on_deleted({**config, "publication.autocreate.mode": "disabled"})
    assert server.run("SELECT tablename FROM pg_publication_tables WHERE pubname = 'shared'") == [("a",)]
    server.run("DROP PUBLICATION shared")


@pytest.mark.parametrize("interruptions", [1, 3])
def test_an_interrupted_reading_misses_nothing_and_repeats_nothing(
    server: PostgresServer, captures: list[Capture], interruptions: int
) -> None:
    server.run("CREATE TABLE t (id int, v text)", "ALTER TABLE t REPLICA IDENTITY FULL")
    server.run("INSERT INTO t SELECT n, repeat('x', 500) FROM generate_series(1, 600) n")
    found = Capture(server, "broken", **{"snapshot.split.pages": "1"})
    captures.append(found)
    for number in range(interruptions):
        assert found.step()
        server.run(
            f"UPDATE t SET v = 'new {number}' WHERE id % 7 = {number}",
            f"DELETE FROM t WHERE id % 11 = {number}",
            f"INSERT INTO t VALUES ({1000 + number}, 'added')",
        )
        found.step(commit=False)
        found.crash()
    found.run()
    assert _state_of(found.topics["broken.public.t"]) == dict(server.run("SELECT id, v FROM t"))
    read = [key for op, key in found.told("public.t") if op == "r"]
    assert len(read) == len(set(read))
    changes = [pair for pair in found.told("public.t") if pair[0] == "c"]
    assert changes == [("c", 1000 + number) for number in range(interruptions)]


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


def test_large_values_survive_an_interrupted_reading(server: PostgresServer, captures: list[Capture]) -> None:
    large = "(SELECT string_agg(md5(n::text || g), '') FROM generate_series(1, 300) g)"
    server.run("CREATE TABLE t (id int PRIMARY KEY, small int, pad text, v text)")
    server.run(f"INSERT INTO t SELECT n, 0, repeat('x', 1500), {large} FROM generate_series(1, 40) n")
    found = Capture(server, "toast", **{"snapshot.split.pages": "1"})
    captures.append(found)
    assert found.step()
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
