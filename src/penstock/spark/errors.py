"""Record-level errors: retry, tolerate, log, set aside as dead letters, or fail the task.

Stages, texts and headers are those of Kafka Connect, so that what reads its dead letter queues and logs reads ours.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from penstock.api.errors import PluginError, RetriableError
from penstock.api.record import Record

from .splits import ErrorPolicy, Failure, TaskSpec
from .staging import Outbox
from .traces import FAILED_RECORD, format_trace

_T = TypeVar("_T")

TOLERANCE_EXCEEDED = "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler"
SINK_TASK_CLASS = "org.apache.kafka.connect.sink.SinkTask"
SOURCE_WORKER_CLASS = "org.apache.kafka.connect.runtime.WorkerSourceTask"
FIRST_DELAY_MS = 300
MAX_LOG_LINES = 1000

_HEADER_PREFIX = "__connect.errors."
_JAVA_NAMES: tuple[tuple[type[BaseException], str], ...] = (
    (RetriableError, "org.apache.kafka.connect.errors.RetriableException"),
    (PluginError, "org.apache.kafka.connect.errors.ConnectException"),
)


class Stage(Enum):
    """Where on its way a record failed."""

    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    TASK_PUT = "TASK_PUT"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"


@dataclass(slots=True)
class Origin:
    """A failed record as it was before anything happened to it, in bytes.

    ``partition`` and ``offset`` are ``None`` for records of a source, whose ``record`` is set instead.
    """

    topic: str
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    record: Record | None = None


class RecordSkipped(Exception):
    """The record at hand failed and the policy tolerates it: go on with the next one."""


class ToleranceExceeded(Exception):
    """A record failed and the policy does not tolerate it: the task fails. ``place`` says which one, and where."""

    def __init__(self, cause: Exception, place: str) -> None:
        super().__init__("Tolerance exceeded in error handler")
        self.cause = cause
        self.place = place


def exception_name(error: BaseException) -> str:
    """The name Kafka Connect would report, or the Python name where there is no such thing."""
    named = getattr(error, "exception", None)
    if isinstance(named, str):
        return named
    for kind, name in _JAVA_NAMES:
        if type(error) is kind:
            return name
    module = type(error).__module__
    return type(error).__qualname__ if module == "builtins" else f"{module}.{type(error).__qualname__}"


def message_of(error: BaseException) -> str | None:
    """The text of an error; ``None`` where Java's message would be null."""
    if not error.args or error.args[0] is None:
        return None
    return str(error)


def headline(error: BaseException) -> str:
    """``name: message``, the first line of a Java stack trace."""
    message = message_of(error)
    return exception_name(error) if message is None else f"{exception_name(error)}: {message}"


def trace_of(error: BaseException) -> str:
    """The headline, then the Python traceback."""
    return f"{headline(error)}\n{format_trace(error).rstrip()}"


def failure_of(error: Exception) -> Failure:
    """What a receipt says of an exception that ended a split."""
    if isinstance(error, ToleranceExceeded):
        return Failure(f"{TOLERANCE_EXCEEDED}\nCaused by: {trace_of(error.cause)}\n{FAILED_RECORD}{error.place}")
    return Failure(trace_of(error), retriable=isinstance(error, RetriableError))


def retry_delay_ms(attempt: int, max_delay_ms: int) -> int:
    """The pause after the given failed attempt (from 1): doubling from 300 ms, at random once above the limit."""
    delay = FIRST_DELAY_MS << min(attempt - 1, 40)
    return delay if delay <= max_delay_ms else random.randrange(max(max_delay_ms, 1))


