"""Waiting for something to become true, with an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class TooSlow(Exception):
    """What was waited for did not happen in time."""


def wait_for(look: Callable[[], T | None], what: str, seconds: float, pause: float = 0.002) -> T:
    """What ``look`` returns, once that is true."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise TooSlow(f"{what}: not within {seconds:g} s")
        time.sleep(pause)
