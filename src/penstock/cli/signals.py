"""Ctrl-C and SIGTERM: the first asks for a clean stop, the second ends the process at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

from .exit_codes import INTERRUPTED


class StopRequest:
    """Set by the first signal. Must be made on the main thread."""

    def __init__(self, on_first: Callable[[], None], on_second: Callable[[], None]) -> None:
        self._asked = threading.Event()
        self._on_first = on_first
        self._on_second = on_second
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the request; whether it came."""
        return self._asked.wait(seconds)

    @property
    def asked(self) -> bool:
        return self._asked.is_set()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._asked.is_set():
            self._on_second()
            os._exit(INTERRUPTED)
        self._asked.set()
        self._on_first()


def end_by_force_after(seconds: float, code: int) -> None:
    """A last resort: if the process is still there then (a thread of a plugin hangs), end it."""
    timer = threading.Timer(seconds, os._exit, (code,))
    timer.daemon = True
    timer.start()
