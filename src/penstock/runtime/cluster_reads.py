"""What a worker of a cluster knows before it answers: all that was written before it was asked."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 1.0
"""How long a read may take before callers are answered from what is known."""

ReadToEnd = Callable[[], Future[None]]


class LatestView:
    """Reads internal topics to their end for whoever asks, one round at a time for all who ask meanwhile.

    A client that was answered by one worker sees its change on every other one, at the price of a question to the
    broker. When the broker does not answer, only those who ask first wait for it: everybody else gets what is known.
    May be asked from any thread.
    """

    def __init__(self, *reads: ReadToEnd) -> None:
        self._reads = reads
        self._lock = threading.Lock()
        self._began = 0.0
        self._current: Future[None] | None = None
        self._next: Future[None] | None = None

    def known(self) -> Future[None]:
        """Ends, and never fails, when everything is known that was there when it was called, or cannot be soon."""
        waiting: Future[None] = Future()
        with self._lock:
            if self._current is None:
                self._current = waiting
                self._began = time.monotonic()
            elif time.monotonic() - self._began > PATIENCE_SECONDS:
                return _done()
            else:
                self._next = self._next or waiting
                return self._next
        self._begin(waiting)
        return waiting

    def _begin(self, waiting: Future[None]) -> None:
        _when_all([_begun(read) for read in self._reads], lambda: self._over(waiting))

    def _over(self, waiting: Future[None]) -> None:
        with self._lock:
            self._current, self._next = self._next, None
            self._began = time.monotonic()
            following = self._current
        waiting.set_result(None)
        if following is not None:
            self._begin(following)


def _when_all(futures: Sequence[Future[None]], call: Callable[[], None]) -> None:
    """Call once, when all have ended in whichever way."""
    left = [len(futures)]
    lock = threading.Lock()

    def ended(_: Future[None]) -> None:
        with lock:
            left[0] -= 1
            last = not left[0]
        if last:
            call()

    for future in futures:
        future.add_done_callback(ended)


def _begun(read: ReadToEnd) -> Future[None]:
    try:
        return read()
    except Exception as error:
        log.debug("An internal topic could not be read to its end: %s", error)
        return _done()


def _done() -> Future[None]:
    future: Future[None] = Future()
    future.set_result(None)
    return future
