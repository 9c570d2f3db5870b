"""Dead letters: failed records in the dead letter queue of a connector, with what is known of their failure.

Which of them were replayed is kept as the state of a group of its own beside the queue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.topics.interface import SinkCommit, TopicHome, TopicPartition

from .requests import BadRequest, NotFound

PREFIX = "__connect.errors."
GROUP_PREFIX = "penstock-dead-letters-"
MAX_PAGE = 1000
MAX_PAGE_BYTES = 16 << 20

_ID = re.compile(r"(\d{1,9})-(\d{1,18})")


@dataclass(frozen=True)
class DeadLetter:
    """One failed record. ``context`` is what the error headers say, without their prefix; empty without them."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    context: Mapping[str, str | None]
    replayed: bool = False

    @property
    def id(self) -> str:
        """How users name it."""
        return f"{self.partition}-{self.offset}"

    @property
    def task(self) -> int | None:
        return _number(self.context.get("task.id"))

    @property
    def original(self) -> tuple[str | None, int | None, int | None]:
        """Topic, partition and offset of the record that failed, as far as they are known."""
        found = self.context
        return found.get("topic"), _number(found.get("partition")), _number(found.get("offset"))


@dataclass(frozen=True)
class DeadLetterPage:
    """Some dead letters of a queue, oldest first; ``next`` is the ``after`` of the following page, if there is one."""

    topic: str
    letters: Sequence[DeadLetter]
    next: str | None = None


@dataclass(frozen=True)
class Edit:
    """Another key or value for a replayed dead letter. ``...`` leaves it as it is, ``None`` makes it null."""

    key: Any = ...
    value: Any = ...

    def apply(self, letter: DeadLetter) -> DeadLetter:
        key = letter.key if self.key is ... else self.key
        return replace(letter, key=key, value=letter.value if self.value is ... else self.value)


@dataclass(frozen=True)
class ReplayRequest:
    """Which dead letters to replay: these, with edits, or (``None``) all that were not replayed yet."""

    letters: Mapping[str, Edit] | None = None


@dataclass(frozen=True)
class ReplayOutcome:
    """How many dead letters went through the connector again, and how many of them failed again."""

    replayed: int
    failed: int = 0

    def plus(self, other: ReplayOutcome) -> ReplayOutcome:
        return ReplayOutcome(self.replayed + other.replayed, self.failed + other.failed)


def parse_id(text: str) -> tuple[int, int]:
    """Partition and offset. Raises ``BadRequest``."""
    found = _ID.fullmatch(text)
    if found is None:
        raise BadRequest(f"'{text}' is not the id of a dead letter, which looks like 0-17 (partition and offset)")
    return int(found[1]), int(found[2])


@dataclass
class Replayed:
    """Offsets of dead letters that were replayed: by partition, spans from and to (exclusive), sorted."""

    topic: str
    spans: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    @classmethod
    def load(cls, home: TopicHome, connector: str, topic: str) -> Replayed:
        """What is known; nothing when the queue is another one than before, or was made anew."""
        state = home.sink_state(GROUP_PREFIX + connector, 0) or {}
        if state.get("topic") != topic:
            return cls(topic)
        spans = {int(partition): [(s, e) for s, e in found] for partition, found in state["replayed"].items()}
        ends = home.end_offsets(topic)
        if any(partition >= len(ends) or found[-1][1] > ends[partition] for partition, found in spans.items()):
            return cls(topic)
        return cls(topic, spans)

    def __contains__(self, place: tuple[int, int]) -> bool:
        partition, offset = place
        return any(start <= offset < end for start, end in self.spans.get(partition, ()))

    def with_letters(self, letters: Sequence[DeadLetter]) -> Replayed:
        """These and the given ones."""
        spans = {partition: list(found) for partition, found in self.spans.items()}
        for letter in letters:
            spans.setdefault(letter.partition, []).append((letter.offset, letter.offset + 1))
        return Replayed(self.topic, {partition: _joined(found) for partition, found in spans.items()})

    def commit(self, connector: str) -> SinkCommit:
        """For a transaction that makes it durable."""
        replayed = {str(partition): found for partition, found in self.spans.items()}
        anchor = {TopicPartition(self.topic, 0): 0}
        return SinkCommit(GROUP_PREFIX + connector, anchor, 0, {"topic": self.topic, "replayed": replayed})


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


