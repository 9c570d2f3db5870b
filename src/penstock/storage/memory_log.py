"""A log that forgets at the end of the process: for unit tests."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future

from .log import Listener, Log, LogRecord


class MemoryLog(Log):
    """Keeps every record in a list; an append is told before it returns."""

    def __init__(self, records: Sequence[LogRecord] = ()) -> None:
        self.records: list[LogRecord] = list(records)
        self._listener: Listener | None = None
        self._lock = threading.RLock()

    def start(self, listener: Listener) -> int:
        with self._lock:
            if self.records:
                listener(list(enumerate(self.records)))
            self._listener = listener
            return len(self.records)

    def append(self, records: Sequence[LogRecord]) -> Future[None]:
        future: Future[None] = Future()
        with self._lock:
            first = len(self.records)
            self.records.extend(records)
            if self._listener and records:
                self._listener(list(enumerate(records, first)))
        future.set_result(None)
        return future

    def stop(self) -> None:
        self._listener = None
