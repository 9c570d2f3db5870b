"""Waiting for a herder's answer without holding up anybody else."""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError, Future
from typing import TypeVar

from penstock.runtime.requests import RequestError, TimedOut

T = TypeVar("T")

REQUEST_SECONDS = 90.0
HEALTH_SECONDS = 10.0


async def answer_of(future: Future[T], seconds: float = REQUEST_SECONDS) -> T:
    """The result of ``future``. After the limit the request goes on, only this caller stops waiting."""
    if not future.done():
        waiting = asyncio.wrap_future(future)
        done, _ = await asyncio.wait({waiting}, timeout=seconds)
        if not done:
            waiting.add_done_callback(_forget)
            raise TimedOut("Request timed out")
    try:
        return future.result()
    except CancelledError:
        raise RequestError("Worker is shutting down") from None


def _forget(late: asyncio.Future[T]) -> None:
    """Take note of a late failure, so that it is not reported as unhandled."""
    if not late.cancelled():
        late.exception()
