"""Errors of Kafka's client as a user reads them."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from penstock.api.errors import PluginError, RetriableError

from ..errors import FENCED
from ..interface import TopicPartition


class WriteFailed(PluginError):
    """Kafka did not take a record, and will not take it the next time either."""

    exception = "org.apache.kafka.common.KafkaException"


class ReadFailed(PluginError):
    """Kafka does not let us read, and will not the next time either."""

    exception = "org.apache.kafka.common.KafkaException"


class ProducerFenced(PluginError):
    """Somebody else has taken over the transactional id: this task is not the one that may write."""

    exception = "org.apache.kafka.common.errors.ProducerFencedException"

    def __init__(self, transactional_id: str) -> None:
        super().__init__(f"{FENCED} (transactional.id {transactional_id})")


def cause_of(error: BaseException) -> KafkaError | None:
    """What the client says, if it was the client."""
    if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], KafkaError):
        return error.args[0]
    return None


def text_of(error: BaseException) -> str:
    """One line."""
    cause = cause_of(error)
    return str(cause.str()) if cause is not None else str(error) or type(error).__name__


def is_passing(error: BaseException) -> bool:
    """Whether the same request may well succeed later."""
    cause = cause_of(error)
    if cause is None:
        return isinstance(error, TimeoutError)
    return bool(cause.retriable()) or cause.code() in _PASSING


def is_late(error: BaseException) -> bool:
    """Whether there was no answer in time."""
    cause = cause_of(error)
    return isinstance(error, TimeoutError) or (cause is not None and cause.code() == KafkaError._TIMED_OUT)


_PASSING = frozenset(
    [
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._WAIT_COORD,
        KafkaError._RESOLVE,
        KafkaError._IN_PROGRESS,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    ]
)


def read_failure(error: KafkaError, at: TopicPartition | None) -> Exception:
    """What an error of a consumer means for a task."""
    where = "" if at is None else f" of {at.topic}-{at.partition}"
    if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
        return ReadFailed(f"Not allowed to read the records{where}: {error.str()}")
    if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
        return RetriableError(f"The records{where} that were asked for are not kept any more")
    return RetriableError(f"Kafka could not be read{where}: {error.str()}")


def write_failure(error: KafkaError) -> Exception:
    """What an error of a producer means for a task: its failure, or a reason to try again."""
    if error.code() in _WRITE_PASSING or error.retriable():
        return RetriableError(f"Kafka did not take the records: {error.str()}")
    return WriteFailed(f"Kafka did not take a record: {error.str()} ({error.name()})")


_WRITE_PASSING = frozenset(
    [
        KafkaError._MSG_TIMED_OUT,
        KafkaError._PURGE_QUEUE,
        KafkaError._PURGE_INFLIGHT,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ]
)
