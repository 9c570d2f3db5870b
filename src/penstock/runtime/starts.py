"""Starts that nobody waits for any more: what begins too late is ended again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from .calls import UserCode

T = TypeVar("T")


class Start(Generic[T]):
    """User code that starts something, to be called on a thread of :class:`~penstock.runtime.calls.UserCode`.

    A call that takes too long is abandoned, but may still come to its end and leave something open: a connection, a
    replication slot. Whoever is second, the start that succeeds or the one who gives it up, ends it.
    """

    def __init__(self, begin: Callable[[], T], end: Callable[[T], None]) -> None:
        self._begin = begin
        self._end = end
        self._lock = threading.Lock()
        self._given_up = False
        self._started: list[T] = []

    def __call__(self) -> T:
        started = self._begin()
        with self._lock:
            late = self._given_up
            if not late:
                self._started.append(started)
        if late:
            self._end(started)
        return started

    def give_up(self, calls: UserCode, what: str, seconds: float) -> None:
        """Nobody will use what was started. ``what`` names the call that ends it, ``seconds`` limit it."""
        with self._lock:
            self._given_up = True
            started = list(self._started)
        for each in started:
            calls.run(what, seconds, lambda: self._end(each))  # noqa: B023
