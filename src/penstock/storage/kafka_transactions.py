"""Records of one internal topic that are written together: a transaction for all of them (KIP-98)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from .errors import PassingStorageError, StorageError
from .faults import reach
from .log import LogRecord

logger = logging.getLogger(__name__)

CLAIM_SECONDS = 30.0
COMMIT_SECONDS = 30.0
TRANSACTION_MS = 10_000
"""Who dies in a transaction holds up readers no longer than this, or until the next one under the id begins."""

Offsets = dict[int, int]
"""The next offset of each partition that was written to."""

_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError._FATAL)


class Overtaken(PassingStorageError):
    """Another one has the transactional id by now, or the right to write: nothing of ours is seen."""


def write_together(
    settings: Mapping[str, Any],
    transactional_id: str,
    topic: str,
    records: Sequence[LogRecord],
    may_write: Callable[[], bool],
) -> Offsets:
    """Write all of them or none, under an id whose former user cannot commit any more. Blocks.

    ``may_write`` is asked when the id is ours: whoever comes after that fences us. Raises a :class:`StorageError`, or
    what the client raises.
    """
    producer = _begun(settings, transactional_id)
    if not may_write():
        raise Overtaken("This worker cannot prove any more that it leads its cluster: nothing was written. Try again.")
    try:
        producer.begin_transaction()
        ends = produce(producer, topic, records)
        reach("together-in-kafka")
        patiently(lambda: producer.commit_transaction(COMMIT_SECONDS))
    except (KafkaException, SystemError) as error:
        cause = kafka_error(error)
        if is_fencing(cause):
            raise Overtaken(
                f"Kafka has ended the transaction of {transactional_id}, because somebody else has begun one, or it "
                f"took longer than {TRANSACTION_MS / 1000:g} s: nothing was written. Try again."
            ) from error
        _abort(producer, transactional_id)
        if cause.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            raise StorageError(
                f"A record for the topic {topic} is larger than it takes (its max.message.bytes): nothing was written."
            ) from error
        raise KafkaException(cause) from error
    return ends


def _begun(settings: Mapping[str, Any], transactional_id: str) -> Producer:
    producer = Producer(transactional(settings, transactional_id, transactional_id))
    try:
        producer.init_transactions(CLAIM_SECONDS)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            raise
        raise StorageError(
            f"Kafka does not let this login use the transactional id {transactional_id}, which offsets are altered and "
            "reset with: nothing was written. Allow it to describe that id and to write with it."
        ) from error
    return producer


def transactional(settings: Mapping[str, Any], transactional_id: str, client_id: str) -> dict[str, Any]:
    """The settings of a producer for short transactions."""
    return {
        "log_level": 2,
        **settings,
        "client.id": client_id,
        "transactional.id": transactional_id,
        "transaction.timeout.ms": TRANSACTION_MS,
        "acks": "all",
        "linger.ms": 0,
        "partitioner": "murmur2_random",
    }


def produce(producer: Producer, topic: str, records: Sequence[LogRecord]) -> Offsets:
    """Add records to the open transaction and wait until the broker has them. Raises for the first it has not taken."""
    ends: Offsets = {}
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error)
            return
        at, offset = message.partition(), message.offset()
        assert at is not None
        assert offset is not None
        ends[at] = max(ends.get(at, 0), offset + 1)

    for record in records:
        _hand_over(producer, topic, record, delivered)
    producer.flush(COMMIT_SECONDS)
    if failures:
        raise KafkaException(failures[0])
    return ends


def _hand_over(producer: Producer, topic: str, record: LogRecord, delivered: Any) -> None:
    while True:
        try:
            producer.produce(topic, key=record.key, value=record.value, on_delivery=delivered)
            return
        except BufferError:
            producer.poll(0.05)


def patiently(call: Callable[[], Any]) -> None:
    """Repeat a call that may be repeated until its outcome is known."""
    until = time.monotonic() + COMMIT_SECONDS
    while True:
        try:
            call()
            return
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > until:
                raise


def kafka_error(error: BaseException | None) -> KafkaError:
    """What Kafka said. A fatal error in a callback comes out of the client as another one's cause."""
    while error is not None and not isinstance(error, KafkaException):
        error = error.__cause__ or error.__context__
    return KafkaError(KafkaError._FATAL) if error is None else error.args[0]


def is_fencing(error: KafkaError) -> bool:
    """Whether another has the transactional id by now."""
    return error.fatal() or error.code() in _FENCED


def _abort(producer: Producer, transactional_id: str) -> None:
    try:
        producer.abort_transaction(COMMIT_SECONDS)
    except KafkaException as error:
        logger.info("The transaction of %s is left to be ended by time or its successor: %s", transactional_id, error)
