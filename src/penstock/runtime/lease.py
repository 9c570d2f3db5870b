"""How long a member of a group may believe that nobody else has its work."""

from __future__ import annotations

import threading
import time

STOP_AT = 0.75
"""The part of the session after which a worker without an answer begins to stop its tasks."""


def boot_time() -> float:
    """Seconds that go on while the process, or the machine, sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


class Lease:
    """Begins when the broker is asked, ends a session timeout later.

    The broker counts from the moment the question *arrives*, and gives the work away after that time; so the lease is
    over before anybody else can have begun. May be asked from any thread.
    """

    def __init__(self, session_seconds: float) -> None:
        self._session = session_seconds
        self._asked = float("-inf")
        self._lock = threading.Lock()

    def renew(self, asked: float) -> None:
        """The broker has answered what it was asked at that time."""
        with self._lock:
            self._asked = max(self._asked, asked)

    def end(self) -> None:
        """The group does not know us any more."""
        with self._lock:
            self._asked = float("-inf")

    @property
    def is_valid(self) -> bool:
        """Whether results may still be committed."""
        return boot_time() < self._asked + self._session

    @property
    def is_ending(self) -> bool:
        """Whether it is time to stop what runs."""
        return boot_time() >= self._asked + STOP_AT * self._session
