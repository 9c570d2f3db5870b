"""Writes to partitions with Kafka's own protocol, each batch once and in order, whatever happens to connections.

Every batch carries the producer's id and a number that counts the records of its partition. A broker that has a batch
already says so, and one that lacks the batch before refuses it. So after any trouble all batches that were not
acknowledged are sent again, in order, until they are. There are never more of them under way than a broker remembers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError

from penstock.storage.kafka_complaints import Complaints

from ...interface import TopicPartition
from ..clients import Settings
from .brokers import LOST, Brokers, Patience
from .compression import CODES
from .encoding import Packed, TooLarge, pack
from .errors import Answered
from .options import Options
from .requests import (
    INIT_PRODUCER_ID,
    PRODUCE,
    init_producer_id_body,
    produce_body,
    read_init_producer_id,
    read_produce,
)

REMEMBERED = 5
"""Batches of a producer that a broker knows again."""

UNKNOWN_TOPIC_SECONDS = 30.0
"""A topic that nobody knows for so long does not exist."""

_MOST_BYTES = 1_000_000
_USUAL_MS = {"delivery.timeout.ms": 2**31 - 1, "transaction.timeout.ms": 60_000}
_SEQUENCES = 1 << 31


@dataclass(eq=False)
class _Sent:
    """A batch that was not acknowledged."""

    at: TopicPartition
    parts: list[Any]
    since: float


class TooLate(Exception):
    """Records were not written within ``delivery.timeout.ms``."""


class WireProducer:
    """An idempotent producer. For one thread.

    ``write`` and ``flush`` raise ``Answered`` when something cannot be written, :class:`TooLate`, and ``Unsupported``
    if only another client can help. Nobody knows then what was written since the last flush, and the producer is to be
    closed.
    """

    def __init__(self, settings: Settings, options: Options, transactional_id: str | None = None) -> None:
        given = dict(settings)
        self.options = options
        self.brokers = Brokers(options)
        self.complaints = Complaints("producer")
        self.transactional_id = transactional_id
        self.identity: tuple[int, int] | None = None
        self.enrol: Callable[[TopicPartition], None] = lambda at: None
        """Called before anything is sent to a partition."""
        self._largest = int(given.get("message.max.bytes", _MOST_BYTES))
        self._most = min(self._largest, int(given.get("batch.size", _MOST_BYTES)))
        self._codec = CODES[given.get("compression.type", "none").lower()]
        self._at_once = min(REMEMBERED, int(given.get("max.in.flight.requests.per.connection", REMEMBERED)))
        in_time = "delivery.timeout.ms" if transactional_id is None else "transaction.timeout.ms"
        self._patience_seconds = float(given.get(in_time, _USUAL_MS[in_time])) / 1000
        self._sequences: dict[TopicPartition, int] = {}
        self._unsure: deque[_Sent] = deque()
        self._under_way: dict[int, deque[_Sent]] = {}

    def write(self, at: TopicPartition, table: pa.Table) -> None:
        """Send all rows, in order. They are safe after ``flush``."""
        try:
            for packed in pack(table, self._most, self._largest, self._codec):
                self._submit(at, packed)
        except TooLarge as error:
            raise Answered(KafkaError.MSG_SIZE_TOO_LARGE) from error

    def flush(self) -> None:
        """Wait until everything is written."""
        while self._unsure:
            with self._recovering():
                for node in list(self._under_way):
                    while self._under_way[node]:
                        self._acknowledge(node)

    def settle(self) -> None:
        """Wait until nothing is under way any more, written or not. Raises ``OSError`` when that cannot be known."""
        for node in list(self._under_way):
            while self._under_way[node]:
                self._under_way[node].popleft()
                self.brokers.connection(node).receive()
        self._unsure.clear()

    def close(self) -> None:
        self.brokers.close()

    def _submit(self, at: TopicPartition, packed: Packed) -> None:
        """Send a batch. The first one of a partition is alone: a broker takes any if it knows nothing of a producer."""
        self.enrol(at)
        producer, epoch = self.identity or self._identify()
        sequence = self._sequences.get(at, 0)
        self._sequences[at] = (sequence + packed.count) % _SEQUENCES
        parts = packed.parts(producer, epoch, sequence, self.transactional_id is not None)
        sent = _Sent(at, parts, time.monotonic())
        self._unsure.append(sent)
        with self._recovering():
            self._send(sent)
        if not sequence:
            self.flush()

    def _identify(self) -> tuple[int, int]:
        patience = Patience(self.options)
        began = time.monotonic()
        while True:
            try:
                found = self.brokers.ask_any(INIT_PRODUCER_ID, init_producer_id_body(None, 0), read_init_producer_id)
                if found[0]:
                    raise Answered(found[0])
                self.identity = found[1:]
                return self.identity
            except (Answered, *LOST) as error:
                self.put_up_with(error, began)
                patience.wait()

    def _send(self, sent: _Sent) -> None:
        node = self.brokers.leader(sent.at).node
        under_way = self._under_way.setdefault(node, deque())
        while len(under_way) >= self._at_once:
            self._acknowledge(node)
        timeout = int(self.options.answer_seconds * 1000)
        body = produce_body(self.transactional_id, timeout, sent.at, sent.parts)
        self.brokers.connection(node).send(PRODUCE, body)
        under_way.append(sent)

    def _acknowledge(self, node: int) -> None:
        """Wait for the answer to the oldest batch that a broker was sent."""
        error, text = read_produce(self.brokers.connection(node).receive())
        if error and error != KafkaError.DUPLICATE_SEQUENCE_NUMBER:
            raise Answered(error, text)
        self._unsure.remove(self._under_way[node].popleft())

    @contextmanager
    def _recovering(self) -> Iterator[None]:
        """After trouble, send all again that was not acknowledged, until it is on its way."""
        try:
            yield
            return
        except (Answered, *LOST) as error:
            problem: Exception = error
        patience = Patience(self.options)
        unknown_since = time.monotonic()
        while True:
            self.put_up_with(problem, self._unsure[0].since if self._unsure else unknown_since)
            if not isinstance(problem, Answered) or problem.code != KafkaError.UNKNOWN_TOPIC_OR_PART:
                unknown_since = time.monotonic()
            elif time.monotonic() - unknown_since > UNKNOWN_TOPIC_SECONDS:
                raise problem
            patience.wait()
            try:
                for sent in list(self._unsure):
                    self._send(sent)
                return
            except (Answered, *LOST) as error:
                problem = error

    def put_up_with(self, error: Exception, since: float) -> None:
        """Begin anew with connections, unless there is no use in trying again."""
        if isinstance(error, Answered) and not error.passing:
            raise error
        if time.monotonic() - since > self._patience_seconds:
            raise TooLate(f"Local: Message timed out ({error})") from error
        if not isinstance(error, Answered):
            self.complaints(KafkaError(KafkaError._TRANSPORT, str(error)))
        self.brokers.close()
        self.brokers.doubt()
        self._under_way.clear()
