"""The config store: Kafka Connect's records, its reader rules, and what listeners hear."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.storage.config_store import HISTORY, ConfigListener, ConfigStore, Restart, SessionKey
from penstock.storage.log import LogRecord
from penstock.storage.memory_log import MemoryLog
from penstock.storage.sqlite import Database
from penstock.storage.sqlite_log import SqliteLog
from penstock.storage.states import TargetState

CONFIG = {"connector.class": "X", "name": "a", "nothing": None}
CONNECTOR = LogRecord(b"connector-a", b'{"properties":{"connector.class":"X","name":"a","nothing":null}}')
COMMIT_TWO = LogRecord(b"commit-a", b'{"tasks":2}')


def task(number: int, value: str = "v") -> LogRecord:
    return LogRecord(b"task-a-%d" % number, b'{"properties":{"k":"%s"}}' % value.encode())


class Heard(ConfigListener):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def connector_updated(self, connector: str) -> None:
        self.events.append(("updated", connector))

    def connector_removed(self, connector: str) -> None:
        self.events.append(("removed", connector))

    def tasks_updated(self, connector: str) -> None:
        self.events.append(("tasks", connector))

    def target_state_changed(self, connector: str) -> None:
        self.events.append(("state", connector))

    def restart_requested(self, restart: Restart) -> None:
        self.events.append(("restart", restart))

    def session_key_changed(self, key: SessionKey) -> None:
        self.events.append(("key", key))

    def logger_level_set(self, namespace: str, level: str) -> None:
        self.events.append(("logger", namespace, level))


def opened(*records: LogRecord) -> tuple[ConfigStore, MemoryLog, Heard]:
    log, heard = MemoryLog(records), Heard()
    store = ConfigStore(log)
    store.listen(heard)
    store.start()
    return store, log, heard


def test_writes_have_the_bytes_and_the_order_of_kafka_connect() -> None:
    store, log, _ = opened()
    store.put_connector("a", CONFIG, TargetState.STOPPED).result()
    store.put_task_configs("a", [{"k": "v"}, {"k": "w"}]).result()
    store.put_target_state("a", TargetState.PAUSED).result()
    store.stop_connector("a").result()
    store.put_restart("a", only_failed=True, include_tasks=False).result()
    store.put_task_count("a", 2).result()
    store.put_session_key(SessionKey(b"\x01\x02", "HmacSHA256", 17)).result()
    store.put_logger_level("penstock.x", "DEBUG").result()
    ours = [record for record in log.records if record.key == b"incarnation-a"]
    assert ours == log.records[1:2], "Kafka Connect passes over it"
    assert [record for record in log.records if record not in ours] == [
        LogRecord(b"target-state-a", b'{"state":"PAUSED","state.v2":"STOPPED"}'),
        CONNECTOR,
        task(0),
        task(1, "w"),
        COMMIT_TWO,
        LogRecord(b"target-state-a", b'{"state":"PAUSED","state.v2":"PAUSED"}'),
        LogRecord(b"commit-a", b'{"tasks":0}'),
        LogRecord(b"target-state-a", b'{"state":"PAUSED","state.v2":"STOPPED"}'),
        LogRecord(b"restart-connector-a", b'{"include-tasks":false,"only-failed":true}'),
        LogRecord(b"tasks-fencing-a", b'{"task-count":2}'),
        LogRecord(b"session-key", b'{"key":"AQI=","algorithm":"HmacSHA256","creation-timestamp":17}'),
        LogRecord(b"logger-cluster-penstock.x", b'{"level":"DEBUG"}'),
    ]


def test_deletion_begins_with_the_tombstones_of_config_and_target_state() -> None:
    store, log, _ = opened(CONNECTOR)
    store.remove_connector("a").result()
    assert log.records[1:3] == [LogRecord(b"connector-a", None), LogRecord(b"target-state-a", None)]
    assert store.snapshot().connectors() == []


def test_everything_is_known_after_a_restart(tmp_path: Path) -> None:
    database = Database(tmp_path / "penstock.db")
    store = ConfigStore(SqliteLog(database, "configs", HISTORY))
    store.start()
    store.put_connector("a-1", CONFIG, TargetState.PAUSED).result()
    store.put_task_configs("a-1", [{"k": "v"}, {"k": "w"}]).result()
    store.put_connector("a-1", {"changed": "yes"}).result()
    store.put_session_key(SessionKey(b"secret", "HmacSHA256", 17)).result()
    database.close()
    database = Database(tmp_path / "penstock.db")
    again = ConfigStore(SqliteLog(database, "configs", HISTORY))
    again.start()
    seen = again.snapshot()
    database.close()
    assert seen.connectors() == ["a-1"]
    assert seen.connector_config("a-1") == {"changed": "yes"}
    assert seen.target_state("a-1") is TargetState.PAUSED
    assert seen.task_configs("a-1") == [{"k": "v"}, {"k": "w"}]
    assert seen.applied_config("a-1") == CONFIG, "the config the tasks were made from, not the newest"
    assert seen.session_key == SessionKey(b"secret", "HmacSHA256", 17)


def test_a_snapshot_never_changes() -> None:
    store, _, _ = opened(CONNECTOR)
    before = store.snapshot()
    store.remove_connector("a").result()
    assert before.connectors() == ["a"]
    assert "a" in before
    assert "a" not in store.snapshot()


def test_listeners_hear_of_news_in_order_and_not_of_the_catch_up() -> None:
    restart = LogRecord(b"restart-connector-a", b'{"include-tasks":true,"only-failed":false}')
    logger = LogRecord(b"logger-cluster-x", b'{"level":"INFO"}')
    store, _, heard = opened(CONNECTOR, task(0), LogRecord(b"commit-a", b'{"tasks":1}'), restart, logger)
    assert heard.events == []
    store.put_connector("b", CONFIG, TargetState.PAUSED).result()
    store.put_target_state("a", TargetState.PAUSED).result()
    store.put_target_state("a", TargetState.PAUSED).result()
    store.put_task_configs("a", []).result()
    store.put_restart("a", only_failed=True, include_tasks=True).result()
    store.put_logger_level("x", "DEBUG").result()
    store.remove_connector("a").result()
    assert heard.events == [
        ("updated", "b"),
        ("state", "a"),
        ("tasks", "a"),
        ("restart", Restart("a", only_failed=True, include_tasks=True)),
        ("logger", "x", "DEBUG"),
        ("removed", "a"),
    ]


def test_a_listener_sees_the_whole_of_an_atomic_write() -> None:
    store, _, _ = opened(CONNECTOR)
    seen: list[object] = []

    class Looks(ConfigListener):
        def tasks_updated(self, connector: str) -> None:
            seen.append(store.snapshot().target_state(connector))

    store.listen(Looks())
    store.stop_connector("a").result()
    assert seen == [TargetState.STOPPED]


def test_a_listener_that_fails_harms_neither_the_write_nor_the_others() -> None:
    class Fails(ConfigListener):
        def connector_updated(self, connector: str) -> None:
            raise RuntimeError("broken")

    log, heard = MemoryLog(), Heard()
    store = ConfigStore(log)
    store.listen(Fails())
    store.listen(heard)
    store.start()
    store.put_connector("a", CONFIG).result()
    assert heard.events == [("updated", "a")]
    assert "a" in store.snapshot()


def test_task_configs_count_only_once_committed() -> None:
    store, log, _ = opened(CONNECTOR, task(0), task(1))
    assert store.snapshot().task_configs("a") == []
    log.append([COMMIT_TWO])
    assert store.snapshot().task_configs("a") == [{"k": "v"}, {"k": "v"}]
    assert store.snapshot().task_count("a") == 2
    assert store.snapshot().entries["a"].generation == 0


def test_an_incomplete_commit_makes_the_connector_inconsistent_until_the_next() -> None:
    store, _, _ = opened(CONNECTOR, task(1), COMMIT_TWO)
    seen = store.snapshot()
    assert seen.inconsistent() == {"a"}
    assert (seen.task_configs("a"), seen.task_count("a")) == ([], 2)
    store.put_task_configs("a", [{"k": "new"}]).result()
    seen = store.snapshot()
    assert seen.inconsistent() == set()
    assert seen.task_configs("a") == [{"k": "new"}]


def test_more_buffered_tasks_than_committed_are_fine() -> None:
    store, _, _ = opened(CONNECTOR, task(0), task(1), task(2), COMMIT_TWO)
    assert len(store.snapshot().task_configs("a")) == 2


def test_leftovers_of_a_deleted_connector_never_bring_it_back() -> None:
    leftovers = [task(0), LogRecord(b"commit-a", b'{"tasks":1}'), LogRecord(b"tasks-fencing-a", b'{"task-count":1}')]
    store, log, _ = opened(*leftovers, LogRecord(b"restart-connector-a", b"{}"))
    assert store.snapshot().connectors() == []
    log.append([CONNECTOR])
    assert store.snapshot().task_configs("a") == []
    log.append([LogRecord(b"commit-a", b'{"tasks":1}')])
    assert store.snapshot().inconsistent() == {"a"}, "the old task config is forgotten"


def test_recreating_a_connector_begins_without_tasks() -> None:
    store, _, _ = opened(CONNECTOR, task(0), task(1), COMMIT_TWO)
    store.remove_connector("a").result()
    store.put_connector("a", CONFIG).result()
    seen = store.snapshot()
    assert (seen.task_configs("a"), seen.applied_config("a")) == ([], None)


@pytest.mark.parametrize(
    ("value", "state"),
    [
        (b'{"state":"PAUSED"}', TargetState.PAUSED),
        (b'{"state":"PAUSED","state.v2":"STOPPED"}', TargetState.STOPPED),
        (b'{"state":"PAUSED","state.v2":7}', TargetState.PAUSED),
        (b'{"state":"DANCING"}', TargetState.STARTED),
        (b'{"state":"PAUSED","state.v2":"DANCING"}', TargetState.STARTED),
        (b"[]", TargetState.STARTED),
    ],
)
def test_target_states_are_read_as_kafka_connect_does(value: bytes, state: TargetState) -> None:
    store, _, _ = opened(CONNECTOR, LogRecord(b"target-state-a", value))
    assert store.snapshot().target_state("a") is state


def test_a_target_state_written_before_its_connector_counts_and_is_not_told() -> None:
    store, log, heard = opened()
    log.append([LogRecord(b"target-state-a", b'{"state":"PAUSED","state.v2":"PAUSED"}')])
    assert heard.events == []
    log.append([CONNECTOR])
    assert store.snapshot().target_state("a") is TargetState.PAUSED
    log.append([LogRecord(b"target-state-a", None)])
    assert store.snapshot().target_state("a") is TargetState.STARTED


PAUSED = LogRecord(b"target-state-a", b'{"state":"PAUSED","state.v2":"PAUSED"}')


def test_a_new_connector_is_started_whatever_was_asked_of_the_one_before() -> None:
    store, _, _ = opened(PAUSED)
    store.put_connector("a", CONFIG).result()
    assert store.snapshot().target_state("a") is TargetState.STARTED


def test_a_connector_that_is_changed_keeps_its_state() -> None:
    store, _, _ = opened(CONNECTOR, PAUSED)
    store.put_connector("a", {"changed": "yes"}).result()
    assert store.snapshot().target_state("a") is TargetState.PAUSED


def test_names_with_dashes_are_told_apart() -> None:
    other = LogRecord(b"connector-a-1", b'{"properties":{}}')
    store, _, _ = opened(CONNECTOR, other, LogRecord(b"task-a-1-0", b'{"properties":{"k":"x"}}'))
    store.put_task_configs("a", [{"k": "0"}, {"k": "1"}]).result()
    store.put_task_configs("a-1", [{"k": "x"}]).result()
    assert store.snapshot().task_configs("a") == [{"k": "0"}, {"k": "1"}]
    assert store.snapshot().task_configs("a-1") == [{"k": "x"}]


def test_new_task_configs_ask_for_fencing_until_the_task_count_is_noted() -> None:
    store, _, _ = opened(CONNECTOR, task(0), task(1), COMMIT_TWO)
    assert store.snapshot().entries["a"].pending_fencing
    store.put_task_count("a", 2).result()
    entry = store.snapshot().entries["a"]
    assert (entry.pending_fencing, entry.fenced_tasks) == (False, 2)


def test_a_restart_that_a_crash_interrupted_is_pending_until_it_is_finished() -> None:
    store, log, _ = opened(CONNECTOR)
    store.put_restart("a", only_failed=False, include_tasks=True).result()
    store.put_restart("gone", only_failed=False, include_tasks=True).result()
    assert store.pending_restarts() == [], "this worker was told of it"
    again, _, heard = opened(*log.records)
    assert again.pending_restarts() == [Restart("a", only_failed=False, include_tasks=True)]
    assert heard.events == []
    again.finish_restart("a").result()
    assert again.pending_restarts() == []


def test_restart_flags_that_are_no_booleans_are_false() -> None:
    _, log, heard = opened(CONNECTOR)
    log.append([LogRecord(b"restart-connector-a", b'{"include-tasks":"true","only-failed":true}')])
    assert heard.events == [("restart", Restart("a", only_failed=True, include_tasks=False))]


@pytest.mark.parametrize(
    "record",
    [
        LogRecord(b"connector-a", b"no json"),
        LogRecord(b"connector-a", b'{"properties":[]}'),
        LogRecord(b"connector-a", b"{}"),
        LogRecord(b"task-a-x", b'{"properties":{}}'),
        LogRecord(b"task-a-0", None),
        LogRecord(b"commit-b", b'{"tasks":"1"}'),
        LogRecord(b"session-key", None),
        LogRecord(b"session-key", b'{"key":"###"}'),
        LogRecord(b"logger-cluster-x", b"{}"),
        LogRecord(b"restart-connector-a", b"[]"),
        LogRecord(b"something-else", b"{}"),
        LogRecord(b"\xff", b"{}"),
    ],
)
def test_records_that_make_no_sense_are_logged_and_ignored(record: LogRecord, caplog: pytest.LogCaptureFixture) -> None:
    store, log, heard = opened(LogRecord(b"connector-b", b'{"properties":{}}'))
    log.append([record])
    assert store.snapshot().connectors() == ["b"]
    assert heard.events == []
    assert len(caplog.records) == 1
