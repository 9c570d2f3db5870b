"""Statuses as this worker writes and shows them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from penstock.storage.status_store import StatusStore, TopicUse

from .requests import ComponentStatus, ConnectorStatus, State, TaskId

_SAFE = (State.UNASSIGNED, State.FAILED)
HELD = (State.RUNNING, State.PAUSED, State.RESTARTING)
"""States that only a worker that is there can have given."""


class Statuses:
    """Puts the worker's name and plugin versions on every status, and reads them in the shapes of the API.

    ``observe`` is told of every state that is written: (connector, task or ``None``, state).
    """

    def __init__(
        self,
        store: StatusStore,
        worker_id: str,
        version: Callable[[str], str | None],
        kind: Callable[[str], str],
    ) -> None:
        self._store = store
        self._worker_id = worker_id
        self._version = version
        self._kind = kind
        self._noting: set[tuple[str, str]] = set()
        self.generation: Callable[[], int] = lambda: 0
        self.observe: Callable[[str, int | None, State], None] = lambda name, task, state: None

    def connector(self, name: str, state: State, trace: str | None = None) -> Future[None]:
        """Write a connector's state; an end or a failure only if no newer owner has written one."""
        self.observe(name, None, state)
        write = self._store.put_connector_safe if state in _SAFE else self._store.put_connector
        return write(name, self._status(name, state, trace))

    def task(self, task: TaskId, state: State, trace: str | None = None) -> Future[None]:
        """Write a task's state; an end or a failure only if no newer owner has written one."""
        self.observe(task.connector, task.task, state)
        write = self._store.put_task_safe if state in _SAFE else self._store.put_task
        return write(task.connector, task.task, self._status(task.connector, state, trace))

    def forget_task(self, task: TaskId) -> Future[None]:
        """The task is no more."""
        return self.task(task, State.DESTROYED)

    def forget_tasks(self, name: str, beyond: int = 0) -> Future[None]:
        """The connector has no tasks with this number or above any more."""
        return self._store.forget_tasks(name, beyond)

    def forget(self, name: str) -> Future[None]:
        """The connector is no more: its status, its tasks' and its topics go together."""
        self.observe(name, None, State.DESTROYED)
        return self._store.forget_connector(name)

    def forget_former(self, name: str, tasks: int) -> None:
        """The connector is no more, but there is a new one of its name, with so many tasks: its status stays."""
        self.observe(name, None, State.DESTROYED)
        self._store.reset_topics(name)
        self._store.forget_tasks(name, tasks)

    def of(self, name: str) -> ConnectorStatus | None:
        """The status of a connector and its tasks, if there is any."""
        connector = self._store.connector(name)
        if connector is None:
            return None
        return ConnectorStatus(name, connector, self._store.tasks(name), self._kind(name))

    def of_task(self, task: TaskId) -> Mapping[str, Any] | None:
        """The status of one task, in the shape of the API."""
        status = self._store.task(task.connector, task.task)
        if status is None:
            return None
        shown: dict[str, Any] = {"id": task.task, "state": status.state.value, "worker_id": status.worker_id}
        if status.version is not None:
            shown["version"] = status.version
        if status.trace:
            shown["trace"] = status.trace
        return shown

    def recover(self, known: Collection[str]) -> None:
        """After a crash: nothing runs yet, whatever was written last, and deleted connectors have no status."""
        for name in self._store.connectors():
            if name not in known:
                self._store.forget_connector(name)
                continue
            connector = self._store.connector(name)
            if connector is not None and connector.state in (State.RUNNING, State.RESTARTING):
                self.connector(name, State.UNASSIGNED)
            for number, status in self._store.tasks(name):
                if status.state in (State.RUNNING, State.RESTARTING):
                    self.task(TaskId(name, number), State.UNASSIGNED)

    def disown(self, alive: Collection[str]) -> None:
        """What is shown as running on a worker that is not ``alive`` does not run."""
        for name, number in list(self.abandoned(alive)):
            if number is None:
                self._store.put_connector(name, self._status(name, State.UNASSIGNED, None))
            else:
                self._store.put_task(name, number, self._status(name, State.UNASSIGNED, None))

    def abandoned(self, alive: Collection[str]) -> Iterator[tuple[str, int | None]]:
        """Connectors (without a number) and tasks that are shown as running on workers that are not ``alive``.

        A worker that leaves in good order says of all it had that it runs no more.
        """
        for name in self._store.connectors():
            connector = self._store.connector(name)
            if connector is not None and connector.state in HELD and connector.worker_id not in alive:
                yield name, None
            for number, status in self._store.tasks(name):
                if status.state in HELD and status.worker_id not in alive:
                    yield name, number

    def runs_elsewhere(self, name: str) -> bool:
        """Whether another worker shows a task of a connector as its own."""
        return any(
            status.state in HELD and status.worker_id != self._worker_id for _, status in self._store.tasks(name)
        )

    def shown(self) -> Mapping[str, Sequence[int]]:
        """Every connector that has a status, with the tasks that have one."""
        return {name: [number for number, _ in self._store.tasks(name)] for name in self._store.connectors()}

    def forget_gone(self, shown: Mapping[str, Sequence[int]], task_counts: Mapping[str, int]) -> None:
        """Of what was ``shown`` before the config topic was read to its end, forget what is not configured."""
        for name, tasks in shown.items():
            if name not in task_counts:
                self.forget(name)
                continue
            for number in tasks:
                if number >= task_counts[name]:
                    self.forget_task(TaskId(name, number))

    def use_topic(self, task: TaskId, topic: str) -> None:
        """Remember that a connector uses a topic; only the first time, here or on another worker, costs anything."""
        used = (task.connector, topic)
        if used in self._noting or self._store.topic(task.connector, topic) is not None:
            return
        self._noting.add(used)
        noted = self._store.put_topic(TopicUse(topic, task.connector, task.task, int(time.time() * 1000)))
        noted.add_done_callback(lambda _: self._noting.discard(used))

    def topics(self, name: str) -> Sequence[str]:
        """The topics a connector has used."""
        return [use.topic for use in self._store.topics(name)]

    def reset_topics(self, name: str) -> Future[None]:
        """Forget the topics of a connector; those still in use come back with their next batch."""
        return self._store.reset_topics(name)

    def _status(self, name: str, state: State, trace: str | None) -> ComponentStatus:
        return ComponentStatus(state, self._worker_id, trace, self._version(name), self.generation())
