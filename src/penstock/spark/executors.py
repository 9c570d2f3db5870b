"""How many tasks the executors of a Spark cluster take at a time: those that are there, and those that may come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_STANDALONE = ("spark://", "local-cluster[")
"""Masters that give an executor all cores of its machine unless ``spark.executor.cores`` says less; others give one.
They alone know ``spark.cores.max``."""


@dataclass(frozen=True, slots=True)
class Executors:
    """``count`` executors take ``slots`` tasks at a time, and ``most_slots`` when there are as many as there may be."""

    count: int
    slots: int
    most_slots: int


class ExecutorCount:
    """Counts the executors of a cluster by its settings: ``count`` and ``cores`` ask Spark for what is there now."""

    def __init__(
        self, settings: Mapping[str, str], master: str, count: Callable[[], int], cores: Callable[[], int]
    ) -> None:
        self._count = count
        self._cores = cores
        self._task_cpus = int(settings.get("spark.task.cpus", 1))
        self._most_executors = 0
        standalone = master.startswith(_STANDALONE)
        self._most_cores = int(settings.get("spark.cores.max", sys.maxsize)) if standalone else sys.maxsize
        if settings.get("spark.dynamicAllocation.enabled", "").strip().lower() == "true":
            self._most_executors = int(settings.get("spark.dynamicAllocation.maxExecutors", sys.maxsize))
        each = settings.get("spark.executor.cores")
        self._each: int | None = None
        if each is not None or not standalone:
            self._each = max(1, int(each or 1) // self._task_cpus)

    def now(self) -> Executors:
        """Takes about a millisecond."""
        count = self._count()
        if self._each is not None:
            each, slots = self._each, count * self._each
        else:
            slots = self._cores() // self._task_cpus if count else 0
            each = max(1, slots // count) if count else 1
        most = min(self._most_executors * each, self._most_cores // self._task_cpus)
        return Executors(count, slots, max(slots, most))
