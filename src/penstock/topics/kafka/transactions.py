"""Executor side of exactly-once: an open transaction, held by the process of one lane.

A *session* begins when a task takes over its transactional id, which fences whoever used it before, and ends when its
lane ends or something goes wrong. Only :meth:`KafkaTransaction.open` begins one; all else finds the session it was
meant for in this process, or fails, so there are never two holders of an id on our side.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException

from penstock.api.errors import PluginError, RetriableError

from .. import kept
from ..errors import MissingTopics
from ..interface import OffsetRecords, Staged, TopicPartition, Transaction
from .clients import Settings
from .errors import text_of
from .writer import Writer, explained, staged, writer_for

logger = logging.getLogger(__name__)

OPEN_SECONDS = 60.0
COMMIT_SECONDS = 60.0
ABORT_SECONDS = 10.0

FENCED = "There is a newer producer with the same transactionalId which fences the current one."
"""Kafka's text."""

_FENCED_CODES = frozenset(
    [
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
    ]
)


class ProducerFenced(PluginError):
    """Somebody else has taken over the transactional id: this task is not the one that may write."""

    exception = "org.apache.kafka.common.errors.ProducerFencedException"

    def __init__(self, transactional_id: str) -> None:
        super().__init__(f"{FENCED} (transactional.id {transactional_id})")


class SessionLost(RetriableError):
    """The process that held the transaction is gone, and the transaction with it."""

    def __init__(self, transactional_id: str) -> None:
        super().__init__(f"The open transaction of {transactional_id} was lost; the batch is planned again")


class Session:
    """A transactional producer and the batch whose records are in its open transaction."""

    def __init__(self, settings: Settings, transactional_id: str, name: str) -> None:
        self.id = transactional_id
        self.name = name
        self.batch: int | None = None
        self._writer = Writer(dict(settings) | {"transactional.id": transactional_id})
        self._do(lambda: self._writer.producer.init_transactions(OPEN_SECONDS))

    def begin(self, batch: int) -> Writer:
        """The transaction of a batch; an open one of another batch was given up and is aborted."""
        if self.batch != batch:
            self.abort()
            self._do(self._writer.producer.begin_transaction)
            self.batch = batch
        return self._writer

    def commit(self, batch: int, topic: str, records: OffsetRecords) -> None:
        """Add the offsets and make everything visible."""
        producer = self.begin(batch).producer
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
        if self.batch is not None:
            self._writer.producer.purge()
        self._writer.producer.close()

    def _do(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except KafkaException as error:
            raise self.explained(error) from error

    def explained(self, error: KafkaException) -> Exception:
        """What an error of the producer means for the task; the session is over in any case."""
        cause = error.args[0]
        if cause.code() in _FENCED_CODES:
            return ProducerFenced(self.id)
        if cause.fatal() or cause.retriable() or cause.txn_requires_abort():
            return RetriableError(f"The transaction of {self.id} failed and is tried again: {text_of(error)}")
        return explained(cause)


_sessions: dict[str, Session] = {}


@dataclass(frozen=True)
class KafkaTransaction(Transaction):
    """Writes into the transaction of one batch. Dead letters (``outside``) are not part of it.

    Picklable; works that carry it run in the lane that ``pin`` names.
    """

    settings: Settings
    plain: Settings
    transactional_id: str
    session: str
    batch: int
    known: frozenset[str] = frozenset()
    outside: str = ""

    @property
    def pin(self) -> str:
        return self.transactional_id

    def open(self) -> None:
        self._close()
        _sessions[self.transactional_id] = Session(self.settings, self.transactional_id, self.session)
        kept.keep(self.transactional_id, self._close)

    def prepare(self, topics: Sequence[str]) -> None:
        missing = [topic for topic in topics if topic not in self.known]
        if missing:
            raise MissingTopics(missing)

    def write(self, partition: TopicPartition, table: pa.Table) -> Staged:
        if partition.topic == self.outside:
            writer_for(self.plain).write(partition, table)
        else:
            session = self._session()
            try:
                session.begin(self.batch).write(partition, table)
            except KafkaException as error:
                self._close()
                raise session.explained(error) from error
            except ProducerFenced:
                self._close()
                raise
        return staged(partition, table)

    def finish(self) -> None:
        """Dead letters are safe now; the records are when the transaction is committed."""
        if self.outside:
            writer_for(self.plain).flush()

    def commit(self, topic: str, records: OffsetRecords) -> None:
        try:
            self._session().commit(self.batch, topic, records)
        except SessionLost:
            raise
        except Exception:
            self._close()
            raise

    def abort(self) -> None:
        session = _sessions.get(self.transactional_id)
        if session is not None and session.name == self.session:
            try:
                session.abort()
            except Exception:
                self._close()
                raise

    def _session(self) -> Session:
        found = _sessions.get(self.transactional_id)
        if found is None or found.name != self.session:
            raise SessionLost(self.transactional_id)
        return found

    def _close(self) -> None:
        found = _sessions.pop(self.transactional_id, None)
        kept.let_go(self.transactional_id)
        if found is not None:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)
                    found.close()
            except KafkaException as error:
                logger.warning("A producer of %s could not be closed: %s", self.transactional_id, text_of(error))
