"""How connectors and tasks are, in one word and with the reason: judged from states, progress and restarts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from .auto_restart import Attempts
from .metrics import TaskMetrics
from .requests import ComponentStatus, State
from .traces import headline

HEALTHY, DEGRADED, STALLED, FAILED = "healthy", "degraded", "stalled", "failed"
"""It works; it works in part, or not yet; it does not come on; it does not work."""

FAILED_SHARE = 0.1
"""Where so many of the newest records have failed, a task works in part only."""

_REASONS = {
    State.PAUSED: "It is paused.",
    State.STOPPED: "It is stopped.",
    State.UNASSIGNED: "It is not started yet.",
    State.RESTARTING: "It is being restarted.",
    State.DESTROYED: "It is being removed.",
}


@dataclass(frozen=True)
class PartHealth:
    """A connector instance. ``restarts`` are automatic ones, ``next_restart`` is when the next is planned, in ms.

    ``live`` is false where only the last written status is known, as the worker that runs it could not be asked.
    """

    health: str
    reason: str | None
    state: str
    worker_id: str
    restarts: int = 0
    next_restart: int | None = None
    live: bool = True


@dataclass(frozen=True)
class TaskHealth:
    """The same of a task; ``last_progress`` is when its last batch was committed, in milliseconds since 1970."""

    id: int
    health: str
    reason: str | None
    state: str
    worker_id: str
    last_progress: int | None = None
    restarts: int = 0
    next_restart: int | None = None
    live: bool = True


@dataclass(frozen=True)
class ConnectorHealth:
    """``GET /connectors/{name}/health``: ``health`` is ``healthy``, ``degraded``, ``stalled`` or ``failed``."""

    name: str
    type: str
    health: str
    reason: str | None
    last_progress: int | None
    restarts: int
    connector: PartHealth
    tasks: Sequence[TaskHealth]


def judge_connector(status: ComponentStatus, attempts: Attempts, live: bool = True) -> PartHealth:
    """A connector instance."""
    health, reason = _of_state(status, attempts)
    return PartHealth(health, reason, status.state.value, status.worker_id, attempts.total, attempts.next_try, live)


def judge_task(
    number: int, status: ComponentStatus, attempts: Attempts, metrics: TaskMetrics | None, stalled_seconds: float
) -> TaskHealth:
    """A task; without ``metrics`` it does not run here."""
    health, reason = _of_state(status, attempts)
    if metrics is not None and status.state is State.RUNNING:
        health, reason = _of_progress(metrics, stalled_seconds)
    progress = None if metrics is None or metrics.last_progress is None else int(metrics.last_progress * 1000)
    return TaskHealth(
        number,
        health,
        reason,
        status.state.value,
        status.worker_id,
        progress,
        attempts.total,
        attempts.next_try,
        metrics is not None,
    )


def judge(name: str, kind: str, connector: PartHealth, tasks: Sequence[TaskHealth]) -> ConnectorHealth:
    """All of a connector."""
    health, reason = _together(connector, tasks)
    progress = max((task.last_progress for task in tasks if task.last_progress is not None), default=None)
    restarts = connector.restarts + sum(task.restarts for task in tasks)
    return ConnectorHealth(name, kind, health, reason, progress, restarts, connector, tasks)


def _of_state(status: ComponentStatus, attempts: Attempts) -> tuple[str, str | None]:
    if status.state is State.RUNNING:
        return HEALTHY, None
    if status.state is State.FAILED:
        return FAILED, headline(status.trace) + _restarts(attempts)
    waiting = status.state not in (State.PAUSED, State.STOPPED)
    return (DEGRADED if waiting else HEALTHY), status.trace or _REASONS[status.state]


def _restarts(attempts: Attempts) -> str:
    if attempts.given_up:
        return f" (given up after {attempts.made} automatic restarts)"
    if attempts.next_try is None:
        return ""
    number = f"{attempts.made + 1}" if attempts.limit is None else f"{attempts.made + 1} of {attempts.limit}"
    return f" (automatic restart {number} is to come)"


def _of_progress(metrics: TaskMetrics, stalled_seconds: float) -> tuple[str, str | None]:
    now = time.monotonic()
    troubled, busy = metrics.troubled_since, metrics.busy_since
    if troubled is not None:
        tells = f"It has been trying a batch again for {_shown(now - troubled)}: {headline(metrics.trouble)}"
        return (STALLED if now - troubled >= stalled_seconds else DEGRADED), tells
    if busy is not None and now - busy >= stalled_seconds:
        return STALLED, f"A batch has been in progress for {_shown(now - busy)}."
    read, failed = metrics.newest.counts
    if failed and failed >= FAILED_SHARE * read:
        return DEGRADED, _failing(metrics, read, failed)
    return HEALTHY, None


def _failing(metrics: TaskMetrics, read: int, failed: int) -> str:
    topic = metrics.dead_letter_topic
    share = f"{min(failed / read, 1):.0%} of the newest {read} records failed"
    where = f"they are dead letters in topic {topic}" if topic else "they were skipped and are in no dead letter topic"
    return f"{share}, {metrics.skipped} since the task was started: {where}."


def _shown(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _together(connector: PartHealth, tasks: Sequence[TaskHealth]) -> tuple[str, str | None]:
    bad = [task for task in tasks if task.health != HEALTHY]
    failed = [task for task in bad if task.health == FAILED]
    if connector.health == FAILED:
        works = any(task.state == State.RUNNING.value for task in tasks)
        return (DEGRADED if works else FAILED), f"The connector failed: {connector.reason}"
    if connector.health != HEALTHY:
        return connector.health, connector.reason
    if failed:
        count = "Its task" if len(tasks) == 1 else f"{len(failed)} of {len(tasks)} tasks"
        return (FAILED if len(failed) == len(tasks) else DEGRADED), f"{count} failed: {failed[0].reason}"
    stalled = next((task for task in bad if task.health == STALLED), None)
    worst = stalled or next(iter(bad), None)
    if worst is not None:
        return worst.health, f"Task {worst.id}: {worst.reason}"
    if connector.state == State.RUNNING.value and not tasks:
        return HEALTHY, "It has no tasks."
    return HEALTHY, connector.reason
