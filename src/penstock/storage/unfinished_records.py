"""What the config log remembers of changes to a connector and its offsets that no single write can make.

A change is noted before its first write and crossed out with its last one, so that a note found later tells of a
change that a crash has cut in two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .json_records import to_json
from .log import LogRecord
from .states import TargetState

UNFINISHED = "unfinished-"

Config = Mapping[str, str | None]
Offset = tuple[Mapping[str, Any], Mapping[str, Any] | None]


class Step(Enum):
    """How far a change has come."""

    CREATING = "creating"
    """Offsets are being written for a connector that is not there yet: to be taken back."""

    STOPPING = "stopping"
    """A connector was stopped so that it can be deleted with its offsets: to be taken back."""

    DELETING = "deleting"
    """The offsets of a connector that will be deleted are being forgotten: to be completed."""


@dataclass(frozen=True)
class Unfinished:
    """A change in progress. ``offsets`` are those before a creation, ``state`` the one before a deletion."""

    connector: str
    step: Step
    config: Config
    offsets: Sequence[Offset] = ()
    state: TargetState = TargetState.STARTED


def unfinished_record(change: Unfinished) -> LogRecord:
    value = {
        "step": change.step.value,
        "config": dict(change.config),
        "offsets": [[partition, offset] for partition, offset in change.offsets],
        "state": change.state.value,
    }
    return LogRecord((UNFINISHED + change.connector).encode(), to_json(value))


def finished_record(connector: str) -> LogRecord:
    return LogRecord((UNFINISHED + connector).encode(), None)


def read_unfinished(connector: str, value: Any) -> Unfinished:
    return Unfinished(
        connector,
        Step(value["step"]),
        dict(value["config"]),
        [(dict(partition), offset) for partition, offset in value["offsets"]],
        TargetState(value["state"]),
    )
