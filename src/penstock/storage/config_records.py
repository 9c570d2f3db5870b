"""Keys and values of the config log, as Kafka Connect writes them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .json_records import to_json
from .log import LogRecord
from .states import TargetState

TARGET_STATE = "target-state-"
CONNECTOR = "connector-"
TASK = "task-"
COMMIT = "commit-"
RESTART = "restart-connector-"
FENCING = "tasks-fencing-"
SESSION_KEY = "session-key"
LOGGER = "logger-cluster-"
LEADERS = tuple(prefix.encode() for prefix in (CONNECTOR, TASK, COMMIT, RESTART, FENCING, SESSION_KEY))

Config = Mapping[str, str | None]


@dataclass(frozen=True)
class SessionKey:
    """Signs requests between workers."""

    key: bytes
    algorithm: str
    created: int


@dataclass(frozen=True)
class Restart:
    """A durable request to restart a connector."""

    connector: str
    only_failed: bool
    include_tasks: bool


def is_leaders(record: LogRecord) -> bool:
    """Whether only the leader of a cluster may write it; the others any worker.

    What it says of an incarnation is written together with such a record.
    """
    return record.key.startswith(LEADERS)


def connector_record(name: str, config: Config | None) -> LogRecord:
    return _record(CONNECTOR + name, None if config is None else {"properties": dict(config)})


def task_record(connector: str, task: int, config: Mapping[str, str | None]) -> LogRecord:
    return _record(f"{TASK}{connector}-{task}", {"properties": dict(config)})


def commit_record(connector: str, tasks: int) -> LogRecord:
    return _record(COMMIT + connector, {"tasks": tasks})


def target_state_record(connector: str, state: TargetState | None) -> LogRecord:
    """``state`` is what old workers read: they know PAUSED, not STOPPED."""
    if state is None:
        return _record(TARGET_STATE + connector, None)
    old = TargetState.PAUSED if state is TargetState.STOPPED else state
    return _record(TARGET_STATE + connector, {"state": old.value, "state.v2": state.value})


def restart_record(restart: Restart) -> LogRecord:
    value = {"include-tasks": restart.include_tasks, "only-failed": restart.only_failed}
    return _record(RESTART + restart.connector, value)


def restart_finished_record(connector: str) -> LogRecord:
    return _record(RESTART + connector, None)


def fencing_record(connector: str, tasks: int) -> LogRecord:
    return _record(FENCING + connector, {"task-count": tasks})


def session_key_record(key: SessionKey) -> LogRecord:
    text = base64.b64encode(key.key).decode("ascii")
    return _record(SESSION_KEY, {"key": text, "algorithm": key.algorithm, "creation-timestamp": key.created})


def logger_record(namespace: str, level: str) -> LogRecord:
    return _record(LOGGER + namespace, {"level": level})


def read_session_key(value: Any) -> SessionKey:
    return SessionKey(base64.b64decode(value["key"]), value["algorithm"], int(value["creation-timestamp"]))


def read_target_state(value: Any) -> TargetState:
    """``state.v2`` where it is a string, else ``state``; raises for what is neither."""
    newer = value.get("state.v2")
    return TargetState(newer if isinstance(newer, str) else value["state"])


def read_restart(connector: str, value: Any) -> Restart:
    """Flags that are no booleans count as false."""
    if not isinstance(value, dict):
        raise ValueError("a restart request must be an object")
    return Restart(connector, value.get("only-failed") is True, value.get("include-tasks") is True)


def read_properties(value: Any) -> dict[str, str | None]:
    properties = value["properties"]
    if not isinstance(properties, dict):
        raise ValueError("'properties' must be an object")
    return properties


def read_count(value: Any, field: str) -> int:
    count = value[field]
    if isinstance(count, bool) or not isinstance(count, int):
        raise ValueError(f"'{field}' must be an integer, not {count!r}")
    return count


def _record(key: str, value: Any) -> LogRecord:
    return LogRecord(key.encode(), None if value is None else to_json(value))
