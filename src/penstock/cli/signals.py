"""Ctrl-C and SIGTERM: the first asks for a clean stop, the second ends the process at once."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from .exit_codes import INTERRUPTED

LOOK_SECONDS = 0.2


class StopRequest:
    """Set by the first signal. Must be made on the main thread, which must be the one that waits.

    Python calls handlers on the main thread only, and a signal that the system hands to another thread does not wake
    it, so it looks up now and then. No locks: a handler may interrupt their holder.
    """

    def __init__(self, on_first: Callable[[], None], on_second: Callable[[], None]) -> None:
        self._asked = False
        self._on_first = on_first
        self._on_second = on_second
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the request; whether it came."""
        until = math.inf if seconds is None else time.monotonic() + seconds
        while not self._asked and (left := until - time.monotonic()) > 0:
            time.sleep(min(LOOK_SECONDS, left))
        return self._asked

    @property
    def asked(self) -> bool:
        return self._asked

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            self._on_second()
            os._exit(INTERRUPTED)
        self._asked = True
        self._on_first()


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """SIGTERM within the block is a :class:`KeyboardInterrupt`, as Ctrl-C is. On the main thread only."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def end_by_force_after(seconds: float, code: int) -> None:
    """A last resort: if the process is still there then (a thread of a plugin hangs), end it."""
    timer = threading.Timer(seconds, os._exit, (code,))
    timer.daemon = True
    timer.start()
