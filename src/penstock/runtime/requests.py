"""What callers of a herder give and get: plain values, and the errors that become HTTP answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.storage.states import ComponentStatus as ComponentStatus
from penstock.storage.states import State as State
from penstock.storage.states import TargetState as TargetState


class RequestError(Exception):
    """A request that cannot be done: ``status`` is its HTTP code, the text is for the user."""

    status = 500


class BadRequest(RequestError):
    status = 400


class Forbidden(RequestError):
    status = 403


class NotFound(RequestError):
    status = 404


class Conflict(RequestError):
    status = 409


class TimedOut(RequestError):
    """User code or the herder took longer than the limit."""

    status = 500


class StoreUnavailable(RequestError):
    """The worker cannot save anything at the moment; nothing of the request was done."""

    status = 503


@dataclass(frozen=True)
class TaskId:
    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


@dataclass(frozen=True)
class ConnectorInfo:
    """``GET /connectors/{name}``. ``type`` is ``source``, ``sink`` or ``unknown``."""

    name: str
    config: Mapping[str, str | None]
    tasks: Sequence[TaskId]
    type: str


@dataclass(frozen=True)
class CreatedConnector(ConnectorInfo):
    """A connector that was created with offsets; ``offsets_status`` tells what became of these (KIP-995)."""

    offsets_status: str


@dataclass(frozen=True)
class ConnectorStatus:
    """``GET /connectors/{name}/status``; tasks are (id, status), sorted."""

    name: str
    connector: ComponentStatus
    tasks: Sequence[tuple[int, ComponentStatus]]
    type: str


@dataclass(frozen=True)
class CreateRequest:
    """``POST /connectors``, body checked for shape only.

    ``offsets`` replace, before the first start, what is left of an earlier connector of this name.
    """

    name: str
    config: Mapping[str, str | None]
    initial_state: TargetState | None = None
    offsets: Sequence[OffsetEntry] | None = None


@dataclass(frozen=True)
class OffsetEntry:
    """One element of an offsets body; ``offset=None`` resets the partition."""

    partition: Mapping[str, Any] | None
    offset: Mapping[str, Any] | None


@dataclass(frozen=True)
class RestoredOffsets:
    """Offsets of a source that were written again, or would be, since their topic was deleted.

    ``deleted`` are topics that were found deleted, ``topics`` all that have offsets of the connector, ``offsets`` those
    that were missing there. ``message`` says it in words.
    """

    deleted: Sequence[str]
    topics: Sequence[str]
    offsets: Sequence[OffsetEntry]
    message: str


@dataclass(frozen=True)
class RestartRequest:
    """``POST /connectors/{name}/restart`` (KIP-745)."""

    connector: str
    only_failed: bool = False
    include_tasks: bool = False


@dataclass(frozen=True)
class PendingHook:
    """A lifecycle hook that is being called, or was called without success. Times are milliseconds."""

    hook: str
    since: int
    tries: int
    error: str | None = None


@dataclass(frozen=True)
class LifecycleInfo:
    """``GET /connectors/{name}/lifecycle``, secrets masked. ``next_hook`` is due at the next start.

    ``applied`` tells whether the tasks were made from the newest configuration: not yet right after a change, and not
    before the next start where the connector is paused or stopped.
    """

    name: str
    active: Mapping[str, str | None] | None
    pending: PendingHook | None
    next_hook: str | None
    applied: bool
    cleanups: Sequence[CleanupInfo] = ()


@dataclass(frozen=True)
class CleanupInfo:
    """One element of ``GET /lifecycle/cleanups``: secrets in ``config`` are masked. Times are milliseconds."""

    id: str
    connector: str
    config: Mapping[str, str | None]
    since: int
    tries: int
    error: str | None = None
    next_try: int | None = None


@dataclass(frozen=True)
class WorkerInfo:
    """One element of ``GET /workers``: how many connectors and tasks it has to run.

    ``version`` is ``None`` for a worker that did not answer in time.
    """

    worker_id: str
    url: str
    leader: bool
    connectors: int
    tasks: int
    version: str | None = None


@dataclass(frozen=True)
class Health:
    """``GET /health``: ``status`` is ``healthy``, ``starting`` or ``unhealthy``."""

    status: str
    message: str
    http_status: int = 200


@dataclass(frozen=True)
class LoggerLevel:
    """One entry of ``/admin/loggers``."""

    level: str
    last_modified: int | None = None


@dataclass(frozen=True)
class Validation:
    """The answer of the validate endpoint, in its JSON shape."""

    name: str
    error_count: int
    groups: Sequence[str] = ()
    configs: Sequence[Mapping[str, Any]] = field(default_factory=list)
