"""The rules by which records of the config log become state."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import config_records as records
from .config_records import Config, Restart, SessionKey
from .config_snapshot import ConfigSnapshot, ConnectorEntry
from .incarnations import Incarnations
from .json_records import from_json
from .lifecycle_records import CLEANUP, HOOKS, INCARNATION, LIFECYCLE, read_cleanup, read_incarnation, read_lifecycle
from .log import LogRecord
from .pipeline_records import PIPELINE, Declaration, read_declaration
from .states import TargetState
from .unfinished_records import UNFINISHED, Unfinished, read_unfinished

logger = logging.getLogger(__name__)

Notice = Callable[["ConfigListener"], None]


class ConfigListener:
    """Told of changes after the catch-up, on the log's thread: be quick, never block. Override what you need."""

    def connector_updated(self, connector: str) -> None:
        """A connector config was written, for a new name or a known one."""

    def connector_removed(self, connector: str) -> None:
        """A connector was deleted."""

    def tasks_updated(self, connector: str) -> None:
        """Task configs were committed."""

    def target_state_changed(self, connector: str) -> None:
        """The target state of an existing connector is another one now."""

    def restart_requested(self, restart: Restart) -> None:
        """Somebody asked for a restart with flags."""

    def session_key_changed(self, key: SessionKey) -> None:
        """Requests between workers are signed with another key from now on."""

    def logger_level_set(self, namespace: str, level: str) -> None:
        """A log level was set for the whole cluster."""

    def lifecycle_changed(self, connector: str) -> None:
        """Hooks of a connector, or clean-ups after it, have come further."""