@dataclass(frozen=True)
class DeadLetterBox:
    """The dead letter queue of one connector, which may share it with others. Reads block: use a thread."""

    home: TopicHome
    connector: str
    topic: str

    def page(self, after: str | None = None, limit: int = 100) -> DeadLetterPage:
        """Letters behind ``after``, at most ``limit``."""
        if not 1 <= limit <= MAX_PAGE:
            raise BadRequest(f"limit must be between 1 and {MAX_PAGE}, not {limit}")
        letters: list[DeadLetter] = []
        for letter in self._from(after):
            if len(letters) == limit:
                return DeadLetterPage(self.topic, letters, letters[-1].id)
            letters.append(letter)
        return DeadLetterPage(self.topic, letters)

    def find(self, ids: Sequence[str]) -> list[DeadLetter]:
        """Certain letters, in the order of the queue. Raises ``NotFound`` when one is not there."""
        replayed = Replayed.load(self.home, self.connector, self.topic)
        found: list[DeadLetter] = []
        for partition, offset in sorted({parse_id(text) for text in ids}):
            letter = next(self._read(TopicPartition(self.topic, partition), offset, 1, replayed), None)
            if letter is None or letter.offset != offset:
                raise NotFound(f"There is no dead letter {partition}-{offset} of connector {self.connector}")
            found.append(letter)
        return found

    def open_letters(self) -> Iterator[DeadLetter]:
        """All letters that are in the queue now and were not replayed."""
        ends = list(self.home.end_offsets(self.topic))
        for letter in self._from(None):
            if letter.offset < ends[letter.partition] and not letter.replayed:
                yield letter

    def _from(self, after: str | None) -> Iterator[DeadLetter]:
        first, offset = (0, -1) if after is None else parse_id(after)
        replayed = Replayed.load(self.home, self.connector, self.topic)
        for partition in range(first, self.home.topics().get(self.topic, 0)):
            start = offset + 1 if partition == first and after is not None else None
            yield from self._read(TopicPartition(self.topic, partition), start, MAX_PAGE, replayed)

    def _read(
        self, at: TopicPartition, start: int | None, records: int, replayed: Replayed
    ) -> Iterator[DeadLetter]:
        """Letters of this connector from an offset on, ``records`` at a time."""
        ends = self.home.end_offsets(at.topic)
        end = ends[at.partition] if at.partition < len(ends) else 0
        while start is None or start < end:
            ranges = self.home.ranges({at: start}, records, MAX_PAGE_BYTES)
            if not ranges:
                return
            for first, table in self.home.reader().read(ranges[0]):
                for row, raw in enumerate(table.to_pylist()):
                    letter = _letter(at.partition, first + row, raw)
                    if letter.context.get("connector.name", self.connector) == self.connector:
                        yield replace(letter, replayed=(letter.partition, letter.offset) in replayed)
            start = ranges[0].end


def _letter(partition: int, offset: int, raw: Mapping[str, Any]) -> DeadLetter:
    headers = [(header["key"], header["value"]) for header in raw["headers"] or ()]
    context = {
        name.removeprefix(PREFIX): None if data is None else data.decode("utf-8", "replace")
        for name, data in headers
        if name.startswith(PREFIX)
    }
    own = [(name, data) for name, data in headers if not name.startswith(PREFIX)]
    return DeadLetter(partition, offset, raw["timestamp"], raw["key"], raw["value"], own, context)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
