"""Topics as users look at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from penstock.runtime.topic_views import PartitionView, TopicViews
from penstock.topics.interface import Range, TopicHome, TopicPartition


class Forgetful:
    """A home that does not know where an unread topic ends, unless it may take its time."""

    def __init__(self, knows: bool = False) -> None:
        self._knows = knows

    def waiting(self) -> Forgetful:
        return Forgetful(knows=True)

    def topics(self) -> Mapping[str, int]:
        return {"orders": 2}

    def settings(self, topic: str) -> Mapping[str, str]:
        return {}

    def end_offsets(self, topic: str) -> Sequence[int]:
        return [7, 9] if self._knows else []

    def ranges(self, start: Mapping[TopicPartition, int | None], max_records: int, max_bytes: int) -> Sequence[Range]:
        return []


def test_a_topic_that_nobody_has_read_yet_has_its_ends() -> None:
    found = TopicViews(cast("TopicHome", Forgetful())).one("orders")
    assert list(found.partitions) == [PartitionView(0, 7, 7), PartitionView(1, 9, 9)]
