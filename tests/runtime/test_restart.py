"""KIP-745's matrix as a pure function."""

from __future__ import annotations

import itertools

import pytest

from penstock.runtime.requests import ComponentStatus, ConnectorStatus, RestartRequest, State
from penstock.runtime.restart import impact, plan_restart


def status(connector: State, *tasks: State) -> ConnectorStatus:
    parts = [
        (number, ComponentStatus(state, "w:1", "trace" if state is State.FAILED else None))
        for number, state in enumerate(tasks)
    ]
    return ConnectorStatus("c", ComponentStatus(connector, "w:1"), parts, "source")


RUNNING = status(State.RUNNING, State.RUNNING, State.RUNNING)
FAILED_CONNECTOR = status(State.FAILED, State.RUNNING)
FAILED_TASK = status(State.RUNNING, State.RUNNING, State.FAILED)


@pytest.mark.parametrize(
    ("only_failed", "include_tasks", "before", "connector", "tasks"),
    [
        (False, False, RUNNING, True, ()),
        (False, True, RUNNING, True, (0, 1)),
        (True, False, RUNNING, False, ()),
        (True, True, RUNNING, False, ()),
        (False, False, FAILED_CONNECTOR, True, ()),
        (True, False, FAILED_CONNECTOR, True, ()),
        (True, True, FAILED_CONNECTOR, True, ()),
        (False, True, FAILED_TASK, True, (0, 1)),
        (True, False, FAILED_TASK, False, ()),
        (True, True, FAILED_TASK, False, (1,)),
    ],
)
def test_what_is_restarted(
    only_failed: bool, include_tasks: bool, before: ConnectorStatus, connector: bool, tasks: tuple[int, ...]
) -> None:
    plan = plan_restart(RestartRequest("c", only_failed, include_tasks), before)
    assert (plan.restart_connector, plan.restart_tasks) == (connector, tasks)
    assert (plan.status.connector.state is State.RESTARTING) == connector
    assert {number for number, part in plan.status.tasks if part.state is State.RESTARTING} == set(tasks)
    assert all(part.trace is None for number, part in plan.status.tasks if number in tasks)


def test_impact_orders_requests_as_the_kip_does() -> None:
    ordered = sorted(
        itertools.product((False, True), (False, True)), key=lambda flags: impact(RestartRequest("c", *flags))
    )
    assert ordered == [(True, False), (True, True), (False, False), (False, True)]
