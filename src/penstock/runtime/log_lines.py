"""Lines of the log: which connector, task and worker they belong to, and how they are written down."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

_TEXT = "[%(asctime)s] %(levelname)s %(place)s%(message)s (%(name)s:%(lineno)d%(at)s)"

_place: ContextVar[tuple[str, str] | None] = ContextVar("penstock_connector", default=None)


@contextmanager
def connector_context(connector: str, part: str = "worker") -> Iterator[None]:
    """Mark every line logged inside: ``[orders|worker]`` for a connector, ``[orders|task-0]`` for a task."""
    token = _place.set((connector, part))
    try:
        yield
    finally:
        _place.reset(token)


def current_place() -> tuple[str, str] | None:
    """(connector, ``worker`` or ``task-0``) that a line logged now belongs to."""
    return _place.get()


def task_number(part: str) -> int | None:
    """The number in ``task-0``."""
    _, _, number = part.partition("task-")
    return int(number) if number.isdigit() else None


class TextLines(logging.Formatter):
    """``[time] LEVEL [connector|task-0] message (logger:line on worker)``."""

    def __init__(self, worker: str = "") -> None:
        super().__init__(_TEXT)
        self._at = f" on {worker}" if worker else ""

    def format(self, record: logging.LogRecord) -> str:
        place = current_place()
        record.place = f"[{place[0]}|{place[1]}] " if place else ""
        record.at = self._at
        return super().format(record)


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, line, message and, where known, connector, task, worker, trace."""

    def __init__(self, worker: str = "") -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        found: dict[str, object] = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "line": record.lineno,
            "message": record.getMessage(),
        }
        place = current_place()
        if place is not None:
            found["connector"] = place[0]
            number = task_number(place[1])
            if number is not None:
                found["task"] = number
        if self._worker:
            found["worker"] = self._worker
        if record.exc_info:
            found["trace"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False)
