"""Statuses: Kafka Connect's records, the safe put, late farewells, and a log that fails."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

import pytest

from penstock.storage.log import LogRecord
from penstock.storage.memory_log import MemoryLog
from penstock.storage.states import ComponentStatus, State
from penstock.storage.status_store import StatusStore, TopicUse


def status(state: State, worker: str = "one:8083", generation: int = 0, trace: str | None = None) -> ComponentStatus:
    return ComponentStatus(state, worker, trace, "1.0", generation)


class FailingLog(MemoryLog):
    """Refuses appends while ``full``."""

    full = False

    def append(self, records: Sequence[LogRecord]) -> Future[None]:
        if not self.full:
            return super().append(records)
        failed: Future[None] = Future()
        failed.set_exception(OSError("no space"))
        return failed


@pytest.fixture
def log() -> FailingLog:
    return FailingLog()


@pytest.fixture
def store(log: FailingLog) -> StatusStore:
    store = StatusStore(log)
    store.start()
    return store


def restarted(log: MemoryLog) -> StatusStore:
    store = StatusStore(log)
    store.start()
    return store


def test_records_have_the_bytes_of_kafka_connect(store: StatusStore, log: FailingLog) -> None:
    store.put_connector("a-b", status(State.RUNNING, generation=3)).result()
    store.put_task("a-b", 1, ComponentStatus(State.FAILED, "w:1", "trace", None, 2)).result()
    store.put_topic(TopicUse("orders", "a-b", 1, 1700)).result()
    assert log.records == [
        LogRecord(
            b"status-connector-a-b",
            b'{"state":"RUNNING","trace":null,"worker_id":"one:8083","generation":3,"version":"1.0"}',
        ),
        LogRecord(
            b"status-task-a-b-1",
            b'{"state":"FAILED","trace":"trace","worker_id":"w:1","generation":2,"version":null}',
        ),
        LogRecord(
            b"status-topic-orders:connector-a-b",
            b'{"topic":{"name":"orders","connector":"a-b","task":1,"discoverTimestamp":1700}}',
        ),
    ]


def test_statuses_are_known_after_a_restart(store: StatusStore, log: FailingLog) -> None:
    store.put_connector("a", status(State.PAUSED)).result()
    store.put_task("a", 10, status(State.PAUSED)).result()
    store.put_task("a", 2, status(State.FAILED, trace="why")).result()
    store.put_topic(TopicUse("t", "a", 2, 5)).result()
    again = restarted(log)
    assert again.connector("a") == status(State.PAUSED)
    assert [task for task, _ in again.tasks("a")] == [2, 10]
    assert again.task("a", 2) == status(State.FAILED, trace="why")
    assert again.topics("a") == [TopicUse("t", "a", 2, 5)]


def test_a_status_of_an_older_writer_has_no_version(log: FailingLog) -> None:
    log.append([LogRecord(b"status-connector-a", b'{"state":"RUNNING","trace":null,"worker_id":"w","generation":1}')])
    assert restarted(log).connector("a") == ComponentStatus(State.RUNNING, "w", None, None, 1)


def test_a_safe_put_gives_way_to_another_worker_of_a_newer_generation(store: StatusStore) -> None:
    store.put_task("a", 0, status(State.RUNNING, "two:1", 5)).result()
    store.put_task_safe("a", 0, status(State.FAILED, "one:1", 4)).result()
    assert store.task("a", 0) == status(State.RUNNING, "two:1", 5)
    store.put_task_safe("a", 0, status(State.FAILED, "two:1", 4)).result()
    assert store.task("a", 0) == status(State.FAILED, "two:1", 4), "the same worker may"
    store.put_connector("a", status(State.RUNNING, "two:1", 5)).result()
    store.put_connector_safe("a", status(State.FAILED, "one:1", 5)).result()
    assert store.connector("a") == status(State.FAILED, "one:1", 5), "the same generation may"
    store.put_connector_safe("new", status(State.FAILED)).result()
    assert store.connector("new") == status(State.FAILED), "the first one may"


def test_a_late_farewell_of_the_old_owner_is_ignored(store: StatusStore) -> None:
    store.put_task("a", 0, status(State.RUNNING, "two:1", 5)).result()
    store.put_task("a", 0, status(State.UNASSIGNED, "one:1", 5)).result()
    assert store.task("a", 0) == status(State.RUNNING, "two:1", 5)
    store.put_task("a", 0, status(State.UNASSIGNED, "two:1", 5)).result()
    assert store.task("a", 0) == status(State.UNASSIGNED, "two:1", 5)


def test_destroyed_is_a_tombstone_and_takes_the_tasks_along(store: StatusStore, log: FailingLog) -> None:
    store.put_connector("a", status(State.RUNNING)).result()
    store.put_task("a", 0, status(State.RUNNING)).result()
    store.put_connector("a", status(State.DESTROYED)).result()
    assert log.records[-1] == LogRecord(b"status-connector-a", None)
    assert store.connector("a") is None
    assert store.tasks("a") == []
    assert store.connectors() == []


def test_forgetting_a_connector_leaves_nothing_of_it_and_all_of_its_namesakes(
    store: StatusStore, log: FailingLog
) -> None:
    for name in ("a", "a-0"):
        store.put_connector(name, status(State.RUNNING)).result()
        store.put_task(name, 0, status(State.RUNNING)).result()
        store.put_topic(TopicUse("t", name, 0, 1)).result()
    store.forget_connector("a").result()
    for seen in (store, restarted(log)):
        assert (seen.connector("a"), seen.tasks("a"), seen.topics("a")) == (None, [], [])
        assert seen.connectors() == ["a-0"]
        assert len(seen.tasks("a-0")) == len(seen.topics("a-0")) == 1


def test_tasks_beyond_a_count_can_be_forgotten(store: StatusStore) -> None:
    for task in range(4):
        store.put_task("a", task, status(State.RUNNING)).result()
    store.forget_tasks("a", beyond=2).result()
    assert [task for task, _ in store.tasks("a")] == [0, 1]


def test_topics_can_be_reset(store: StatusStore, log: FailingLog) -> None:
    store.put_topic(TopicUse("t", "a", 0, 1)).result()
    store.put_topic(TopicUse("u", "b", 0, 1)).result()
    store.reset_topics("a").result()
    assert store.topics("a") == []
    assert store.topic("a", "t") is None
    assert [use.topic for use in store.topics("b")] == ["u"]
    assert log.records[-1] == LogRecord(b"status-topic-t:connector-a", None)


def test_a_status_that_cannot_be_saved_shows_and_is_saved_with_the_next(store: StatusStore, log: FailingLog) -> None:
    store.put_connector("a", status(State.RUNNING)).result()
    log.full = True
    assert isinstance(store.put_connector("a", status(State.FAILED)).exception(), OSError)
    store.put_task("a", 0, status(State.RUNNING)).exception()
    store.put_task("a", 0, status(State.FAILED, trace="newest")).exception()
    assert store.connector("a") == status(State.FAILED)
    assert store.task("a", 0) == status(State.FAILED, trace="newest")
    log.full = False
    store.put_connector("b", status(State.RUNNING)).result()
    again = restarted(log)
    assert again.connector("a") == status(State.FAILED)
    assert again.task("a", 0) == status(State.FAILED, trace="newest")


@pytest.mark.parametrize(
    "record",
    [
        LogRecord(b"status-connector-x", b"no json"),
        LogRecord(b"status-connector-x", b'{"state":"DANCING","worker_id":"w","generation":1}'),
        LogRecord(b"status-task-x-y", b'{"state":"RUNNING","worker_id":"w","generation":1}'),
        LogRecord(b"status-topic-t:connector-x", b"[]"),
        LogRecord(b"other", b"{}"),
        LogRecord(b"\xff", b"{}"),
    ],
)
def test_records_that_make_no_sense_are_ignored(log: FailingLog, record: LogRecord) -> None:
    log.append([record])
    store = restarted(log)
    assert (store.connectors(), store.tasks("x"), store.topics("x")) == ([], [], [])
