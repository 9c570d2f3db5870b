"""An open transaction with our own protocol."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError

from penstock.api.errors import RetriableError

from ..interface import RAW_SCHEMA, OffsetRecords, TopicPartition
from .clients import Settings
from .errors import ProducerFenced
from .message_session import ABORT_SECONDS, COMMIT_SECONDS, OPEN_SECONDS
from .wire.errors import Answered
from .wire.options import Options
from .wire.partitioning import partition_of
from .wire.producer import TooLate
from .wire.transactional import TransactionalProducer
from .wire_writer import failures_explained

logger = logging.getLogger(__name__)

_FENCED_CODES = frozenset([KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH])
_TRANSACTION_ABORTABLE = 120
_OVER = frozenset(
    [
        KafkaError.INVALID_TXN_STATE,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
        KafkaError.TRANSACTION_COORDINATOR_FENCED,
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
        KafkaError.UNKNOWN_PRODUCER_ID,
        _TRANSACTION_ABORTABLE,
    ]
)
"""The transaction cannot go on; the next one can."""


class WireSession:
    """A transactional producer and the batch whose records are in its open transaction.

    Every method but ``close`` raises what the task is to know; the session is over then. ``Unsupported`` when it begins
    is a reason to use another client.
    """

    def __init__(self, settings: Settings, options: Options, transactional_id: str, name: str) -> None:
        self.id = transactional_id
        self.name = name
        self.batch: int | None = None
        self._failed = False
        self._producer = TransactionalProducer(settings, options, transactional_id)
        try:
            with self._explained():
                self._producer.begin(OPEN_SECONDS)
        except BaseException:
            self._producer.close()
            raise

    def write(self, batch: int, at: TopicPartition, table: pa.Table) -> None:
        """Into the transaction of a batch; an open one of another batch was given up and is aborted."""
        self._begin(batch)
        with self._explained():
            self._producer.write(at, table)

    def commit(self, batch: int, topic: str, records: OffsetRecords) -> None:
        """Add the offsets and make everything visible."""
        self._begin(batch)
        with self._explained():
            for at, table in self._tables(topic, records):
                self._producer.write(at, table)
            self._producer.commit(COMMIT_SECONDS)
        self.batch = None

    def abort(self) -> None:
        """Nothing of the open transaction will ever be seen."""
        if self.batch is not None:
            self.batch = None
            with self._explained():
                self._producer.abort(ABORT_SECONDS)

    def close(self) -> None:
        """Abort what is open. After a failure that is left to whoever begins next, or to the broker in a while."""
        try:
            if not self._failed:
                self.abort()
        except Exception as error:
            logger.debug("The transaction of %s was left open: %s", self.id, error)
        self._producer.close()

    def _begin(self, batch: int) -> None:
        if self.batch != batch:
            self.abort()
            self.batch = batch

    def _tables(self, topic: str, records: OffsetRecords) -> Iterator[tuple[TopicPartition, pa.Table]]:
        count = self._producer.partitions(topic) if records else 0
        now = time.time_ns() // 1_000_000
        rows: dict[int, list[dict[str, Any]]] = {}
        for key, value in records:
            cells = {"key": key, "value": value, "headers": None, "timestamp": now}
            rows.setdefault(partition_of(key, count), []).append(cells)
        for partition, found in rows.items():
            yield TopicPartition(topic, partition), pa.Table.from_pylist(found, schema=RAW_SCHEMA)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            with failures_explained():
                yield
        except Exception as error:
            self._failed = True
            cause = error.__cause__
            if isinstance(cause, Answered) and cause.code in _FENCED_CODES:
                raise ProducerFenced(self.id) from cause
            if isinstance(cause, TooLate) or (isinstance(cause, Answered) and (cause.passing or cause.code in _OVER)):
                raise RetriableError(f"The transaction of {self.id} failed and is tried again: {cause}") from cause
            raise
