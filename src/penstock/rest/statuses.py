"""Statuses of connectors, with their automatic restarts where a connector asks for such.

Every other status is Kafka Connect's, key for key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping

from penstock.runtime.health import PartHealth, TaskHealth
from penstock.runtime.herder import Herder
from penstock.runtime.requests import NotFound
from penstock.runtime.restart_policy import PREFIX

from .answers import Answer, ok
from .health import healths
from .models import ComponentView, StatusView, TaskView, status_view
from .request import Request


def get_status(herder: Herder, request: Request) -> Answer | Awaitable[Answer]:
    view = status_view(herder.connector_status(request.name))
    return _with_restarts(herder, request, view) if may_restart(herder, request.name) else ok(view)


def get_task_status(herder: Herder, request: Request) -> Answer | Awaitable[Answer]:
    status = herder.task_status(request.name, request.task)
    if not may_restart(herder, request.name):
        return ok(status)
    return _with_restarts(herder, request, status_view(herder.connector_status(request.name)), request.task)


async def _with_restarts(herder: Herder, request: Request, view: StatusView, task: int | None = None) -> Answer:
    await add_restarts(herder, request, {request.name: view})
    return ok(view if task is None else next(one for one in view.tasks if one.id == task))


async def add_restarts(herder: Herder, request: Request, views: Mapping[str, StatusView]) -> None:
    """Tell how often parts were restarted by themselves, and when they will be. In a cluster, their workers know."""
    for name, health in (await healths(herder, request, list(views))).items():
        view, tasks = views[name], {task.id: task for task in health.tasks}
        _add(view.connector, health.connector)
        for task in view.tasks:
            if task.id in tasks:
                _add(task, tasks[task.id])


def may_restart(herder: Herder, name: str) -> bool:
    """Whether the configuration says something about automatic restarts."""
    try:
        return any(key.startswith(PREFIX) for key in herder.connector_info(name).config)
    except NotFound:
        return False


def _add(view: ComponentView | TaskView, health: PartHealth | TaskHealth) -> None:
    view.restarts, view.next_restart = health.restarts, health.next_restart
