"""Reads partitions with Kafka's own protocol: the next fetch is under way while the last one is decoded."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from confluent_kafka import KafkaError

from penstock.api.errors import RetriableError
from penstock.storage.kafka_complaints import Complaints

from ...interface import Range, TopicPartition
from ..clients import Settings
from .brokers import LOST, Brokers, Patience
from .decoding import Batch, Rows, batches, decode, together, visible
from .errors import Answered
from .options import Options
from .requests import FETCH, READ_COMMITTED, Fetched, FetchLimits, Wanted, fetch_body, read_fetch
from .varints import Bytes

STALL_SECONDS = 30.0
"""A read that gets nothing for so long is given up and tried again."""


class _Group(NamedTuple):
    """Batches that are decoded together, in the bytes of an answer. Of their records those from ``start`` on count."""

    data: Bytes
    batches: Sequence[Batch]
    start: int


@dataclass
class _Partition:
    """A partition that is read: the rows that wait, and where to fetch next."""

    at: TopicPartition
    position: int
    next: int
    rows: deque[Rows] = field(default_factory=deque)
    groups: deque[_Group] = field(default_factory=deque)
    """What came after the rows and is not decoded yet."""
    more: bool = True
    """Whether there is something behind ``next``, as far as is known."""
    asked: bool = False
    failure: Answered | None = None

    @property
    def size(self) -> int:
        """The bytes that wait."""
        fetched = sum(one.last_byte - one.first_byte for group in self.groups for one in group.batches)
        return fetched + sum(int(rows.table.nbytes) for rows in self.rows)

    def take(self, end: int) -> Rows | None:
        """The next rows before an offset, of what has come. They are decoded when they are wanted."""
        while not self.rows and self.groups and self.groups[0].batches[0].offset < end:
            group = self.groups.popleft()
            found = decode(group.data, group.batches)
            self.rows += (rows.between(group.start, rows.end) for rows in found if rows.end > group.start)
        if not self.rows or self.rows[0].first >= end:
            return None
        rows = self.rows.popleft()
        if rows.end > end:
            self.rows.appendleft(rows.between(end, rows.end))
            rows = rows.between(rows.first, end)
        self.position = rows.end
        return rows


@dataclass(frozen=True)
class _Question:
    """A request that has no answer yet: the partitions and the offsets they were to begin at."""

    places: Sequence[tuple[_Partition, int]]


class WireCursor:
    """Follows some partitions; what it was given beyond a range waits for the next one. For one thread."""

    def __init__(self, settings: Settings, options: Options) -> None:
        given = dict(settings)
        self.used = 0.0
        self._isolation = 0 if given.get("isolation.level") == "read_uncommitted" else READ_COMMITTED
        self._check = given.get("check.crcs", "true").lower() != "false"
        usual = FetchLimits()
        self._limits = FetchLimits(
            min_bytes=int(given.get("fetch.min.bytes", usual.min_bytes)),
            max_bytes=int(given.get("fetch.max.bytes", usual.max_bytes)),
            partition_bytes=int(given.get("max.partition.fetch.bytes", usual.partition_bytes)),
        )
        self._brokers = Brokers(options)
        self._complaints = Complaints("consumer")
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._questions: dict[int, _Question] = {}

    def follows(self, ranges: Sequence[Range]) -> int:
        """How many of these ranges begin where it stands."""
        return sum(self._stands_at(_at(rows), rows.start) for rows in ranges)

    def follow(self, ranges: Sequence[Range]) -> None:
        """Read these partitions, each from the start of its first range, and no others."""
        wanted: dict[TopicPartition, int] = {}
        for rows in ranges:
            wanted.setdefault(_at(rows), rows.start)
        self._partitions = {
            at: self._partitions[at] if self._stands_at(at, start) else _Partition(at, start, start)
            for at, start in wanted.items()
        }
        self._ask_ahead([one for one in self._partitions.values() if not one.rows and not one.groups])

    def read(self, rows: Range) -> Iterator[tuple[int, pa.Table]]:
        """The records of a range, in order, as chunks without gaps; each is decoded when it is asked for.

        Raises ``RetriableError`` when nothing comes for a while, ``OldFormat`` and ``Unsupported`` when only another
        client can help, ``Corrupt``, and ``Answered`` for errors that do not pass.
        """
        at = _at(rows)
        if not self._stands_at(at, rows.start):
            self.follow([rows])
        partition = self._partitions[at]
        yield from self._taken(partition, rows.end)
        patience = Patience(self._brokers.options, STALL_SECONDS)
        while partition.next < rows.end:
            before = partition.next
            try:
                self._get_more(partition, rows.end)
            except (Answered, *LOST) as error:
                self._put_up_with(error, patience)
            if partition.next > before:
                yield from self._taken(partition, rows.end)
                patience.renew()
            elif patience.is_over:
                raise RetriableError(
                    f"Kafka sent nothing of {at.topic}-{at.partition} behind offset {rows.start} for "
                    f"{STALL_SECONDS:g} s{self._reason()}"
                )
        partition.position = rows.end

    def _taken(self, partition: _Partition, end: int) -> Iterator[tuple[int, pa.Table]]:
        while (rows := partition.take(end)) is not None:
            yield rows.first, rows.table

    def rest(self) -> None:
        """Between works: nothing is asked for that is not there, so there is nothing to let go of."""

    def close(self) -> None:
        self._brokers.close()

    def _stands_at(self, at: TopicPartition, offset: int) -> bool:
        partition = self._partitions.get(at)
        return partition is not None and partition.position == offset

    def _get_more(self, partition: _Partition, end: int) -> None:
        """Wait for the next rows of a partition, or to know that there are none before ``end``."""
        if not partition.asked:
            self._ask([partition])
        for node, question in list(self._questions.items()):
            if any(asked is partition for asked, _ in question.places):
                self._receive(node, end if len(question.places) == 1 else None)
        if partition.failure is not None:
            failure, partition.failure = partition.failure, None
            raise failure

    def _ask(self, partitions: Sequence[_Partition]) -> None:
        """One request to each leader. What it was asked before is received first."""
        wanted: dict[int, list[tuple[_Partition, Wanted]]] = {}
        for partition in partitions:
            leader = self._brokers.leader(partition.at)
            place = Wanted(partition.at, partition.next, leader.epoch)
            wanted.setdefault(leader.node, []).append((partition, place))
        for node, some in wanted.items():
            if node in self._questions:
                self._receive(node, None)
            body = fetch_body([place for _, place in some], self._limits, self._isolation)
            self._brokers.connection(node).send(FETCH, body)
            self._questions[node] = _Question([(partition, place.offset) for partition, place in some])
            for partition, _ in some:
                partition.asked = True

    def _ask_ahead(self, partitions: Sequence[_Partition]) -> None:
        """Ask for what will be wanted soon. Trouble is left to whoever wants it."""
        wanted = [one for one in partitions if one.more and not one.asked and one.size < self._limits.partition_bytes]
        try:
            self._ask(wanted)
        except (Answered, *LOST):
            self._start_anew()

    def _receive(self, node: int, end: int | None) -> None:
        """Take the answer of a broker. ``end`` is how far its one partition is wanted, if it was asked for one.

        The next request is on its way before what came is decoded.
        """
        question = self._questions.pop(node)
        asked = {partition.at: (partition, offset) for partition, offset in question.places}
        for partition, _ in question.places:
            partition.asked = False
        answer = self._brokers.connection(node).receive()
        error, found = read_fetch(answer, self._isolation)
        if error:
            raise Answered(error)
        data = np.frombuffer(answer.data, np.uint8)
        taken = []
        for fetched in found:
            partition, offset = asked[fetched.at]
            if self._partitions.get(fetched.at) is not partition or partition.next != offset:
                continue
            if fetched.error:
                partition.failure = Answered(fetched.error)
            else:
                taken.append((partition, offset, fetched, self._step(partition, fetched, data, end)))
        self._ask_ahead([partition for partition, *_ in taken])
        for partition, start, fetched, came in taken:
            shown = visible(came, data, fetched.aborted if self._isolation == READ_COMMITTED else ())
            partition.groups += (_Group(data, group, start) for group in together(shown))

    def _step(self, partition: _Partition, fetched: Fetched, data: Bytes, end: int | None) -> list[Batch]:
        """Go on behind the batches that came. Where none did though the broker has more than ``end``, there is none."""
        found = list(batches(data, fetched.first_byte, fetched.last_byte, self._check))
        if found:
            partition.next = max(partition.next, found[-1].last + 1)
        elif end is not None and fetched.first_byte == fetched.last_byte and fetched.end >= end:
            partition.next = end
        partition.more = partition.next < fetched.end
        return found

    def _put_up_with(self, error: Exception, patience: Patience) -> None:
        """Wait before the next try, unless there is no use in one."""
        if isinstance(error, Answered) and not error.passing:
            raise error
        if isinstance(error, Answered):
            self._complaints.last = str(error)
        else:
            self._complaints(KafkaError(KafkaError._TRANSPORT, str(error)))
        self._start_anew()
        patience.wait()

    def _start_anew(self) -> None:
        """Forget all connections and leaders, and what was asked; what has come is kept."""
        self._brokers.close()
        self._brokers.doubt()
        self._questions.clear()
        for partition in self._partitions.values():
            partition.asked = False

    def _reason(self) -> str:
        return f" ({self._complaints.last})" if self._complaints.last else ""


def _at(rows: Range) -> TopicPartition:
    return TopicPartition(rows.topic, rows.partition)
