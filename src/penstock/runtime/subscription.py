"""Which topic partitions a sink connector reads, and which of them one task gets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from penstock.api.config import java_pattern
from penstock.topics.interface import TopicHome, TopicPartition

from .connector_config import ConnectorConfig


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

    @classmethod
    def of(cls, parsed: ConnectorConfig, tasks: int, from_kafka: bool) -> Subscription:
        """That of a sink connector with so many tasks, from a home in Kafka or from the embedded log."""
        return cls(
            group=parsed.group_id,
            topics=parsed.topics,
            pattern=java_pattern(parsed.topics_regex) if parsed.topics_regex else None,
            tasks=tasks,
            from_latest=not from_kafka and parsed.consumer_overrides.get("auto.offset.reset") == "latest",
        )

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
