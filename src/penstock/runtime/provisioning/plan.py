"""A plan as people and programs see it: nothing secret, nothing that could be done with it by accident."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.runtime.requests import TargetState

from .problems import Problem

CREATE = "create"
UPDATE = "update"
STATE = "state"
CLAIM = "claim"
DELETE = "delete"
CREATE_TOPIC = "create-topic"
CHANGE_TOPIC = "change-topic"

STATE_WORDS = {TargetState.STARTED: "running", TargetState.PAUSED: "paused", TargetState.STOPPED: "stopped"}


@dataclass(frozen=True)
class KeyChange:
    """One key, secrets hidden. ``drift``: somebody else changed it since the file was applied."""

    key: str
    before: str | None
    after: str | None
    drift: bool = False


@dataclass(frozen=True)
class StateChange:
    """``running``, ``paused`` or ``stopped``; ``before`` is ``None`` for a connector that is not there yet."""

    before: str | None
    after: str
    drift: bool = False


@dataclass(frozen=True)
class ExpectedHook:
    """A lifecycle hook that will be called, with what, secrets hidden. ``when`` says what it waits for."""

    hook: str
    when: str
    before: Mapping[str, str | None] | None = None
    after: Mapping[str, str | None] | None = None


@dataclass(frozen=True)
class Change:
    """One action of a plan.

    ``action`` is ``create``, ``update``, ``state``, ``claim`` (nothing but the file it belongs to), ``delete``,
    ``create-topic`` or ``change-topic``. ``effect`` is what running tasks feel: ``starts``, ``restarts``, ``pauses``,
    ``stops``, ``ends`` or ``nothing``. ``notes`` say what is kept and what is lost.
    """

    action: str
    name: str
    pipeline: str
    file: str
    summary: str
    effect: str = "nothing"
    keys: Sequence[KeyChange] = ()
    state: StateChange | None = None
    hooks: Sequence[ExpectedHook] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Plan:
    """What applying would do, in order. ``hash`` is ``None`` where there are errors: nothing can be applied then.

    ``refused`` says why applying it is refused unless it is told to delete many connectors.
    """

    hash: str | None
    changes: Sequence[Change] = ()
    unchanged: int = 0
    problems: Sequence[Problem] = field(default_factory=list)
    refused: str | None = None


@dataclass(frozen=True)
class DeclaredConnector:
    """A connector of a pipeline. ``drift`` lists the keys, and ``status``, that are no longer as the file says."""

    name: str
    state: str
    drift: Sequence[str] = ()


@dataclass(frozen=True)
class DeclaredPipeline:
    """A pipeline that was applied; ``origin`` is ``worker`` or ``api``."""

    id: str
    description: str
    file: str
    origin: str
    connectors: Sequence[DeclaredConnector]


@dataclass(frozen=True)
class Declared:
    """``GET /pipelines``: what files have declared, and what is wrong with the worker's own files."""

    pipelines: Sequence[DeclaredPipeline]
    problems: Sequence[Problem] = field(default_factory=list)
