"""A real herder with switches for what a test wants to go wrong between it and the REST layer."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from penstock.runtime.standalone import StandaloneHerder

QUEUED = frozenset({"offsets", "health", "create_connector", "put_config", "set_target_state", "restart_task"})
"""Requests that wait for the herder's loop: those that get stuck with it."""


class TroubledHerder:
    """Hands every call to ``real``, unless told to fail it or to leave it hanging.

    ``failure`` is raised by every call; ``stuck`` is the answer of all queued ones; ``waiting`` tells that
    somebody waits for it. Queued ones fail with ``refusals``, one after the other, the last one again and again.
    ``silent_spark`` is the answer to who asks for its capacity.
    """

    def __init__(self, real: StandaloneHerder) -> None:
        self.real = real
        self.failure: Exception | None = None
        self.stuck: Future[Any] | None = None
        self.waiting = False
        self.silent_spark: Future[Any] | None = None
        self.refusals: list[Exception] = []

    def recover(self) -> None:
        """Nothing goes wrong any more."""
        self.failure, self.stuck, self.waiting, self.silent_spark = None, None, False, None
        self.refusals.clear()

    def __getattr__(self, name: str) -> Any:
        if self.failure is not None:
            raise self.failure
        if self.silent_spark is not None and name == "spark_capacity":
            return lambda: self.silent_spark
        if self.stuck is not None and name in QUEUED:
            return self._hang
        if self.refusals and name in QUEUED:
            return self._refuse
        return getattr(self.real, name)

    def _hang(self, *arguments: Any, **named: Any) -> Future[Any]:
        assert self.stuck is not None
        self.waiting = True
        return self.stuck

    def _refuse(self, *arguments: Any, **named: Any) -> Future[Any]:
        refused: Future[Any] = Future()
        refused.set_exception(self.refusals[0] if len(self.refusals) == 1 else self.refusals.pop(0))
        return refused
