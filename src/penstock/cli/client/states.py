"""Statuses of connectors as the API tells them, summed up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .problems import Refused

if TYPE_CHECKING:
    from rich.text import Text

    from .api import ConnectApi

Status = Mapping[str, Any]

MANY = 4


def status_of(api: ConnectApi, name: str) -> Status | None:
    """The status of a connector; ``None`` while it has none, as right after it was created or deleted."""
    try:
        found: Status = api.get("connectors", name, "status")
    except Refused as error:
        if error.status == 404:
            return None
        raise
    return found


def statuses_of(api: ConnectApi, names: Sequence[str]) -> dict[str, Status | None]:
    """Statuses of several connectors, in one request where that is cheaper."""
    if len(names) < MANY:
        return {name: status_of(api, name) for name in names}
    found = api.get("connectors", expand="status")
    return {name: found[name].get("status") if name in found else None for name in names}


def state(status: Status | None) -> str:
    """The state of the connector itself."""
    return "UNASSIGNED" if status is None else str(status["connector"]["state"])


def task_states(status: Status | None) -> list[str]:
    return [] if status is None else [task["state"] for task in status["tasks"]]


def tasks_text(status: Status | None) -> Text:
    """How many tasks are in which state, the worst first."""
    from rich.text import Text

    from .screen import STYLES

    counts = Counter(task_states(status))
    order = sorted(counts, key=lambda one: (one != "FAILED", one))
    text = Text("" if counts else "none", style="" if counts else "dim")
    for number, one in enumerate(order):
        text.append(", " if number else "")
        text.append(f"{counts[one]} {one}", style=STYLES.get(one, ""))
    return text


def failures(status: Status | None) -> list[tuple[str, str]]:
    """(what failed, its trace) for the connector and its tasks."""
    if status is None:
        return []
    parts = [("connector", status["connector"]), *((f"task {task['id']}", task) for task in status["tasks"])]
    return [(what, part.get("trace") or "") for what, part in parts if part["state"] == "FAILED"]
