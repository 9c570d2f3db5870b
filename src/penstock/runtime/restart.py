"""KIP-745: from a request and the statuses to what will be restarted. No side effects."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .requests import ConnectorStatus, RestartRequest, State


@dataclass(frozen=True)
class RestartPlan:
    """What a restart request will do, and the status it is answered with."""

    restart_connector: bool
    restart_tasks: tuple[int, ...]
    status: ConnectorStatus


def plan_restart(request: RestartRequest, status: ConnectorStatus) -> RestartPlan:
    """The connector unless only failed parts are wanted and it is fine; tasks only when included."""

    def chosen(state: State) -> bool:
        return not request.only_failed or state is State.FAILED

    connector = chosen(status.connector.state)
    tasks = tuple(task for task, part in status.tasks if request.include_tasks and chosen(part.state))
    shown = replace(
        status,
        connector=replace(status.connector, state=State.RESTARTING, trace=None) if connector else status.connector,
        tasks=[
            (task, replace(part, state=State.RESTARTING, trace=None) if task in tasks else part)
            for task, part in status.tasks
        ],
    )
    return RestartPlan(connector, tasks, shown)


def impact(request: RestartRequest) -> int:
    """Of two requests waiting for one connector, the one with the higher impact stays."""
    return 2 * (not request.only_failed) + request.include_tasks
