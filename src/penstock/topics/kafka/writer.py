"""Executor side: writes records to Kafka with producers that this process keeps."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import KafkaException

from penstock.api.errors import RetriableError

from ..errors import MissingTopics
from ..interface import Staged, Stager, TopicPartition
from .clients import Settings
from .errors import write_failure
from .message_writer import MessageWriter
from .wire.connection import Unsupported
from .wire.options import PRODUCER, options_for
from .wire_writer import WireWriter

Writer = WireWriter | MessageWriter

_writers: dict[Settings, Writer] = {}
_left_to_librdkafka: set[Settings] = set()
_lock = threading.Lock()


def writer_for(settings: Settings) -> Writer:
    """This process's writer for a client configuration."""
    with _lock:
        found = _writers.get(settings)
        if found is None:
            options = None if settings in _left_to_librdkafka else options_for(settings, PRODUCER)
            found = MessageWriter(dict(settings)) if options is None else WireWriter(settings, options)
            _writers[settings] = found
        return found


def forget_writer(settings: Settings) -> None:
    """Use a new producer the next time."""
    with _lock:
        found = _writers.pop(settings, None)
    if isinstance(found, WireWriter):
        found.close()


def write(settings: Settings, at: TopicPartition, table: pa.Table) -> None:
    """Hand rows to this process's writer. They are safe after ``flush``."""
    try:
        writer_for(settings).write(at, table)
    except Unsupported as reason:
        forget_writer(settings)
        _left_to_librdkafka.add(settings)
        raise RetriableError(f"The records are written again with librdkafka's client: {reason}") from reason
    except KafkaException as error:
        forget_writer(settings)
        raise write_failure(error.args[0]) from error
    except Exception:
        forget_writer(settings)
        raise


def flush(settings: Settings) -> None:
    """Wait until all that was handed over is written."""
    try:
        writer_for(settings).flush()
    except Exception:
        forget_writer(settings)
        raise


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
        write(self.settings, partition, table)
        return staged(partition, table)

    def finish(self) -> None:
        flush(self.settings)


def staged(partition: TopicPartition, table: pa.Table) -> Staged:
    """The account of rows that were written."""
    newest = pc.max(table.column("timestamp")).as_py() if len(table) else 0
    return Staged(partition.topic, partition.partition, len(table), table.nbytes, newest or 0)
