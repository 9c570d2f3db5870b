"""The states of connectors and tasks: what is wanted, what is, and what is told about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class TargetState(Enum):
    """What the user wants of a connector."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class State(Enum):
    """What a connector or task is doing."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    DESTROYED = "DESTROYED"


@dataclass(frozen=True)
class ComponentStatus:
    """The state of a connector or task. ``trace`` is only shown when set; ``version`` when known."""

    state: State
    worker_id: str
    trace: str | None = None
    version: str | None = None
    generation: int = 0
