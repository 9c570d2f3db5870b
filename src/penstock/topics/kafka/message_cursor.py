"""Reads bounded ranges with librdkafka's consumer, a call for each record: for settings that only it can honour."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Place

from penstock.api.errors import PluginError, RetriableError
from penstock.storage.kafka_complaints import Complaints

from ..interface import RAW_SCHEMA, Range, TopicPartition
from .clients import Settings
from .errors import read_failure

AT_ONCE = 10_000
STALL_SECONDS = 30.0
"""A read that gets nothing for so long is given up and tried again."""

_HEADERS = RAW_SCHEMA.field("headers").type


class MessageCursor:
    """A consumer that follows some partitions; what it was given beyond a range waits for the next one."""

    def __init__(self, settings: Settings) -> None:
        self.used = 0.0
        try:
            self._complaints = Complaints("consumer")
            self._consumer = Consumer({**dict(settings), "error_cb": self._complaints})
        except KafkaException as error:
            raise PluginError(f"Invalid settings of the consumer: {error.args[0].str()}") from error
        self._positions: dict[TopicPartition, int] = {}
        self._waiting: dict[TopicPartition, list[Message]] = {}
        self._ends: dict[TopicPartition, int] = {}

    def follows(self, ranges: Sequence[Range]) -> int:
        """How many of these ranges begin where it stands."""
        return sum(self._positions.get(_at(rows)) == rows.start for rows in ranges)

    def follow(self, ranges: Sequence[Range]) -> None:
        """Read these partitions, each from the start of its first range, and no others."""
        wanted: dict[TopicPartition, int] = {}
        for rows in ranges:
            wanted.setdefault(_at(rows), rows.start)
        gone = [at for at in self._positions if self._positions[at] != wanted.get(at)]
        new = [at for at, start in wanted.items() if self._positions.get(at) != start]
        if len(gone) == len(self._positions):
            self._consumer.assign([Place(at.topic, at.partition, wanted[at]) for at in new])
        else:
            if gone:
                self._consumer.incremental_unassign([Place(*at) for at in gone])
            if new:
                self._consumer.incremental_assign([Place(at.topic, at.partition, wanted[at]) for at in new])
        for at in gone:
            del self._positions[at]
        for at in (*gone, *new):
            self._waiting.pop(at, None)
            self._ends.pop(at, None)
        self._positions.update({at: wanted[at] for at in new})

    def read(self, rows: Range) -> list[tuple[int, pa.Table]]:
        """The records of a range, in order."""
        at = _at(rows)
        if self._positions.get(at) != rows.start:
            self.follow([rows])
        found = self._waiting.setdefault(at, [])
        patience = time.monotonic() + STALL_SECONDS
        while not self._is_complete(at, rows.end):
            if self._take():
                patience = time.monotonic() + STALL_SECONDS
            elif time.monotonic() > patience:
                raise RetriableError(
                    f"Kafka sent nothing of {at.topic}-{at.partition} behind offset {rows.start} for "
                    f"{STALL_SECONDS:g} s{self._reason()}"
                )
        cut = _count_before(found, rows.end)
        self._waiting[at] = found[cut:]
        self._positions[at] = rows.end
        return chunks(found[:cut])

    def rest(self) -> None:
        """Between works: let go of what has nothing more to give, so that an idle consumer asks for nothing."""
        idle = [at for at, end in self._ends.items() if not self._waiting.get(at) and end <= self._positions[at]]
        if idle:
            self._consumer.incremental_unassign([Place(*at) for at in idle])
            for at in idle:
                del self._ends[at], self._positions[at]
                self._waiting.pop(at, None)

    def close(self) -> None:
        self._consumer.close()

    def _reason(self) -> str:
        return f" ({self._complaints.last})" if self._complaints.last else ""

    def _is_complete(self, at: TopicPartition, end: int) -> bool:
        if self._ends.get(at, 0) >= end:
            return True
        found = self._waiting[at]
        return bool(found) and _offset(found[-1]) >= end - 1

    def _take(self) -> int:
        """Whatever is there; waits only for the first. (``consume`` alone would wait until it has all it may take.)"""
        messages = self._consumer.consume(AT_ONCE, 0)
        if not messages:
            waited = self._consumer.poll(0.5)
            if waited is None:
                return 0
            messages = [waited, *self._consumer.consume(AT_ONCE, 0)]
        first = messages[0]
        if len(self._positions) == 1 and not any(map(_error_of, messages)):
            at = TopicPartition(str(first.topic()), int(first.partition() or 0))
            if at in self._waiting:
                self._waiting[at] += messages
            return len(messages)
        for message in messages:
            self._take_one(message)
        return len(messages)

    def _take_one(self, message: Message) -> None:
        error = message.error()
        if error is not None and message.topic() is None:
            raise read_failure(error, None)
        at = TopicPartition(str(message.topic()), int(message.partition() or 0))
        if error is None:
            if at in self._positions:
                self._waiting.setdefault(at, []).append(message)
        elif error.code() == KafkaError._PARTITION_EOF:
            if at in self._positions:
                self._ends[at] = _offset(message)
        else:
            self._positions.pop(at, None)
            raise read_failure(error, at)


_error_of = Message.error


def _at(rows: Range) -> TopicPartition:
    return TopicPartition(rows.topic, rows.partition)


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset


def _count_before(messages: Sequence[Message], end: int) -> int:
    """How many messages have a smaller offset; they are in order."""
    if not messages or _offset(messages[-1]) < end:
        return len(messages)
    low, high = 0, len(messages)
    while low < high:
        middle = (low + high) // 2
        if _offset(messages[middle]) < end:
            low = middle + 1
        else:
            high = middle
    return low


def chunks(messages: Sequence[Message]) -> list[tuple[int, pa.Table]]:
    """Records as tables whose offsets have no gaps."""
    if not messages:
        return []
    table = _table(messages)
    first, last = _offset(messages[0]), _offset(messages[-1])
    if last - first == len(messages) - 1:
        return [(first, table)]
    offsets = np.fromiter(map(_offset, messages), np.int64, len(messages))
    edges = [0, *(np.flatnonzero(np.diff(offsets) != 1) + 1).tolist(), len(messages)]
    return [(int(offsets[start]), table.slice(start, end - start)) for start, end in pairwise(edges)]


def _table(messages: Sequence[Message]) -> pa.Table:
    headers: list[Any] = [message.headers() for message in messages]
    if any(headers):
        cells = [[{"key": k, "value": v} for k, v in found] if found else None for found in headers]
        header_column = pa.array(cells, _HEADERS)
    else:
        header_column = pa.nulls(len(messages), _HEADERS)
    columns = [
        pa.array([message.key() for message in messages], pa.binary()),
        pa.array([message.value() for message in messages], pa.binary()),
        header_column,
        pa.array([message.timestamp()[1] for message in messages], pa.int64()),
    ]
    return pa.Table.from_arrays(columns, schema=RAW_SCHEMA)
