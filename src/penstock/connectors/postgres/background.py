"""One call at a time on a thread, while the caller prepares the next."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType


class Background:
    """Runs calls one after the other. A context manager, which ends when the last call has ended.

    What a call raises comes out of the next ``run`` or of ``finish``.
    """

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._running: Future[None] | None = None

    def __enter__(self) -> Background:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._thread.shutdown()
        if error is None:
            self.finish()

    def run(self, function: Callable[[], None]) -> None:
        """Wait for the call before this one, and begin."""
        self.finish()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "postgres-sink")
        self._running = self._thread.submit(function)

    def finish(self) -> None:
        """Wait for the last call."""
        running, self._running = self._running, None
        if running is not None:
            running.result()
