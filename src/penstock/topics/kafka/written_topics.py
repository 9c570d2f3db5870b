"""The topics that a connector writes to, as long as they are what they were when it met them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping

from . import creation
from .cluster import Cluster


class WrittenTopics:
    """Thread-safe. A topic that somebody has deleted is made again; one with more partitions gets records in all."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        self._partitions: dict[str, int] = {}
        self._looked = 0.0

    def known(self) -> dict[str, int]:
        """Topics that exist, and their partitions. Answers from memory, which is a few seconds old at the most."""
        with self._lock:
            if self._partitions:
                self._cluster.wanted_any()
                self._follow()
            return dict(self._partitions)

    def ensure(self, topics: Collection[str], settings: Callable[[str], Mapping[str, str]], may_create: bool) -> None:
        """Make what is missing. Blocks; raises what :func:`~.creation.ensure` does."""
        for topic in topics:
            count = creation.ensure(self._cluster, may_create, topic, settings(topic))
            with self._lock:
                self._partitions[topic] = count
                self._looked = time.monotonic()

    def _follow(self) -> None:
        existing = self._cluster.topics_since(self._looked)
        if existing is not None:
            self._looked = time.monotonic()
            self._partitions = {topic: existing[topic] for topic in self._partitions if topic in existing}
