"""Waiting for something to become true instead of sleeping and hoping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.05


def wait_until(condition: Callable[[], T], what: str, seconds: float = 120.0) -> T:
    """The first true answer of ``condition``; ``AssertionError`` with the last answer or error after ``seconds``."""
    deadline = time.monotonic() + seconds
    while True:
        last: object
        try:
            answer = condition()
            if answer:
                return answer
            last = answer
        except Exception as error:
            last = error
        if time.monotonic() > deadline:
            raise AssertionError(f"still not after {seconds:g} s: {what}; last seen: {last!r}")
        time.sleep(POLL_SECONDS)
