"""One task while it runs: its pump, and the statuses it writes."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable

from .pump import Pump
from .requests import State, TaskId
from .statuses import Statuses

log = logging.getLogger(__name__)


class TaskRunner:
    """Runs a pump and reports for it until it is stopped; afterwards nothing it says reaches the status store."""

    def __init__(self, task: TaskId, statuses: Statuses, stop_seconds: float) -> None:
        self.task = task
        self._statuses = statuses
        self._stop_seconds = stop_seconds
        self._pump: Pump | None = None
        self._running: asyncio.Task[None] | None = None
        self._silent = False

    @property
    def pump(self) -> Pump | None:
        """The pump, or ``None`` where it could not be built."""
        return self._pump

    def start(self, build: Callable[[], Pump]) -> None:
        """Build the pump and let it run. A failure to build is the task's failure."""
        try:
            self._pump = build()
        except Exception as error:
            self.report(State.FAILED, _failure_text(error))
            return
        self._running = asyncio.get_running_loop().create_task(self._pump.run(), name=f"task-{self.task}")

    def report(self, state: State, trace: str | None) -> None:
        """A new state of the task, unless it was stopped meanwhile."""
        if not self._silent:
            self._statuses.task(self.task, state, trace)
            if state is State.FAILED:
                log.error("task %s failed: %s", self.task, trace)

    def pause(self) -> None:
        if self._pump is not None:
            self._pump.pause()

    def resume(self) -> None:
        if self._pump is not None:
            self._pump.resume()

    async def stop(self, state: State) -> None:
        """End the task and write its last state; after the limit it is abandoned and can commit nothing any more."""
        self._silent = True
        if self._pump is not None and self._running is not None:
            self._pump.stop()
            done, _ = await asyncio.wait({self._running}, timeout=self._stop_seconds)
            if not done:
                log.warning("task %s did not stop within %g s and is abandoned", self.task, self._stop_seconds)
                self._pump.abandon()
        if state is State.DESTROYED:
            self._statuses.forget_task(self.task)
        else:
            self._statuses.task(self.task, state, None)


def _failure_text(error: Exception) -> str:
    name = getattr(error, "exception", None)
    text = "".join(traceback.format_exception(error))
    return f"{name}: {error}\n{text}" if isinstance(name, str) else text
