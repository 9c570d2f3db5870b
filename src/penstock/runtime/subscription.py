"""Which topic partitions a sink connector reads, and which of them one task gets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from penstock.topics.interface import TopicHome, TopicPartition


@dataclass(frozen=True)
class Subscription:
    """``topics`` or ``topics.regex`` of a sink connector, shared by its tasks through a consumer group.

    With ``from_latest`` the task itself lets a partition without a position begin at its end; homes that know
    ``auto.offset.reset`` do that without being told.
    """

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
        """The partitions of one task. One that has an owner keeps it whatever topics and partitions are added."""
        existing = home.topics()
        if self.pattern is None:
            home.want(self.topics)
            firsts = {topic: number for number, topic in enumerate(self.topics)}
        else:
            home.want_new()
            firsts = {topic: crc32(topic.encode()) for topic in sorted(existing) if self.wants(topic)}
        return [
            TopicPartition(topic, number)
            for topic, first in firsts.items()
            for number in range((task - first) % self.tasks, existing.get(topic, 0), self.tasks)
        ]
