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
        waiting.add_done_callback(_forget)
        done, _ = await asyncio.wait({waiting}, timeout=seconds)
        if not done:
            raise TimedOut("Request timed out")
    try:
        return future.result()
    except CancelledError:
        raise RequestError("Worker is shutting down") from None


def _forget(ended: asyncio.Future[T]) -> None:
    """Take note of a failure, so that it is not reported as unhandled: the caller hears of it in his own way."""
    if not ended.cancelled():
        ended.exception()
