"""The health of connectors as one worker sees it."""

from __future__ import annotations

from collections.abc import Iterable

from .auto_restart import Attempts, AutoRestarts
from .health import ConnectorHealth, judge, judge_connector, judge_task
from .metrics import TaskMetrics
from .requests import ComponentStatus, State, TaskId
from .services import Services
from .worker import Worker


class HealthDesk:
    """Answers from memory; what runs on other workers is judged by its status alone. Any thread may ask."""

    def __init__(self, services: Services, worker: Worker, restarts: AutoRestarts) -> None:
        self._services = services
        self._worker = worker
        self._restarts = restarts
        self._stalled_seconds = services.config.health_stalled_after_ms / 1000

    def all(self, names: Iterable[str]) -> dict[str, ConnectorHealth]:
        """Connectors by name."""
        here = {measured.task: measured.metrics for measured in self._worker.measured()}
        return {name: self._of(name, here) for name in names}

    def _of(self, name: str, here: dict[TaskId, TaskMetrics]) -> ConnectorHealth:
        services, me = self._services, self._services.config.worker_id
        status = services.statuses.of(name)
        if status is None:
            unknown = judge_connector(ComponentStatus(State.UNASSIGNED, me), Attempts())
            return judge(name, services.connector_type_of(name), unknown, ())
        connector = judge_connector(status.connector, self._restarts.of(name), live=status.connector.worker_id == me)
        tasks = [
            judge_task(
                number,
                task,
                self._restarts.of(name, number),
                self._metrics(TaskId(name, number), task, here),
                self._stalled_seconds,
            )
            for number, task in status.tasks
        ]
        return judge(name, status.type, connector, tasks)

    def _metrics(self, task: TaskId, status: ComponentStatus, here: dict[TaskId, TaskMetrics]) -> TaskMetrics | None:
        """What a task that belongs here has counted: nothing, when it could not even be made."""
        mine = status.worker_id == self._services.config.worker_id
        return here.get(task, TaskMetrics()) if mine else None