@dataclass(slots=True)
class ErrorHandler:
    """Applies one connector's policy to the records of one split and keeps count."""

    spec: TaskSpec
    dead_letters: Outbox
    sleep: Callable[[float], None] = time.sleep
    skipped: int = 0
    failed: int = 0
    retries: int = 0
    fatal: Exception | None = None
    _lines: list[str] = field(default_factory=list)
    _unlogged: int = 0

    @property
    def policy(self) -> ErrorPolicy:
        return self.spec.errors

    def recover(
        self, error: Exception, stage: Stage, name: str, again: Callable[[], _T], origin: Callable[[], Origin]
    ) -> _T:
        """A step on a record raised ``error``. The result of a successful retry, else the record has failed.

        Raises :class:`RecordSkipped` or :class:`ToleranceExceeded`.
        """
        attempt = 1
        started = time.monotonic()
        while isinstance(error, RetriableError) and self._may_retry(started):
            self._pause(attempt, started)
            attempt += 1
            self.retries += 1
            try:
                return again()
            except Exception as raised:
                error = raised
        self.record_failed(error, stage, name, origin())
        raise RecordSkipped

    def record_failed(self, error: Exception, stage: Stage, name: str, origin: Origin) -> None:
        """Log and set aside one failed record. Raises :class:`ToleranceExceeded` unless all errors are tolerated."""
        self.failed += 1
        if self.policy.log:
            self._log(error, stage, name, origin)
        if self.policy.dead_letter_topic:
            self._set_aside(error, stage, name, origin)
        if not self.policy.tolerate_all:
            self.fatal = ToleranceExceeded(error, f"{_place(origin)}, at {stage.value} ({name})")
            raise self.fatal from error
        self.skipped += 1

    def log_lines(self) -> list[str]:
        """What the policy wants in the worker's log."""
        if not self._unlogged:
            return self._lines
        return [*self._lines, f"Task {self._task}: {self._unlogged} more failed records of this batch are not shown."]

    @property
    def _task(self) -> str:
        return f"{self.spec.connector}-{self.spec.task}"

    def _may_retry(self, started: float) -> bool:
        limit = self.policy.retry_timeout_ms
        return limit == -1 or (time.monotonic() - started) * 1000 < limit

    def _pause(self, attempt: int, started: float) -> None:
        delay = retry_delay_ms(attempt, self.policy.retry_delay_max_ms)
        if self.policy.retry_timeout_ms != -1:
            left = self.policy.retry_timeout_ms - (time.monotonic() - started) * 1000
            delay = min(delay, max(int(left), 0))
        self.sleep(delay / 1000)

    def _log(self, error: Exception, stage: Stage, name: str, origin: Origin) -> None:
        if len(self._lines) >= MAX_LOG_LINES:
            self._unlogged += 1
            return
        shown = _described(origin) if self.policy.log_messages else ""
        line = f"Error encountered in task {self._task}. Executing stage '{stage.value}' with class '{name}'{shown}."
        self._lines.append(f"{line}\n{trace_of(error)}")

    def _set_aside(self, error: Exception, stage: Stage, name: str, origin: Origin) -> None:
        headers = list(origin.headers)
        if self.policy.dead_letter_headers:
            headers += [(_HEADER_PREFIX + k, _utf8(v)) for k, v in self._context(error, stage, name, origin)]
        timestamp = int(time.time() * 1000) if origin.timestamp is None else origin.timestamp
        self.dead_letters.add(self.policy.dead_letter_topic, origin.key, origin.value, headers, timestamp)

    def _context(self, error: Exception, stage: Stage, name: str, origin: Origin) -> list[tuple[str, Any]]:
        where = [("topic", origin.topic)]
        if origin.record is None:
            where += [("partition", str(origin.partition)), ("offset", str(origin.offset))]
        return [
            *where,
            ("connector.name", self.spec.connector),
            ("task.id", str(self.spec.task)),
            ("stage", stage.value),
            ("class.name", name),
            ("exception.class.name", exception_name(error)),
            ("exception.message", message_of(error)),
            ("exception.stacktrace", trace_of(error)),
        ]


def _place(origin: Origin) -> str:
    if origin.record is not None:
        return f"one for topic {origin.topic}"
    return f"offset {origin.offset} of {origin.topic}-{origin.partition}"


def _utf8(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "replace")


def _described(origin: Origin) -> str:
    record = origin.record
    if record is not None:
        return (
            f", where source record is = {{topic='{record.topic}', partition={record.partition}, "
            f"key={record.key!r}, value={record.value!r}, timestamp={record.timestamp}}}"
        )
    return (
        f", where consumed record is {{topic='{origin.topic}', partition={origin.partition}, "
        f"offset={origin.offset}, timestamp={origin.timestamp}, timestampType=CreateTime}}"
    )
