"""Calls into user code: off our loop, on threads that may be lost, each with a time limit."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")


class CallTimedOut(Exception):
    """User code did not come back in time; its thread is abandoned and whatever it does later is ignored."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(f"{what} did not return within {seconds:g} s and was abandoned")


def outcome(what: str, function: Callable[[], T]) -> tuple[T | None, Exception | None]:
    """What user code returned or raised. ``sys.exit()`` and the like are failures too, and end nothing of ours."""
    try:
        return function(), None
    except Exception as raised:
        return None, raised
    except BaseException as raised:
        return None, RuntimeError(f"{what} raised {type(raised).__name__}")


class _Call:
    def __init__(self, what: str, function: Callable[[], Any]) -> None:
        self.what = what
        self.function = function
        self.context = copy_context()
        self.future: Future[Any] = Future()
        self._lock = threading.Lock()
        self._settled = False

    def settle(self, result: Any, error: BaseException | None) -> bool:
        """End the future once; ``False`` when somebody was faster."""
        with self._lock:
            if self._settled:
                return False
            self._settled = True
        with contextlib.suppress(InvalidStateError):  # whoever waited has cancelled it
            if error is None:
                self.future.set_result(result)
            else:
                self.future.set_exception(error)
        return True

    @property
    def settled(self) -> bool:
        return self._settled


class UserCode:
    """Runs calls on a pool of threads that grows with what is in progress and shrinks when idle.

    A call that passes its limit fails with :class:`CallTimedOut`; the thread is written off, so no call ever
    waits behind it. Threads are daemons: user code cannot keep the process alive.
    """

    def __init__(self, idle_seconds: float = 10.0) -> None:
        self._idle_seconds = idle_seconds
        self._idle: list[SimpleQueue[_Call | None]] = []
        self._deadlines: list[tuple[float, int, float, _Call]] = []
        self._sequence = itertools.count()
        self._changed = threading.Condition()
        self._stopped = False
        self._watchdog = threading.Thread(target=self._watch, name="user-code-watchdog", daemon=True)
        self._watchdog.start()

    def run(self, what: str, seconds: float | None, function: Callable[[], T]) -> Future[T]:
        """Call ``function`` on a thread of the pool; ``what`` names it in errors. ``seconds=None``: no limit."""
        call = _Call(what, function)
        with self._changed:
            if seconds is not None:
                heapq.heappush(self._deadlines, (time.monotonic() + seconds, next(self._sequence), seconds, call))
                if self._deadlines[0][3] is call:
                    self._changed.notify()
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), name="user-code", daemon=True).start()
        inbox.put(call)
        return call.future

    def stop(self) -> None:
        """Let idle threads end; running calls are left to their limits."""
        with self._changed:
            self._stopped = True
            idle, self._idle = self._idle, []
            self._changed.notify()
        for inbox in idle:
            inbox.put(None)

    def _serve(self, inbox: SimpleQueue[_Call | None]) -> None:
        while True:
            try:
                call = inbox.get(timeout=self._idle_seconds)
            except Empty:
                call = self._retire(inbox)
            if call is None:
                return
            result, error = outcome(call.what, partial(call.context.run, call.function))
            back = False
            if not call.settled:
                with self._changed:
                    if not self._stopped:
                        self._idle.append(inbox)
                        back = True
            if not call.settle(result, error):
                log.warning("%s came back after it had been abandoned", call.what)
            del call, result, error
            if not back:
                return

    def _retire(self, inbox: SimpleQueue[_Call | None]) -> _Call | None:
        """Leave the idle list; a call may have been handed over in the same moment, then it must be served."""
        with self._changed:
            if inbox in self._idle:
                self._idle.remove(inbox)
                return None
        return inbox.get()

    def _watch(self) -> None:
        while True:
            with self._changed:
                while self._deadlines and self._deadlines[0][3].settled:
                    heapq.heappop(self._deadlines)
                if self._stopped and not self._deadlines:
                    return
                wait = self._deadlines[0][0] - time.monotonic() if self._deadlines else None
                if wait is None or wait > 0:
                    self._changed.wait(wait)
                    continue
                _, _, seconds, call = heapq.heappop(self._deadlines)
            if call.settle(None, CallTimedOut(call.what, seconds)):
                log.warning("%s did not return within %g s; its thread is abandoned", call.what, seconds)
