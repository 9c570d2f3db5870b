"""What connectors and tasks are doing, and the topics they use."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from .json_records import from_json, to_json
from .log import Log, LogRecord
from .states import ComponentStatus, State

logger = logging.getLogger(__name__)

CONNECTOR = "status-connector-"
TASK = "status-task-"
TOPIC = "status-topic-"
TOPIC_CONNECTOR = ":connector-"


@dataclass(frozen=True)
class TopicUse:
    """A topic that a connector has used: which task was first, and when (milliseconds)."""

    topic: str
    connector: str
    task: int
    discovered: int


class StatusStore:
    """Statuses on a :class:`~penstock.storage.log.Log`. Reads answer from memory, on any thread.

    A write shows once the log has it. Where the log cannot keep it (a full disk), it shows all the same, and is
    written again together with the next one.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._connectors: dict[str, ComponentStatus] = {}
        self._tasks: dict[str, dict[int, ComponentStatus]] = {}
        self._topics: dict[str, dict[str, TopicUse]] = {}
        self._unsaved: dict[bytes, LogRecord] = {}

    def start(self) -> None:
        """Read everything; returns when the store is complete."""
        self._log.start(self._learn)

    def stop(self) -> None:
        self._log.stop()

    def connectors(self) -> Sequence[str]:
        """The connectors that have a status."""
        with self._lock:
            return sorted(self._connectors)

    def connector(self, name: str) -> ComponentStatus | None:
        with self._lock:
            return self._connectors.get(name)

    def task(self, connector: str, task: int) -> ComponentStatus | None:
        with self._lock:
            return self._tasks.get(connector, {}).get(task)

    def tasks(self, connector: str) -> Sequence[tuple[int, ComponentStatus]]:
        """Known tasks of a connector, by id."""
        with self._lock:
            return sorted(self._tasks.get(connector, {}).items())

    def topics(self, connector: str) -> Sequence[TopicUse]:
        """The topics a connector has used since the last reset, by name."""
        with self._lock:
            return [use for _, use in sorted(self._topics.get(connector, {}).items())]

    def topic(self, connector: str, topic: str) -> TopicUse | None:
        with self._lock:
            return self._topics.get(connector, {}).get(topic)

    def put_connector(self, name: str, status: ComponentStatus) -> Future[None]:
        """Write without looking; DESTROYED forgets the connector's status and those of its tasks."""
        return self._append([LogRecord((CONNECTOR + name).encode(), _value(status))])

    def put_connector_safe(self, name: str, status: ComponentStatus) -> Future[None]:
        """Write unless a newer worker generation has taken over; then end without writing."""
        if not _may_follow(self.connector(name), status):
            return _done()
        return self.put_connector(name, status)

    def put_task(self, connector: str, task: int, status: ComponentStatus) -> Future[None]:
        """Write without looking; DESTROYED forgets the task's status."""
        return self._append([LogRecord(f"{TASK}{connector}-{task}".encode(), _value(status))])

    def put_task_safe(self, connector: str, task: int, status: ComponentStatus) -> Future[None]:
        """Write unless a newer worker generation has taken over; then end without writing."""
        if not _may_follow(self.task(connector, task), status):
            return _done()
        return self.put_task(connector, task, status)

    def put_topic(self, use: TopicUse) -> Future[None]:
        """Remember that a connector uses a topic."""
        value = {
            "topic": {
                "name": use.topic,
                "connector": use.connector,
                "task": use.task,
                "discoverTimestamp": use.discovered,
            }
        }
        return self._append([LogRecord(_topic_key(use.topic, use.connector), to_json(value))])

    def reset_topics(self, connector: str) -> Future[None]:
        """Forget the topics of a connector."""
        return self._append([LogRecord(_topic_key(use.topic, connector), None) for use in self.topics(connector)])

    def forget_connector(self, name: str) -> Future[None]:
        """Forget a connector: its status, its tasks' and its topics, all or nothing."""
        records = [LogRecord(f"{TASK}{name}-{task}".encode(), None) for task, _ in self.tasks(name)]
        records += [LogRecord(_topic_key(use.topic, name), None) for use in self.topics(name)]
        return self._append([*records, LogRecord((CONNECTOR + name).encode(), None)])

    def forget_tasks(self, connector: str, beyond: int = 0) -> Future[None]:
        """Forget the tasks of a connector whose id is ``beyond`` or more."""
        gone = [task for task, _ in self.tasks(connector) if task >= beyond]
        return self._append([LogRecord(f"{TASK}{connector}-{task}".encode(), None) for task in gone])

    def _append(self, records: Sequence[LogRecord]) -> Future[None]:
        if not records:
            return _done()
        keys = {record.key for record in records}
        with self._lock:
            again = [record for key, record in self._unsaved.items() if key not in keys]
            self._unsaved.clear()
        batch = [*again, *records]
        future = self._log.append(batch)
        future.add_done_callback(lambda ended: self._note_end(ended, batch))
        return future

    def _note_end(self, ended: Future[None], batch: Sequence[LogRecord]) -> None:
        """Keep what could not be saved, until something newer is saved. Appends end in their order."""
        error = None if ended.cancelled() else ended.exception()
        if error is not None:
            logger.warning("%d status records could not be saved and will be tried again: %s", len(batch), error)
            self._learn([(-1, record) for record in batch])
        with self._lock:
            for record in batch:
                if error is None:
                    self._unsaved.pop(record.key, None)
                else:
                    self._unsaved[record.key] = record

    def _learn(self, entries: Sequence[tuple[int, LogRecord]]) -> None:
        with self._lock:
            for _, record in entries:
                try:
                    self._learn_one(record)
                except (ValueError, TypeError, KeyError, AttributeError) as error:
                    logger.error("Ignoring a status record with an unexpected format: key %r: %s", record.key, error)

    def _learn_one(self, record: LogRecord) -> None:
        key = record.key.decode()
        value = None if record.value is None else from_json(record.value)
        if key.startswith(CONNECTOR):
            self._learn_connector(key[len(CONNECTOR) :], value)
        elif key.startswith(TASK):
            connector, _, task = key[len(TASK) :].rpartition("-")
            self._learn_task(connector, int(task), value)
        elif key.startswith(TOPIC):
            topic, _, connector = key[len(TOPIC) :].partition(TOPIC_CONNECTOR)
            self._learn_topic(topic, connector, value)
        else:
            logger.warning("Discarding a status record with an unknown key: %r", record.key)

    def _learn_connector(self, name: str, value: Any) -> None:
        if value is None:
            self._connectors.pop(name, None)
            self._tasks.pop(name, None)
            return
        status = _status(value)
        if not _comes_late(self._connectors.get(name), status):
            self._connectors[name] = status

    def _learn_task(self, connector: str, task: int, value: Any) -> None:
        tasks = self._tasks.setdefault(connector, {})
        if value is None:
            tasks.pop(task, None)
            return
        status = _status(value)
        if not _comes_late(tasks.get(task), status):
            tasks[task] = status

    def _learn_topic(self, topic: str, connector: str, value: Any) -> None:
        uses = self._topics.setdefault(connector, {})
        if value is None:
            uses.pop(topic, None)
            return
        use = value["topic"]
        uses[topic] = TopicUse(use["name"], use["connector"], int(use["task"]), int(use["discoverTimestamp"]))


def _topic_key(topic: str, connector: str) -> bytes:
    return f"{TOPIC}{topic}{TOPIC_CONNECTOR}{connector}".encode()


def _may_follow(known: ComponentStatus | None, status: ComponentStatus) -> bool:
    return known is None or known.worker_id == status.worker_id or known.generation <= status.generation


def _comes_late(known: ComponentStatus | None, status: ComponentStatus) -> bool:
    """Whether an old owner says farewell to what a new owner runs already."""
    if status.state is not State.UNASSIGNED or known is None or known.state is not State.RUNNING:
        return False
    if known.worker_id == status.worker_id:
        return known.generation > status.generation
    return known.generation >= status.generation


def _value(status: ComponentStatus) -> bytes | None:
    if status.state is State.DESTROYED:
        return None
    return to_json(
        {
            "state": status.state.value,
            "trace": status.trace,
            "worker_id": status.worker_id,
            "generation": status.generation,
            "version": status.version,
        }
    )


def _status(value: Mapping[str, Any]) -> ComponentStatus:
    return ComponentStatus(
        State(value["state"]), value["worker_id"], value.get("trace"), value.get("version"), int(value["generation"])
    )


def _done() -> Future[None]:
    future: Future[None] = Future()
    future.set_result(None)
    return future
