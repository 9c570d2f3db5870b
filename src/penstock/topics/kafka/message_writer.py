"""Writes records with librdkafka's producer, a call for each: for settings that only it can honour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from penstock.api.errors import PluginError
from penstock.storage.kafka_complaints import Complaints

from ..interface import TopicPartition
from .errors import write_failure

_ROWS_AT_ONCE = 10_000
_WAIT_SECONDS = 0.05


class MessageWriter:
    """A producer and what went wrong since the last flush."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._error: KafkaError | None = None
        callbacks = {"on_delivery": self._delivered, "error_cb": Complaints("producer")}
        try:
            self.producer = Producer({**settings, "delivery.report.only.error": True, **callbacks})
        except KafkaException as error:
            raise PluginError(f"Invalid settings of the producer: {error.args[0].str()}") from error

    def write(self, at: TopicPartition, table: pa.Table) -> None:
        """Hand all rows over, in order. Nothing is safe before ``flush``. Raises ``KafkaException``."""
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
            raise write_failure(error)

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
