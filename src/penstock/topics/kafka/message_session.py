"""An open transaction of librdkafka's producer: for settings that only it can honour."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException

from penstock.api.errors import RetriableError

from ..interface import OffsetRecords, TopicPartition
from .clients import Settings
from .errors import ProducerFenced, text_of, write_failure
from .message_writer import MessageWriter

logger = logging.getLogger(__name__)

OPEN_SECONDS = 60.0
COMMIT_SECONDS = 60.0
ABORT_SECONDS = 60.0

_FENCED_CODES = frozenset(
    [
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
    ]
)


class MessageSession:
    """A transactional producer and the batch whose records are in its open transaction."""

    def __init__(self, settings: Settings, transactional_id: str, name: str) -> None:
        self.id = transactional_id
        self.name = name
        self.batch: int | None = None
        self._writer = MessageWriter(dict(settings) | {"transactional.id": transactional_id})
        self._do(lambda: self._writer.producer.init_transactions(OPEN_SECONDS))

    def write(self, batch: int, at: TopicPartition, table: pa.Table) -> None:
        """Into the transaction of a batch; an open one of another batch was given up and is aborted."""
        self._do(lambda: self._begin(batch).write(at, table))

    def _begin(self, batch: int) -> MessageWriter:
        if self.batch != batch:
            self.abort()
            self._do(self._writer.producer.begin_transaction)
            self.batch = batch
        return self._writer

    def commit(self, batch: int, topic: str, records: OffsetRecords) -> None:
        """Add the offsets and make everything visible."""
        producer = self._begin(batch).producer
        for key, value in records:
            producer.produce(topic, key=key, value=value)
        self._do(lambda: producer.commit_transaction(COMMIT_SECONDS))
        self.batch = None

    def abort(self) -> None:
        """Nothing of the open transaction will ever be seen."""
        if self.batch is not None:
            self.batch = None
            self._do(lambda: self._writer.producer.abort_transaction(ABORT_SECONDS))

    def close(self) -> None:
        """Best effort."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                if self.batch is not None:
                    self._writer.producer.purge()
                self._writer.producer.close()
        except KafkaException as error:
            logger.warning("A producer of %s could not be closed: %s", self.id, text_of(error))

    def _do(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except KafkaException as error:
            raise self._explained(error) from error

    def _explained(self, error: KafkaException) -> Exception:
        """What an error of the producer means for the task; the session is over in any case."""
        cause = error.args[0]
        if cause.code() in _FENCED_CODES:
            return ProducerFenced(self.id)
        if cause.fatal() or cause.retriable() or cause.txn_requires_abort():
            return RetriableError(f"The transaction of {self.id} failed and is tried again: {text_of(error)}")
        return write_failure(cause)
