"""A producer of our own protocol with the failures that tasks know."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from confluent_kafka import KafkaError

from penstock.api.errors import RetriableError

from ..interface import TopicPartition
from .clients import Settings
from .errors import WriteFailed, write_failure
from .wire.errors import Answered
from .wire.options import Options
from .wire.producer import TooLate, WireProducer

_FORGOTTEN = frozenset(
    [
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
        KafkaError.UNKNOWN_PRODUCER_ID,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
    ]
)
"""The broker does not know this producer any more; another one will do."""


class WireWriter:
    """For any thread, one at a time."""

    def __init__(self, settings: Settings, options: Options) -> None:
        self._producer = WireProducer(settings, options)
        self._lock = threading.Lock()

    def write(self, at: TopicPartition, table: pa.Table) -> None:
        """Send all rows, in order. Nothing is safe before ``flush``. Raises ``Unsupported``, too."""
        with self._lock, failures_explained():
            self._producer.write(at, table)

    def flush(self) -> None:
        """Wait until everything is written. Raises when something was not."""
        with self._lock, failures_explained():
            self._producer.flush()

    def close(self) -> None:
        self._producer.close()


@contextmanager
def failures_explained() -> Iterator[None]:
    """What went wrong, as a task's failure or a reason to try again."""
    try:
        yield
    except TooLate as error:
        raise RetriableError(f"Kafka did not take the records: {error}") from error
    except Answered as error:
        if error.passing or error.code in _FORGOTTEN:
            raise RetriableError(f"Kafka did not take the records: {error}") from error
        if error.text:
            raise WriteFailed(f"Kafka did not take a record: {error.text} ({error.error.name()})") from error
        raise write_failure(error.error) from error
