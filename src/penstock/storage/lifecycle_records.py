"""What the config log remembers of lifecycle hooks: active configurations, calls in progress, clean-ups to be done.

Hooks belong to an *incarnation*: one life of a connector's name, from its creation to its deletion. Whoever writes the
creation gives it an id, under a key of its own, and what is noted of its hooks has the id in its key. A connector
without such a record, made by Kafka Connect or an older Penstock, has its name for an id, and its hooks the key of old:
whoever knows no ids must not take what is under one for a connector that is gone.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .json_records import to_json
from .log import LogRecord

INCARNATION = "incarnation-"
LIFECYCLE = "lifecycle-"
HOOKS = "hooks-"
CLEANUP = "cleanup-"

Config = Mapping[str, str | None]


@dataclass(frozen=True)
class HookCall:
    """A hook that is to be called, or was called without success. Times are milliseconds.

    ``worker`` is the one that calls it, or has called it; ``None`` where nobody can tell what comes of it.
    """

    hook: str
    config: Config
    since: int
    tries: int = 0
    error: str | None = None
    timed_out: bool = False
    worker: str | None = None

    @property
    def in_doubt(self) -> bool:
        """Nobody knows how the call ended: there was a crash, or it was abandoned. It may have made something."""
        return self.error is None or self.timed_out


@dataclass(frozen=True)
class Lifecycle:
    """The active configuration of an incarnation (``None``: no hook has accepted one yet) and the call in progress.

    ``number`` counts the classes it had before: with another class the hooks of an incarnation begin anew.
    """

    active: Config | None = None
    pending: HookCall | None = None
    number: int = field(default=0, compare=False)

    @property
    def doubtful(self) -> Config | None:
        """The configuration that a call of unknown result was about."""
        return self.pending.config if self.pending is not None and self.pending.in_doubt else None

    @property
    def calling(self) -> str | None:
        """The worker that calls a hook, or is about to, and will note what comes of it."""
        return self.pending.worker if self.pending is not None and self.pending.error is None else None

    def disowned(self) -> Lifecycle:
        """The same, but nobody will note any more what comes of a call."""
        return self if self.pending is None else replace(self, pending=replace(self.pending, worker=None))

    @property
    def left(self) -> tuple[Config, ...]:
        """What is to be cleaned up after: the active configuration, and one in doubt where it is another."""
        configs = [config for config in (self.active, self.doubtful) if config is not None]
        return tuple(configs[:1] if len(configs) == 2 and configs[0] == configs[1] else configs)


@dataclass(frozen=True)
class Cleanup:
    """A deletion hook that still has to succeed for a connector that is gone, or has another class now.

    ``doubtful`` is another configuration to be cleaned up after, to which an update of unknown result was going.
    ``incarnation`` is the one that has ended, of which ``config`` and ``doubtful`` are known from what its hooks have
    noted last. One that ``stands_alone`` needs no such note.
    ``worker`` is the one that calls the hook right now: a note of another one only counts where it is made
    ``instead_of`` that one, which is taken for dead. ``awaited`` is a worker that calls, or has called, another hook of
    the incarnation and did not say yet what came of it; it is never written.
    """

    id: str
    connector: str
    config: Config
    since: int
    tries: int = 0
    error: str | None = None
    next_try: int | None = None
    doubtful: Config | None = None
    incarnation: str | None = None
    worker: str | None = None
    instead_of: str | None = None
    awaited: str | None = None
    stands_alone: bool = True


def new_incarnation() -> str:
    """An id that no other incarnation has."""
    return uuid.uuid4().hex[:12]


def cleanup_id(incarnation: str, number: int) -> str:
    """The one id of the clean-up after an incarnation (``number``: after one of its classes), whoever writes it."""
    return hashlib.sha256(f"{number} {incarnation}".encode()).hexdigest()[:12]


def incarnation_record(connector: str, incarnation: str | None) -> LogRecord:
    return _record(INCARNATION + connector, None if incarnation is None else {"id": incarnation})


def lifecycle_record(connector: str, incarnation: str, lifecycle: Lifecycle | None) -> LogRecord:
    """How far the hooks of an incarnation have come; ``None``: nothing is left to be known of them."""
    prefix = LIFECYCLE if incarnation == connector else HOOKS
    return _record(prefix + incarnation, None if lifecycle is None else _lifecycle_value(connector, lifecycle))


def cleanup_record(cleanup: Cleanup) -> LogRecord:
    value = {
        "connector": cleanup.connector,
        "config": dict(cleanup.config),
        "since": cleanup.since,
        "tries": cleanup.tries,
        "error": cleanup.error,
        "next-try": cleanup.next_try,
        "doubtful": None if cleanup.doubtful is None else dict(cleanup.doubtful),
        "incarnation": None if cleanup.stands_alone else cleanup.incarnation,
        "worker": cleanup.worker,
        "instead-of": cleanup.instead_of,
    }
    return _record(CLEANUP + cleanup.id, value)


def cleanup_finished_record(cleanup: str) -> LogRecord:
    return _record(CLEANUP + cleanup, None)


def read_incarnation(value: Any) -> str:
    incarnation = value["id"]
    if not isinstance(incarnation, str) or not incarnation:
        raise ValueError(f"'id' must be a text, not {incarnation!r}")
    return incarnation


def read_lifecycle(incarnation: str, value: Any) -> tuple[str, Lifecycle]:
    """The connector, and how far its hooks have come. Older records are under its name and do not tell it."""
    pending = value.get("pending")
    if pending is not None:
        pending = HookCall(
            pending["hook"],
            dict(pending["config"]),
            int(pending["since"]),
            int(pending["tries"]),
            pending["error"],
            bool(pending.get("timed-out")),
            pending.get("worker"),
        )
    active = value.get("active")
    lifecycle = Lifecycle(None if active is None else dict(active), pending, int(value.get("number", 0)))
    return str(value.get("connector", incarnation)), lifecycle


def read_cleanup(cleanup: str, value: Any) -> Cleanup:
    return Cleanup(
        cleanup,
        value["connector"],
        dict(value["config"]),
        int(value["since"]),
        int(value["tries"]),
        value["error"],
        value["next-try"],
        value.get("doubtful"),
        value.get("incarnation"),
        value.get("worker"),
        value.get("instead-of"),
        stands_alone=value.get("incarnation") is None,
    )


def _lifecycle_value(connector: str, lifecycle: Lifecycle) -> dict[str, Any]:
    pending = lifecycle.pending
    return {
        "connector": connector,
        "number": lifecycle.number,
        "active": None if lifecycle.active is None else dict(lifecycle.active),
        "pending": None
        if pending is None
        else {
            "hook": pending.hook,
            "config": dict(pending.config),
            "since": pending.since,
            "tries": pending.tries,
            "error": pending.error,
            "timed-out": pending.timed_out,
            "worker": pending.worker,
        },
    }


def _record(key: str, value: Any) -> LogRecord:
    return LogRecord(key.encode(), None if value is None else to_json(value))
