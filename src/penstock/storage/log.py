"""The one interface under every store: an ordered, compacted log of keys and values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple


class LogRecord(NamedTuple):
    """One entry. ``value=None`` deletes the key."""

    key: bytes
    value: bytes | None


Listener = Callable[[Sequence[tuple[int, LogRecord]]], None]
"""Told of committed records, in order, each with its position. Runs on the log's own thread: be quick, never block."""


class Log(ABC):
    """Append, read back, be told of news. Only the newest value of a key is promised to survive."""

    @abstractmethod
    def start(self, listener: Listener) -> int:
        """Replay everything to ``listener`` on the calling thread, then keep it informed.

        Returns the position after the last replayed record: what has a smaller position is catch-up, not news.
        """

    @abstractmethod
    def append(self, records: Sequence[LogRecord]) -> Future[None]:
        """Add records atomically. The future ends when they are durable *and* the listener has been told."""

    @abstractmethod
    def stop(self) -> None:
        """Release resources; pending appends finish first."""
