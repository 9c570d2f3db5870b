"""Which topic partitions a sink connector reads, and which of them one task gets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.topics.interface import TopicHome, TopicPartition


@dataclass(frozen=True)
class Subscription:
    """``topics`` or ``topics.regex`` of a sink connector, shared by its tasks through a consumer group."""

    group: str
    topics: Sequence[str] = ()
    pattern: re.Pattern[str] | None = None
    tasks: int = 1
    from_latest: bool = False

    def wants(self, topic: str) -> bool:
        """Whether records of this topic are for the connector."""
        if self.pattern is not None:
            return self.pattern.fullmatch(topic) is not None
        return topic in self.topics

    def assigned(self, home: TopicHome, task: int) -> list[TopicPartition]:
        """The partitions of one task: all existing ones, dealt out in order."""
        existing = home.topics()
        wanted = self.topics if self.pattern is None else sorted(topic for topic in existing if self.wants(topic))
        every = [TopicPartition(topic, n) for topic in wanted for n in range(existing.get(topic, 0))]
        return every[task :: self.tasks]
