"""What only the leader of a cluster may write, in transactions: a former leader cannot write any more (KIP-618)."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from .errors import PassingStorageError
from .kafka_transactions import (
    CLAIM_SECONDS,
    COMMIT_SECONDS,
    Offsets,
    is_fencing,
    kafka_error,
    patiently,
    produce,
    transactional,
)
from .log import LogRecord

logger = logging.getLogger(__name__)

NOT_LEADER = (
    "This worker cannot prove any more that it leads its cluster: nothing was written. Try again; the request will go "
    "to the new leader."
)

Done = Callable[[BaseException | None, Offsets], None]


class Fenced(PassingStorageError):
    """Another worker has taken over the writing."""


class LeaderWriter:
    """Appends records of one topic in a transaction for each batch, in order, on a thread of its own.

    Whoever claims the transactional id fences who had it before. ``may_claim`` tells whether this worker can prove that
    it leads; without that nothing is claimed and nothing written.
    """

    def __init__(
        self, settings: Mapping[str, Any], transactional_id: str, topic: str, may_claim: Callable[[], bool]
    ) -> None:
        self._settings = transactional(settings, transactional_id, f"{transactional_id}-leader")
        self._topic = topic
        self._may_claim = may_claim
        self._producer: Producer | None = None
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="leader-writer", daemon=True)
        self._thread.start()

    def claim(self) -> None:
        """This worker leads from now on: fence the one before it and end what that one left open. Returns at once."""
        self._work.put(self._claim_anew)

    def write(self, records: Sequence[LogRecord], done: Done) -> None:
        """Append records, all or none; ``done`` is called on the writer's thread with their ends, or why not."""
        self._work.put(lambda: self._write(records, done))

    def stop(self) -> None:
        """End after what was asked for. Idempotent."""
        self._work.put(None)
        if self._thread.is_alive():
            self._thread.join(COMMIT_SECONDS)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()

    def _claim_anew(self) -> None:
        self._producer = None
        try:
            self._claimed()
        except (PassingStorageError, KafkaException) as error:
            logger.warning("The right to write to %s could not be claimed yet: %s", self._topic, error)

    def _claimed(self) -> Producer:
        if self._producer is None:
            if not self._may_claim():
                raise Fenced(NOT_LEADER)
            fresh = Producer(self._settings)
            fresh.init_transactions(CLAIM_SECONDS)
            self._producer = fresh
            logger.info("Claimed the right to write to %s as %s", self._topic, self._settings["transactional.id"])
        return self._producer

    def _write(self, records: Sequence[LogRecord], done: Done) -> None:
        try:
            try:
                ends = self._transaction(records)
            except Fenced:
                ends = self._transaction(records)
        except Exception as error:
            done(error, {})
        else:
            done(None, ends)

    def _transaction(self, records: Sequence[LogRecord]) -> Offsets:
        """Nothing is written when it raises :class:`Fenced`: it may be tried again, if this worker may claim again."""
        try:
            producer = self._claimed()
            producer.begin_transaction()
            ends = produce(producer, self._topic, records)
            patiently(lambda: producer.commit_transaction(COMMIT_SECONDS))
        except (KafkaException, SystemError) as error:
            self._give_up(kafka_error(error))
            raise
        return ends

    def _give_up(self, error: KafkaError) -> None:
        """After a failure: abort when that can be done, else begin again with a new claim."""
        producer, self._producer = self._producer, None
        if is_fencing(error):
            logger.warning("Another worker has claimed the right to write to %s: %s", self._topic, error.str())
            raise Fenced(NOT_LEADER)
        if producer is not None and error.txn_requires_abort():
            try:
                producer.abort_transaction(COMMIT_SECONDS)
                self._producer = producer
            except KafkaException as failed:
                logger.info("A transaction on %s is left to be ended by the next claim: %s", self._topic, failed)
