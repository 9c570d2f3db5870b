"""Topics as a user looks at them: where each partition begins and ends, some records, offsets by time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.topics.interface import TopicHome, TopicPartition

from .requests import BadRequest, NotFound

MAX_PAGE = 1000
MAX_PAGE_BYTES = 8 << 20
SCAN_RECORDS = 20_000
EARLIEST = "earliest"
LATEST = "latest"


@dataclass(frozen=True)
class PartitionView:
    """``start`` is the offset of the earliest record kept, ``end`` the one the next record will get."""

    partition: int
    start: int
    end: int


@dataclass(frozen=True)
class TopicView:
    """A topic with its partitions and the settings it was given."""

    name: str
    partitions: Sequence[PartitionView]
    settings: Mapping[str, str]


@dataclass(frozen=True)
class TopicRecord:
    """A record as it lies in its topic: bytes."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True)
class RecordPage:
    """Some records, and for each partition the offset to go on at. ``more``: there is something behind them."""

    topic: str
    records: Sequence[TopicRecord]
    next: Mapping[int, int]
    more: bool


class TopicViews:
    """What is in a home for topics. Every method reads and may block: call it off the loop."""

    def __init__(self, home: TopicHome) -> None:
        self._home = home

    def all(self) -> list[TopicView]:
        """Every topic, by name."""
        return [self._view(name) for name in sorted(self._home.topics())]

    def one(self, topic: str) -> TopicView:
        """A topic with its bounds as they are now. Raises ``NotFound``."""
        self._partitions(topic)
        return TopicViews(self._home.waiting())._view(topic)

    def offsets_at(self, topic: str, when: str) -> list[int]:
        """The offset of each partition at a time: ``earliest``, ``latest`` or milliseconds since 1970.

        For milliseconds it is the first record with that timestamp or a later one, the end when there is none.
        """
        partitions = range(self._partitions(topic))
        if when == LATEST:
            return list(self._home.end_offsets(topic))
        if when == EARLIEST:
            return [self._start(TopicPartition(topic, number)) for number in partitions]
        if not (when.isascii() and when.isdigit() and len(when) < 17):
            raise BadRequest(f"at must be earliest, latest or milliseconds since 1970, not '{when[:40]}'")
        return [self._at(TopicPartition(topic, number), int(when)) for number in partitions]

    def records(self, topic: str, start: Mapping[int, int | None], limit: int) -> RecordPage:
        """Records from ``start`` on (partition → offset, ``None``: the earliest), at most ``limit`` of them."""
        count = self._partitions(topic)
        if not 1 <= limit <= MAX_PAGE:
            raise BadRequest(f"limit must be between 1 and {MAX_PAGE}, not {limit}")
        unknown = [number for number in start if not 0 <= number < count]
        if unknown:
            raise BadRequest(f"Topic {topic} has no partition {unknown[0]}; it has {count}, counted from 0")
        ends = self._home.end_offsets(topic)
        places = {TopicPartition(topic, number): offset for number, offset in start.items()}
        following = {at.partition: self._start(at) if offset is None else offset for at, offset in places.items()}
        found: list[TopicRecord] = []
        waiting = {at: following[at.partition] for at in places if following[at.partition] < ends[at.partition]}
        for rows in self._home.ranges(waiting, limit, MAX_PAGE_BYTES) if waiting else ():
            for record in self._read(rows):
                if len(found) == limit:
                    break
                found.append(record)
                following[record.partition] = record.offset + 1
            else:
                following[rows.partition] = rows.end
        more = any(following[number] < ends[number] for number in following)
        return RecordPage(topic, found, following, more)

    def _view(self, topic: str) -> TopicView:
        ends = self._home.end_offsets(topic)
        starts = [self._start(TopicPartition(topic, number)) for number in range(len(ends))]
        partitions = [
            PartitionView(number, start, end) for number, (start, end) in enumerate(zip(starts, ends, strict=True))
        ]
        return TopicView(topic, partitions, dict(self._home.settings(topic)))

    def _partitions(self, topic: str) -> int:
        count = self._home.topics().get(topic)
        if count is None:
            raise NotFound(f"Topic {topic} not found")
        return count

    def _start(self, at: TopicPartition) -> int:
        found = self._home.ranges({at: None}, 1, 1)
        return found[0].start if found else self._home.end_offsets(at.topic)[at.partition]

    def _at(self, at: TopicPartition, timestamp: int) -> int:
        end = self._home.end_offsets(at.topic)[at.partition]
        position = self._start(at)
        while position < end:
            ranges = self._home.ranges({at: position}, SCAN_RECORDS, MAX_PAGE_BYTES)
            if not ranges:
                break
            for first, table in self._home.reader().read(ranges[0]):
                for row, found in enumerate(table.column("timestamp").to_pylist()):
                    if found >= timestamp:
                        return int(first + row)
            position = ranges[0].end
        return end

    def _read(self, rows: Any) -> Iterator[TopicRecord]:
        for first, table in self._home.reader().read(rows):
            for row, raw in enumerate(table.to_pylist()):
                headers = [(header["key"], header["value"]) for header in raw["headers"] or ()]
                yield TopicRecord(
                    rows.partition, first + row, raw["timestamp"], raw["key"], raw["value"], headers
                )
