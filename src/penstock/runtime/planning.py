"""Frequent, quick calls into many tasks' code: shared threads instead of one hand-over a call."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from .calls import CallTimedOut, UserCode, outcome

T = TypeVar("T")

SLOW_SECONDS = 0.02
"""A call that takes longer gets company: the calls behind it move on to another thread."""

MOST_THREADS = 64


@dataclass(eq=False)
class _Request:
    what: str
    function: Callable[[], Any]
    answer: asyncio.Future[Any]
    context: Context = field(default_factory=copy_context)


@dataclass(eq=False)
class _Round:
    """One thread working through the queue; ``request`` is what it is at, since ``began``."""

    request: _Request | None = None
    began: float = 0.0
    lost: bool = False
    done: deque[tuple[_Request, Any, Exception | None]] = field(default_factory=deque)


class Planner:
    """Answers requests from the runtime's loop one after another on one thread, on more while some are slow.

    A call that passes the limit fails with :class:`~penstock.runtime.calls.CallTimedOut` and costs its thread.
    """

    def __init__(self, calls: UserCode, seconds: float) -> None:
        self._calls = calls
        self._seconds = seconds
        self._queue: deque[_Request] = deque()
        self._rounds: set[_Round] = set()
        self._watching = False

    def run(self, what: str, function: Callable[[], T]) -> asyncio.Future[T]:
        """Call ``function`` soon. To be called on the loop."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._queue.append(_Request(what, function, answer))
        if not self._rounds:
            self._begin_round(loop)
        return answer

    def _begin_round(self, loop: asyncio.AbstractEventLoop) -> None:
        current = _Round(began=time.monotonic())
        self._rounds.add(current)
        self._calls.run("planning", None, lambda: self._work(current, loop))
        if not self._watching:
            self._watching = True
            loop.call_later(SLOW_SECONDS, self._watch, loop)

    def _work(self, current: _Round, loop: asyncio.AbstractEventLoop) -> None:
        """Runs on a thread of the pool until the queue is empty, or until it was given up."""
        while not current.lost:
            try:
                request = self._queue.popleft()
            except IndexError:
                break
            current.began, current.request = time.monotonic(), request
            result, error = outcome(request.what, partial(request.context.run, request.function))
            current.done.append((request, result, error))
            if time.monotonic() - current.began > SLOW_SECONDS:
                loop.call_soon_threadsafe(self._deliver, current)
        loop.call_soon_threadsafe(self._end_round, current, loop)

    def _deliver(self, current: _Round) -> None:
        while current.done:
            request, result, error = current.done.popleft()
            if request.answer.done():
                continue
            if error is None:
                request.answer.set_result(result)
            else:
                request.answer.set_exception(error)

    def _end_round(self, current: _Round, loop: asyncio.AbstractEventLoop) -> None:
        self._rounds.discard(current)
        self._deliver(current)
        if self._queue and not self._rounds:
            self._begin_round(loop)

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        now = time.monotonic()
        for current in list(self._rounds):
            if now - current.began > self._seconds and current.request is not None:
                self._give_up(current)
        stuck = all(now - current.began > SLOW_SECONDS for current in self._rounds)
        if self._queue and stuck and len(self._rounds) < MOST_THREADS:
            self._begin_round(loop)
        self._watching = bool(self._rounds)
        if self._watching:
            loop.call_later(SLOW_SECONDS, self._watch, loop)

    def _give_up(self, current: _Round) -> None:
        current.lost = True
        self._rounds.discard(current)
        self._deliver(current)
        request = current.request
        if request is not None and not request.answer.done():
            request.answer.set_exception(CallTimedOut(request.what, self._seconds))