class ConfigReader:
    """Applies records in order. Not thread-safe: the store guards it."""

    def __init__(self) -> None:
        self._connectors: dict[str, ConnectorEntry] = {}
        self._target_states: dict[str, TargetState] = {}
        self._buffered: dict[str, dict[int, Config]] = {}
        self._fenced: dict[str, int] = {}
        self._session_key: SessionKey | None = None
        self.incarnations = Incarnations()
        self._declarations: dict[str, Declaration] = {}
        self._unfinished: dict[str, Unfinished] = {}
        self._position = 0
        self.restarts: dict[str, Restart] = {}
        self._readers: list[tuple[str, Callable[[str, Any], Notice | None]]] = [
            (records.TARGET_STATE, self._target_state),
            (records.CONNECTOR, self._connector),
            (records.TASK, self._task),
            (records.COMMIT, self._commit),
            (records.RESTART, self._restart),
            (records.FENCING, self._fencing),
            (records.SESSION_KEY, self._session),
            (records.LOGGER, self._logger),
            (INCARNATION, self._incarnation),
            (LIFECYCLE, self._lifecycle),
            (HOOKS, self._lifecycle),
            (CLEANUP, self._cleanup),
            (PIPELINE, self._declaration),
            (UNFINISHED, self._unfinished_change),
        ]

    def snapshot(self) -> ConfigSnapshot:
        hooks = self.incarnations.view()
        return ConfigSnapshot(
            dict(self._connectors),
            self._position,
            self._session_key,
            hooks.lifecycles,
            hooks.cleanups,
            dict(self._declarations),
            dict(self._unfinished),
            hooks.incarnations,
            hooks.spent,
        )

    def apply(self, position: int, record: LogRecord) -> Notice | None:
        """Take in one record; the notice for listeners, if there is any. A record that makes no sense is logged."""
        self._position = position + 1
        try:
            key = record.key.decode()
            value = None if record.value is None else from_json(record.value)
            for prefix, reader in self._readers:
                if key.startswith(prefix):
                    return reader(key[len(prefix) :], value)
            logger.warning("Discarding a config record with an unknown key: %r", record.key)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            logger.error("Ignoring a config record with an unexpected value: key %r: %s", record.key, error)
        return None

    def _target_state(self, name: str, value: Any) -> Notice | None:
        entry = self._connectors.get(name)
        if value is None:
            self._target_states.pop(name, None)
            if entry:
                self._connectors[name] = replace(entry, target_state=TargetState.STARTED)
            return None
        state = records.read_target_state(value)
        self._target_states[name] = state
        if entry is None or entry.target_state is state:
            return None
        self._connectors[name] = replace(entry, target_state=state)
        return lambda listener: listener.target_state_changed(name)

    def _connector(self, name: str, value: Any) -> Notice | None:
        if value is None:
            self._forget(name)
            return lambda listener: listener.connector_removed(name)
        config, position = records.read_properties(value), self._position - 1
        entry = self._connectors.get(name)
        if entry:
            self._connectors[name] = replace(entry, config=config, written_at=position)
        else:
            state = self._target_states.get(name, TargetState.STARTED)
            fenced = self._fenced.get(name)
            self._connectors[name] = ConnectorEntry(config, state, fenced_tasks=fenced, written_at=position)
            self.incarnations.begin(name)
        return lambda listener: listener.connector_updated(name)

    def _forget(self, name: str) -> None:
        self._connectors.pop(name, None)
        self.incarnations.end(name)
        self._buffered.pop(name, None)
        self.restarts.pop(name, None)

    def _task(self, name: str, value: Any) -> Notice | None:
        connector, _, task = name.rpartition("-")
        if value is None:
            raise ValueError("a task configuration cannot be deleted")
        self._buffered.setdefault(connector, {})[int(task)] = records.read_properties(value)
        return None

    def _commit(self, name: str, value: Any) -> Notice | None:
        entry = self._connectors.get(name)
        if entry is None:
            logger.debug("Ignoring task configs of %s: the connector was deleted and compacted away", name)
            self._forget(name)
            return None
        count = records.read_count(value, "tasks")
        buffered = self._buffered.pop(name, {})
        changes: dict[str, Any] = {"task_count": count, "pending_fencing": True, "committed_at": self._position - 1}
        if all(task in buffered for task in range(count)):
            changes["tasks"] = [buffered[task] for task in range(count)]
            changes["applied"] = entry.config
            changes["inconsistent"] = False
            if buffered:
                changes["generation"] = entry.generation + 1
        else:
            logger.debug("Task configs of %s are incomplete: %d wanted, %d known", name, count, len(buffered))
            changes["inconsistent"] = True
        self._connectors[name] = replace(entry, **changes)
        return lambda listener: listener.tasks_updated(name)

    def _restart(self, name: str, value: Any) -> Notice | None:
        if value is None:
            self.restarts.pop(name, None)
            return None
        restart = records.read_restart(name, value)
        self.restarts[name] = restart
        return lambda listener: listener.restart_requested(restart)

    def _fencing(self, name: str, value: Any) -> Notice | None:
        count = records.read_count(value, "task-count")
        self._fenced[name] = count
        entry = self._connectors.get(name)
        if entry:
            self._connectors[name] = replace(entry, fenced_tasks=count, pending_fencing=False)
        return None

    def _session(self, name: str, value: Any) -> Notice | None:
        if name or value is None:
            raise ValueError("a session key must have a value")
        key = self._session_key = records.read_session_key(value)
        return lambda listener: listener.session_key_changed(key)

    def _logger(self, namespace: str, value: Any) -> Notice | None:
        level = value["level"]
        if not isinstance(level, str):
            raise ValueError("'level' must be a string")
        return lambda listener: listener.logger_level_set(namespace, level)

    def _incarnation(self, name: str, value: Any) -> Notice | None:
        self.incarnations.assign(name, None if value is None else read_incarnation(value))
        return None

    def _lifecycle(self, incarnation: str, value: Any) -> Notice | None:
        if value is None:
            name = self.incarnations.forget(incarnation)
        else:
            name, lifecycle = read_lifecycle(incarnation, value)
            self.incarnations.note(name, incarnation, lifecycle)
        return None if name is None else lambda listener: listener.lifecycle_changed(name)

    def _cleanup(self, cleanup_id: str, value: Any) -> Notice | None:
        if value is None:
            name = self.incarnations.finish(cleanup_id)
        else:
            name = self.incarnations.clean_up(read_cleanup(cleanup_id, value))
        return None if name is None else lambda listener: listener.lifecycle_changed(name)

    def _declaration(self, name: str, value: Any) -> Notice | None:
        if value is None:
            self._declarations.pop(name, None)
        else:
            self._declarations[name] = read_declaration(value)
        return None

    def _unfinished_change(self, name: str, value: Any) -> Notice | None:
        if value is None:
            self._unfinished.pop(name, None)
        else:
            self._unfinished[name] = read_unfinished(name, value)
        return None
