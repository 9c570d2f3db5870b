"""What the config log remembers of pipeline files: which pipeline of which file declared a connector, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .json_records import to_json
from .log import LogRecord
from .states import TargetState

PIPELINE = "pipeline-"

Config = Mapping[str, str | None]


@dataclass(frozen=True)
class Declaration:
    """A connector as a pipeline file declared it when it was last applied.

    ``origin`` is ``worker`` for the worker's own files (``pipelines.path``) and ``api`` for files that were sent to
    it. ``state`` is ``None`` where the file says nothing of it. Whatever differs from ``config`` and ``state`` now was
    changed by somebody else.
    """

    pipeline: str
    file: str
    origin: str
    config: Config
    state: TargetState | None = None
    description: str = ""


def declaration_record(connector: str, declaration: Declaration | None) -> LogRecord:
    value = None if declaration is None else to_json(_value(declaration))
    return LogRecord((PIPELINE + connector).encode(), value)


def read_declaration(value: Any) -> Declaration:
    state = value.get("state")
    return Declaration(
        pipeline=value["pipeline"],
        file=value["file"],
        origin=value["origin"],
        config=dict(value["config"]),
        state=None if state is None else TargetState(state),
        description=value.get("description", ""),
    )


def _value(declaration: Declaration) -> dict[str, Any]:
    return {
        "pipeline": declaration.pipeline,
        "file": declaration.file,
        "origin": declaration.origin,
        "config": dict(declaration.config),
        "state": None if declaration.state is None else declaration.state.value,
        "description": declaration.description,
    }
