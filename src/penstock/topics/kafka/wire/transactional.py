"""A producer whose records become visible together, or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa
from confluent_kafka import KafkaError

from ...interface import TopicPartition
from ..clients import Settings
from .brokers import LOST, Brokers, Patience
from .errors import Answered
from .fields import Answer
from .options import Options
from .producer import TooLate, WireProducer
from .requests import (
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    TRANSACTION_COORDINATOR,
    Api,
    Node,
    add_partition_body,
    end_transaction_body,
    find_coordinator_body,
    init_producer_id_body,
    read_add_partition,
    read_end_transaction,
    read_find_coordinator,
    read_init_producer_id,
)

T = TypeVar("T")

_TIMEOUT_MS = 60_000
_ASK_SECONDS = 60.0
_ELSEWHERE = frozenset([KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR])


class TransactionalProducer:
    """For one thread. Records that are written belong to the transaction that the next ``commit`` or ``abort`` ends.

    Methods raise what those of ``WireProducer`` raise. After that, only ``close`` may be called: whoever begins with
    the same id lets the broker abort what was open.
    """

    def __init__(self, settings: Settings, options: Options, transactional_id: str) -> None:
        self._id = transactional_id
        self._timeout_ms = int(dict(settings).get("transaction.timeout.ms", _TIMEOUT_MS))
        self._producer = WireProducer(settings, options, transactional_id)
        self._producer.enrol = self._enrol
        self._brokers = Brokers(options)
        self._coordinator: Node | None = None
        self._enrolled: set[TopicPartition] = set()

    def begin(self, seconds: float) -> None:
        """Take over the id, once and before all else: whoever has it is fenced, and what they had open is aborted."""
        body = init_producer_id_body(self._id, self._timeout_ms)
        _, producer, epoch = self._ask(INIT_PRODUCER_ID, body, read_init_producer_id, lambda found: found[0], seconds)
        self._producer.identity = producer, epoch

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has."""
        return self._tried(lambda: self._brokers.partitions(topic), _ASK_SECONDS)

    def write(self, at: TopicPartition, table: pa.Table) -> None:
        self._producer.write(at, table)

    def commit(self, seconds: float) -> None:
        self._producer.flush()
        self._end(True, seconds)

    def abort(self, seconds: float) -> None:
        """What is under way is waited for, so that it cannot arrive in the next transaction."""
        try:
            self._producer.settle()
        except LOST as error:
            raise TooLate(f"nobody knows what is under way: {error}") from error
        self._end(False, seconds)

    def close(self) -> None:
        self._producer.close()
        self._brokers.close()

    def _end(self, commit: bool, seconds: float) -> None:
        if self._enrolled:
            body = end_transaction_body(self._id, *self._identity(), commit)
            self._ask(END_TXN, body, read_end_transaction, int, seconds)
            self._enrolled.clear()

    def _enrol(self, at: TopicPartition) -> None:
        """The coordinator must know of a partition before records go there."""
        if at not in self._enrolled:
            body = add_partition_body(self._id, *self._identity(), at)
            self._ask(ADD_PARTITIONS_TO_TXN, body, read_add_partition, int, _ASK_SECONDS)
            self._enrolled.add(at)

    def _identity(self) -> tuple[int, int]:
        assert self._producer.identity is not None
        return self._producer.identity

    def _ask(
        self, api: Api, body: bytes, read: Callable[[Answer], T], error_of: Callable[[T], int], seconds: float
    ) -> T:
        """Ask the coordinator, wherever it is, until it can answer."""

        def ask() -> T:
            found = read(self._brokers.meet(self._found_coordinator()).ask(api, body))
            if error_of(found):
                raise Answered(error_of(found))
            return found

        return self._tried(ask, seconds)

    def _tried(self, call: Callable[[], T], seconds: float) -> T:
        patience = Patience(self._producer.options)
        until = time.monotonic() + seconds
        while True:
            try:
                return call()
            except (Answered, *LOST) as error:
                self._put_up_with(error, until)
                patience.wait()

    def _found_coordinator(self) -> Node:
        if self._coordinator is None:
            body = find_coordinator_body(self._id, TRANSACTION_COORDINATOR)
            error, self._coordinator = self._brokers.ask_any(FIND_COORDINATOR, body, read_find_coordinator)
            if error:
                self._coordinator = None
                raise Answered(error)
        return self._coordinator

    def _put_up_with(self, error: Exception, until: float) -> None:
        if isinstance(error, Answered) and not error.passing:
            raise error
        if time.monotonic() > until:
            raise TooLate(f"Local: Timed out ({error})") from error
        if not isinstance(error, Answered):
            self._producer.complaints(KafkaError(KafkaError._TRANSPORT, str(error)))
            self._brokers.close()
        self._brokers.doubt()
        if not isinstance(error, Answered) or error.code in _ELSEWHERE:
            self._coordinator = None
