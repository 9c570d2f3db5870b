"""Executor side: writes records to Kafka with producers that this process keeps."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from penstock.api.errors import PluginError, RetriableError

from ..errors import MissingTopics
from ..interface import Staged, Stager, TopicPartition
from .clients import Settings
from .complaints import Complaints

_ROWS_AT_ONCE = 10_000
_WAIT_SECONDS = 0.05


class WriteFailed(PluginError):
    """Kafka did not take a record, and will not take it the next time either."""

    exception = "org.apache.kafka.common.KafkaException"


class Writer:
    """A producer and what went wrong since the last flush."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._error: KafkaError | None = None
        callbacks = {"on_delivery": self._delivered, "error_cb": Complaints("producer")}
        self.producer = Producer({**settings, "delivery.report.only.error": True, **callbacks})

    def write(self, at: TopicPartition, table: pa.Table) -> None:
        """Hand all rows over, in order. Nothing is safe before ``flush``."""
        for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
            self._write(at, batch)
            self.producer.poll(0)

    def flush(self) -> None:
        """Wait until everything is written. Raises when something was not."""
        while self.producer.flush(1.0):
            if self._error is not None:
                break
        error, self._error = self._error, None
        if error is not None:
            self.producer.purge()
            self.producer.flush(1.0)
            self._error = None
            raise explained(error)

    def _write(self, at: TopicPartition, rows: pa.RecordBatch) -> None:
        topic, partition = at
        produce = self.producer.produce
        values, keys = rows.column("value").to_pylist(), rows.column("key").to_pylist()
        stamps = rows.column("timestamp").to_pylist()
        if rows.column("headers").null_count < len(rows):
            self._write_with_headers(at, rows)
            return
        done = 0
        while True:
            try:
                for done in range(done, len(values)):  # noqa: B020
                    produce(topic, values[done], keys[done], partition, timestamp=stamps[done])
                return
            except BufferError:
                self.producer.poll(_WAIT_SECONDS)

    def _write_with_headers(self, at: TopicPartition, rows: pa.RecordBatch) -> None:
        topic, partition = at
        for row in rows.to_pylist():
            headers = [(header["key"], header["value"]) for header in row["headers"] or ()]
            while True:
                try:
                    self.producer.produce(
                        topic, row["value"], row["key"], partition, timestamp=row["timestamp"], headers=headers
                    )
                    break
                except BufferError:
                    self.producer.poll(_WAIT_SECONDS)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and self._error is None:
            self._error = error


def explained(error: KafkaError) -> Exception:
    """The failure of a task, or a reason to try again."""
    if error.code() in _PASSING or error.retriable():
        return RetriableError(f"Kafka did not take the records: {error.str()}")
    return WriteFailed(f"Kafka did not take a record: {error.str()} ({error.name()})")


_PASSING = frozenset(
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

_writers: dict[Settings, Writer] = {}
_lock = threading.Lock()


def writer_for(settings: Settings) -> Writer:
    """This process's writer for a client configuration."""
    with _lock:
        found = _writers.get(settings)
        if found is None:
            try:
                found = _writers[settings] = Writer(dict(settings))
            except KafkaException as error:
                raise PluginError(f"Invalid settings of the producer: {error.args[0].str()}") from error
        return found


def forget_writer(settings: Settings) -> None:
    """Use a new producer the next time."""
    with _lock:
        _writers.pop(settings, None)


@dataclass(frozen=True)
class KafkaStager(Stager):
    """Writes at once: what it stages is in Kafka, so the works of a ``writer`` must come one after the other.

    ``known`` are topics that exist.
    """

    settings: Settings
    known: frozenset[str] = frozenset()
    writer: str | None = None

    @property
    def pin(self) -> str | None:
        return self.writer

    def prepare(self, topics: Sequence[str]) -> None:
        missing = [topic for topic in topics if topic not in self.known]
        if missing:
            raise MissingTopics(missing)

    def write(self, partition: TopicPartition, table: pa.Table) -> Staged:
        try:
            writer_for(self.settings).write(partition, table)
        except KafkaException as error:
            forget_writer(self.settings)
            raise explained(error.args[0]) from error
        return staged(partition, table)

    def finish(self) -> None:
        try:
            writer_for(self.settings).flush()
        except Exception:
            forget_writer(self.settings)
            raise


def staged(partition: TopicPartition, table: pa.Table) -> Staged:
    """The account of rows that were written."""
    newest = pc.max(table.column("timestamp")).as_py() if len(table) else 0
    return Staged(partition.topic, partition.partition, len(table), table.nbytes, newest or 0)
