"""What the config log remembers of lifecycle hooks: active configurations, calls in progress, clean-ups to be done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .json_records import to_json
from .log import LogRecord

LIFECYCLE = "lifecycle-"
CLEANUP = "cleanup-"

Config = Mapping[str, str | None]


@dataclass(frozen=True)
class HookCall:
    """A hook that is to be called, or was called without success. Times are milliseconds."""

    hook: str
    config: Config
    since: int
    tries: int = 0
    error: str | None = None
    timed_out: bool = False

    @property
    def in_doubt(self) -> bool:
        """Nobody knows how the call ended: there was a crash, or it was abandoned. It may have made something."""
        return self.error is None or self.timed_out


@dataclass(frozen=True)
class Lifecycle:
    """The active configuration of a connector (``None``: no hook has accepted one yet) and the call in progress."""

    active: Config | None = None
    pending: HookCall | None = None

    @property
    def doubtful(self) -> Config | None:
        """The configuration that a call of unknown result was about."""
        return self.pending.config if self.pending is not None and self.pending.in_doubt else None


@dataclass(frozen=True)
class Cleanup:
    """A deletion hook that still has to succeed for a connector that is gone, or has another class now.

    ``doubtful`` is another configuration to be cleaned up after, to which an update of unknown result was going.
    """

    id: str
    connector: str
    config: Config
    since: int
    tries: int = 0
    error: str | None = None
    next_try: int | None = None
    doubtful: Config | None = None


def lifecycle_record(connector: str, lifecycle: Lifecycle | None) -> LogRecord:
    return _record(LIFECYCLE + connector, None if lifecycle is None else _lifecycle_value(lifecycle))


def cleanup_record(cleanup: Cleanup) -> LogRecord:
    value = {
        "connector": cleanup.connector,
        "config": dict(cleanup.config),
        "since": cleanup.since,
        "tries": cleanup.tries,
        "error": cleanup.error,
        "next-try": cleanup.next_try,
        "doubtful": None if cleanup.doubtful is None else dict(cleanup.doubtful),
    }
    return _record(CLEANUP + cleanup.id, value)


def cleanup_finished_record(cleanup: str) -> LogRecord:
    return _record(CLEANUP + cleanup, None)


def read_lifecycle(value: Any) -> Lifecycle:
    pending = value.get("pending")
    if pending is not None:
        pending = HookCall(
            pending["hook"],
            dict(pending["config"]),
            int(pending["since"]),
            int(pending["tries"]),
            pending["error"],
            bool(pending.get("timed-out")),
        )
    active = value.get("active")
    return Lifecycle(None if active is None else dict(active), pending)


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
    )


def _lifecycle_value(lifecycle: Lifecycle) -> dict[str, Any]:
    pending = lifecycle.pending
    return {
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
        },
    }


def _record(key: str, value: Any) -> LogRecord:
    return LogRecord(key.encode(), None if value is None else to_json(value))
