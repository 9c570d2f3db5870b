"""What the leader knows of workers that are gone: those that left have said so, those that died have not."""

from __future__ import annotations

import pytest

from penstock.runtime.requests import State, TaskId
from penstock.runtime.statuses import Statuses
from penstock.storage.memory_log import MemoryLog
from penstock.storage.status_store import StatusStore


@pytest.fixture
def store() -> StatusStore:
    store = StatusStore(MemoryLog())
    store.start()
    return store


def statuses_of(store: StatusStore, worker: str) -> Statuses:
    return Statuses(store, worker, lambda name: "1.0", lambda name: "source")


def test_only_what_is_shown_as_running_on_dead_workers_is_abandoned(store: StatusStore) -> None:
    died, left, alive = (statuses_of(store, f"{name}:8083") for name in ("died", "left", "alive"))
    died.connector("a", State.RUNNING)
    died.task(TaskId("a", 0), State.PAUSED)
    died.task(TaskId("a", 1), State.FAILED, "trace")
    left.connector("b", State.RUNNING)
    left.connector("b", State.UNASSIGNED)
    alive.task(TaskId("b", 0), State.RUNNING)
    assert list(alive.abandoned({"alive:8083"})) == [("a", None), ("a", 0)]
    assert list(alive.abandoned({"alive:8083", "died:8083"})) == []


def test_what_was_abandoned_is_shown_as_unassigned(store: StatusStore) -> None:
    died, alive = statuses_of(store, "died:8083"), statuses_of(store, "alive:8083")
    died.connector("a", State.RUNNING)
    died.task(TaskId("a", 0), State.RUNNING)
    alive.generation = lambda: 2
    alive.disown({"alive:8083"})
    shown = alive.of("a")
    assert shown is not None
    assert (shown.connector.state, [task.state for _, task in shown.tasks]) == (State.UNASSIGNED, [State.UNASSIGNED])
    assert list(alive.abandoned({"alive:8083"})) == []


def test_of_a_connector_that_was_created_again_only_what_is_left_of_the_old_one_is_forgotten(
    store: StatusStore,
) -> None:
    statuses = statuses_of(store, "here:8083")
    statuses.connector("a", State.UNASSIGNED)
    for number in range(3):
        statuses.task(TaskId("a", number), State.RUNNING)
    statuses.use_topic(TaskId("a", 0), "lines")
    statuses.forget_former("a", 1)
    shown = statuses.of("a")
    assert shown is not None
    assert (shown.connector.state, [number for number, _ in shown.tasks]) == (State.UNASSIGNED, [0])
    assert statuses.topics("a") == []
