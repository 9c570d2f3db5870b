"""Waiting for something to become true instead of sleeping and hoping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.05
LONGEST_POLL_SECONDS = 0.25
POLLED_SHARE = 20
"""Who has waited long looks less often, by this part of the time: a look costs the worker that is asked, too."""


def wait_until(condition: Callable[[], T], what: str, seconds: float = 120.0) -> T:
    """The first true answer of ``condition``; ``AssertionError`` with the last answer or error after ``seconds``."""
    began = time.monotonic()
    while True:
        last: object
        try:
            answer = condition()
            if answer:
                return answer
            last = answer
        except Exception as error:
            last = error
        waited = time.monotonic() - began
        if waited > seconds:
            raise AssertionError(f"still not after {seconds:g} s: {what}; last seen: {last!r}")
        time.sleep(min(max(waited / POLLED_SHARE, POLL_SECONDS), LONGEST_POLL_SECONDS))
