"""What the topics hold, in memory: so that the hot path asks no database."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .interface import TopicPartition
from .segments import Segment
from .settings import TopicSettings

BLOB_CACHE_BYTES = 32 * 1024 * 1024


@dataclass(slots=True)
class PartitionIndex:
    """The segments of a partition in order; ``first`` is the earliest offset kept, ``next`` the one to come."""

    first: int = 0
    next: int = 0
    segments: list[Segment] = field(default_factory=list)
    size: int = 0

    def add(self, segment: Segment) -> None:
        """A new end of the partition."""
        self.segments.append(segment)
        self.next = segment.end
        self.size += segment.size

    def replace(self, old: Sequence[Segment], new: Sequence[Segment]) -> None:
        """Put other segments in the place of consecutive ones."""
        at = self.find(old[0].start)
        assert [s.id for s in self.segments[at : at + len(old)]] == [s.id for s in old]
        self.segments[at : at + len(old)] = new
        self.size += sum(s.size for s in new) - sum(s.size for s in old)

    def find(self, offset: int) -> int:
        """The index of the first segment that has this offset or a later one."""
        at = bisect_right(self.segments, offset, key=lambda segment: segment.end)
        return at


@dataclass(slots=True)
class TopicIndex:
    """One topic."""

    id: int
    name: str
    settings: Mapping[str, str]
    rules: TopicSettings
    partitions: list[PartitionIndex]


class BlobCache:
    """The newest blobs, up to a number of bytes: consumers at the tail read what was just written."""

    def __init__(self, limit: int = BLOB_CACHE_BYTES) -> None:
        self._limit = limit
        self._size = 0
        self._blobs: OrderedDict[int, bytes] = OrderedDict()

    def get(self, segment: int) -> bytes | None:
        return self._blobs.get(segment)

    def put(self, segment: int, blob: bytes) -> None:
        self._blobs[segment] = blob
        self._size += len(blob)
        while self._size > self._limit:
            self._size -= len(self._blobs.popitem(last=False)[1])

    def drop(self, segment: int) -> None:
        self._size -= len(self._blobs.pop(segment, b""))


class Index:
    """Topics, consumer positions and sink states. Hold ``lock`` while you look or change."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.topics: dict[str, TopicIndex] = {}
        self.positions: dict[str, dict[TopicPartition, int]] = {}
        self.states: dict[str, dict[int, Mapping[str, Any]]] = {}
        self.blobs = BlobCache()

    def partition(self, at: TopicPartition) -> PartitionIndex | None:
        """A partition, if there is such a one."""
        topic = self.topics.get(at.topic)
        if topic is None or not 0 <= at.partition < len(topic.partitions):
            return None
        return topic.partitions[at.partition]

    def move(self, group: str, positions: Mapping[TopicPartition, int | None]) -> None:
        """Set or forget positions of a group."""
        known = self.positions.setdefault(group, {})
        for partition, position in positions.items():
            if position is None:
                known.pop(partition, None)
            else:
                known[partition] = position
        if not known:
            del self.positions[group]

    def forget_topic(self, topic: str) -> None:
        """Drop a topic and the positions in it."""
        gone = self.topics.pop(topic, None)
        for partition in gone.partitions if gone else ():
            for segment in partition.segments:
                self.blobs.drop(segment.id)
        for group in list(self.positions):
            self.move(group, {at: None for at in self.positions[group] if at.topic == topic})
