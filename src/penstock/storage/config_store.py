"""Connector configs, task configs and target states: what the user wants, kept on a log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from . import config_records as records
from .config_reader import ConfigListener, ConfigReader
from .config_records import Config, Restart, SessionKey
from .config_snapshot import ConfigSnapshot, ConnectorEntry
from .lifecycle_records import (
    Cleanup,
    Lifecycle,
    cleanup_finished_record,
    cleanup_record,
    incarnation_record,
    lifecycle_record,
    new_incarnation,
)
from .log import Log, LogRecord
from .pipeline_records import Declaration, declaration_record
from .states import TargetState
from .unfinished_records import Unfinished, finished_record, unfinished_record

logger = logging.getLogger(__name__)

HISTORY = 10_000
"""How many replaced records a log that compacts at once should keep for this store (see ``SqliteLog``): a task commit
only counts after its connector's config, so moving configs to the end of the log loses tasks."""

__all__ = ["HISTORY", "Config", "ConfigListener", "ConfigSnapshot", "ConfigStore", "Restart", "SessionKey"]


class ConfigStore:
    """Every write is one atomic append; its future ends when it is durable and the snapshot shows it.

    Listeners hear of records written after :meth:`start`, in order.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._reader = ConfigReader()
        self._snapshot: ConfigSnapshot | None = None
        self._listeners: list[ConfigListener] = []
        self._caught_up = False
        self._pending: list[Restart] = []
        self._leaving: dict[str, Future[None]] = {}
        self._sweeping: Future[None] | None = None

    def listen(self, listener: ConfigListener) -> None:
        """Tell this listener of changes, too."""
        self._listeners.append(listener)

    def start(self) -> None:
        """Read everything; returns when the snapshot is complete."""
        self._log.start(self._learn)
        with self._lock:
            self._caught_up = True
            known = self._reader.snapshot()
            self._pending = [restart for name, restart in self._reader.restarts.items() if name in known]

    def stop(self) -> None:
        self._log.stop()

    def snapshot(self) -> ConfigSnapshot:
        """The state as of now; cheap, from any thread."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._reader.snapshot()
            return self._snapshot

    def pending_restarts(self) -> Sequence[Restart]:
        """Restart requests found at start that nobody marked as finished.

        A crash may have come between the request and the restart. Listeners are not told of them.
        """
        with self._lock:
            return [restart for restart in self._pending if self._reader.restarts.get(restart.connector) is restart]

    def put_connector(self, name: str, config: Config, target_state: TargetState | None = None) -> Future[None]:
        """Create or replace a connector, with its target state when one is given. That finishes a change of it.

        A new one without a state is started, whatever is said of an earlier connector of its name.
        """
        given = target_state is not None or name not in self.snapshot()
        state = [records.target_state_record(name, target_state)] if given else []
        changed = records.connector_record(name, config)
        return self._append([*state, *self._begun(name), changed, *self._finished(name)])

    def remove_connector(self, name: str) -> Future[None]:
        """Delete a connector, its tasks and target state, which ends its incarnation and finishes a change of it.

        What its hooks have noted stays: that is the clean-up, whoever knows of it by now.
        """
        snapshot = self.snapshot()
        gone = [records.connector_record(name, None), records.target_state_record(name, None)]
        if name in snapshot.incarnations:
            gone.append(incarnation_record(name, None))
        if name in snapshot.declarations:
            gone.append(declaration_record(name, None))
        removed = self._append([*gone, *self._finished(name)])
        self._leaving[name] = removed
        return removed

    def incarnation(self, name: str) -> str | None:
        """The id of a connector's life; ``None`` when there is no such connector, or it is being removed."""
        removed, snapshot = self.being_removed(name), self.snapshot()
        return snapshot.incarnation(name) if removed is None and name in snapshot else None

    def being_removed(self, name: str) -> Future[None] | None:
        """This store's removal of a connector that the snapshot does not show yet."""
        removed = self._leaving.get(name)
        return None if removed is None or removed.done() else removed

    def declare_connector(
        self, name: str, declaration: Declaration, config: Config | None = None, state: TargetState | None = None
    ) -> Future[None]:
        """Note who declares a connector, and create or change it; what is not given stays as it is."""
        states = [] if state is None else [records.target_state_record(name, state)]
        if state is TargetState.STOPPED and name in self.snapshot():
            states.append(records.commit_record(name, 0))
        configs = [] if config is None else [*self._begun(name), records.connector_record(name, config)]
        return self._append([*states, *configs, declaration_record(name, declaration)])

    def restore_connector(
        self,
        name: str,
        entry: ConnectorEntry,
        incarnation: str,
        declaration: Declaration | None,
    ) -> Future[None]:
        """Put a connector back as a snapshot showed it: it is the same one again, with all that its hooks have done."""
        back = [records.target_state_record(name, entry.target_state)]
        if incarnation != name:
            back.append(incarnation_record(name, incarnation))
        back.append(records.connector_record(name, entry.applied or entry.config))
        if entry.generation >= 0 and not entry.inconsistent:
            back += [records.task_record(name, task, config) for task, config in enumerate(entry.tasks)]
            back.append(records.commit_record(name, len(entry.tasks)))
        if entry.applied is not None and entry.applied != entry.config:
            back.append(records.connector_record(name, entry.config))
        return self._append([*back, declaration_record(name, declaration)])

    def put_task_configs(self, name: str, configs: Sequence[Config]) -> Future[None]:
        """Replace the tasks of a connector."""
        tasks = [records.task_record(name, task, config) for task, config in enumerate(configs)]
        return self._append([*tasks, records.commit_record(name, len(configs))])

    def put_target_state(self, name: str, state: TargetState) -> Future[None]:
        """Pause, resume or stop. To stop a connector with its tasks use :meth:`stop_connector`."""
        return self._append([records.target_state_record(name, state)])

    def stop_connector(self, name: str, change: Unfinished | None = None) -> Future[None]:
        """Zero tasks and the target state STOPPED, as a step of a change when one is given."""
        noted = [] if change is None else [unfinished_record(change)]
        stopped = records.target_state_record(name, TargetState.STOPPED)
        return self._append([*noted, records.commit_record(name, 0), stopped])

    def put_unfinished(self, change: Unfinished) -> Future[None]:
        """Note how far a change has come that takes several writes."""
        return self._append([unfinished_record(change)])

    def finish_change(self, name: str, target_state: TargetState | None = None) -> Future[None]:
        """Nothing is left to do or to take back of a change; a target state that it had altered is put back."""
        state = [] if target_state is None else [records.target_state_record(name, target_state)]
        return self._append([*state, finished_record(name)])

    def put_lifecycle(
        self, name: str, incarnation: str, lifecycle: Lifecycle | None, cleanup: Cleanup | None = None
    ) -> Future[None]:
        """Note how far the hooks of a connector have come, and a clean-up that follows from it."""
        left = [] if cleanup is None else [cleanup_record(cleanup)]
        return self._append([*left, lifecycle_record(name, incarnation, lifecycle)])

    def put_cleanup(self, cleanup: Cleanup) -> Future[None]:
        """Note how far a clean-up has come."""
        return self._append([cleanup_record(cleanup)])

    def finish_cleanup(self, cleanup: Cleanup) -> Future[None]:
        """The clean-up succeeded, or somebody gave it up: whatever is said of it later, it is not begun again."""
        ended = cleanup.incarnation
        over = [] if ended is None else [lifecycle_record(cleanup.connector, ended, None)]
        return self._append([cleanup_finished_record(cleanup.id), *over])

    def disown_calls(self, worker: str) -> Future[None]:
        """A worker that was started again knows nothing of the hooks that it called before: nobody waits for it."""
        with self._lock:
            disowned = self._reader.incarnations.disowned(worker)
        return self._append(disowned)

    def sweep(self) -> None:
        """Delete records of hooks that say nothing any more. Returns at once."""
        spent = self.snapshot().spent
        if spent and (self._sweeping is None or self._sweeping.done()):
            self._sweeping = self._append(spent)

    def put_restart(self, name: str, only_failed: bool, include_tasks: bool) -> Future[None]:
        """Ask for a restart; mark it with :meth:`finish_restart` when it is done."""
        return self._append([records.restart_record(Restart(name, only_failed, include_tasks))])

    def finish_restart(self, name: str) -> Future[None]:
        """The restart was carried out: a crash from now on need not repeat it."""
        return self._append([records.restart_finished_record(name)])

    def put_task_count(self, name: str, tasks: int) -> Future[None]:
        """Note how many tasks a round of zombie fencing covered."""
        return self._append([records.fencing_record(name, tasks)])

    def put_session_key(self, key: SessionKey) -> Future[None]:
        """Replace the key that signs requests between workers."""
        return self._append([records.session_key_record(key)])

    def put_logger_level(self, namespace: str, level: str) -> Future[None]:
        """Set a log level on every worker."""
        return self._append([records.logger_record(namespace, level)])

    def _finished(self, name: str) -> list[LogRecord]:
        """The last of all records: where they are appended one by one, a crash leaves the note for the next start."""
        return [finished_record(name)] if name in self.snapshot().unfinished else []

    def _begun(self, name: str) -> list[LogRecord]:
        """A connector that is not there yet begins an incarnation. Where records are appended one by one, its id is
        known before the connector is."""
        return [] if name in self.snapshot() else [incarnation_record(name, new_incarnation())]

    def _append(self, batch: Sequence[LogRecord]) -> Future[None]:
        return self._log.append(batch)

    def _learn(self, entries: Sequence[tuple[int, LogRecord]]) -> None:
        with self._lock:
            notices = [self._reader.apply(position, record) for position, record in entries]
            self._snapshot = None
            told = self._caught_up
        if not told:
            return
        for notice in filter(None, notices):
            for listener in self._listeners:
                try:
                    notice(listener)
                except Exception:
                    logger.exception("A listener failed on a change of the configuration")
