"""What all connectors of a worker share on the way to Kafka: clusters by client settings, and one clock."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from .clients import Clients, Settings
from .cluster import END_SECONDS, Cluster
from .groups import Groups

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class Reach:
    """A cluster as some client settings reach it."""

    cluster: Cluster
    groups: Groups


class Shared:
    """Clients of the driver, one for each distinct configuration, whatever the number of connectors."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reaches: dict[tuple[Settings, bool, float], Reach] = {}
        self._listeners: list[Callable[[set[str]], None]] = []
        self._pool = ThreadPoolExecutor(4, thread_name_prefix="kafka")
        self._stopping = threading.Event()
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._clock = threading.Thread(target=self._tick, name="kafka-clock", daemon=True)
        self._clock.start()

    def reach(self, clients: Clients) -> Reach:
        """The cluster of some clients."""
        key = (clients.admin, clients.read_committed, clients.metadata_seconds)
        with self._lock:
            found = self._reaches.get(key)
            if found is None:
                cluster = Cluster(clients, self.tell, self.run)
                found = self._reaches[key] = Reach(cluster, Groups(cluster, self.later))
            return found

    def listen(self, listener: Callable[[set[str]], None]) -> None:
        self._listeners.append(listener)

    def tell(self, topics: set[str]) -> None:
        """Topics have news."""
        for listener in self._listeners:
            try:
                listener(topics)
            except Exception:
                logger.exception("A listener of topics failed")

    def written(self, topics: set[str]) -> None:
        """We have written to these topics ourselves: their ends are asked for at once."""
        with self._lock:
            reaches = list(self._reaches.values())
        now = time.monotonic()
        for reach in reaches:
            reach.cluster.soon(topics)
            reach.cluster.tick(now)

    def run(self, function: Callable[[], T]) -> Future[T]:
        """Something that blocks, off the caller's thread."""
        return self._pool.submit(function)

    def later(self, seconds: float, function: Callable[[], None]) -> None:
        """Call a function, off the caller's thread, unless the worker stops before."""
        with self._lock:
            heapq.heappush(self._later, (time.monotonic() + seconds, next(self._numbers), function))

    def stop(self) -> None:
        self._stopping.set()
        self._clock.join()
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            reaches = list(self._reaches.values())
        for reach in reaches:
            reach.groups.stop()

    def _tick(self) -> None:
        while not self._stopping.wait(END_SECONDS):
            now = time.monotonic()
            with self._lock:
                clusters = [reach.cluster for reach in self._reaches.values()]
                due = []
                while self._later and self._later[0][0] <= now:
                    due.append(heapq.heappop(self._later)[2])
            for function in due:
                self._pool.submit(function)
            for cluster in clusters:
                try:
                    cluster.tick(now)
                except Exception:
                    logger.exception("Asking a Kafka cluster for news failed and is tried again")
