"""A Kafka home beside plain clients that look at what it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from penstock.storage.memory_log import MemoryLog
from penstock.storage.offset_store import OffsetStore
from penstock.topics.interface import RAW_SCHEMA, TopicPartition
from penstock.topics.kafka.clients import compose
from penstock.topics.kafka.home import KafkaHome
from tests.support.waiting import wait_until


def row(
    value: bytes | None, key: bytes | None = None, stamp: int = 1_700_000_000_000, **headers: bytes
) -> dict[str, Any]:
    cells = [{"key": name, "value": data} for name, data in headers.items()] or None
    return {"key": key, "value": value, "headers": cells, "timestamp": stamp}


def table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=RAW_SCHEMA)


class KafkaWorld:
    """A context manager."""

    def __init__(self, bootstrap: str, folder: Path, number: int) -> None:
        self.bootstrap = bootstrap
        self.folder = folder
        self.name = f"t{number}"
        self.worker = {"bootstrap.servers": bootstrap}
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        self.offsets = OffsetStore(MemoryLog())
        self.offsets.start()
        self.home = KafkaHome(compose(self.worker), self.offsets)
        self.news: list[set[str]] = []
        self.home.listen(self.news.append)

    def __enter__(self) -> KafkaWorld:
        return self

    def __exit__(self, *error: object) -> None:
        self.home.stop()

    def connector(self, name: str = "c", may_create: bool = True, **consumer: str) -> KafkaHome:
        """The home as a connector sees it; ``consumer`` are overrides, with underscores for dots."""
        overrides = {key.replace("_", "."): value for key, value in consumer.items()}
        return self.home.for_connector(
            compose(self.worker, {"consumer": overrides}, name, f"connect-{name}", may_create=may_create)
        )

    def make(self, topic: str, partitions: int = 1, **settings: str) -> str:
        config = {key.replace("_", "."): value for key, value in settings.items()}
        self.admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(30)
        wait_until(lambda: topic in self.admin.list_topics(timeout=10).topics, f"{topic} exists")
        return topic

    def produce(self, topic: str, values: Sequence[bytes], partition: int = 0) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for value in values:
            producer.produce(topic, value, partition=partition)
        assert producer.flush(30) == 0

    def consume(self, topic: str, count: int, partition: int = 0, isolation: str = "read_committed") -> list[Any]:
        """What a plain consumer sees from the beginning."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "looker", "isolation.level": isolation})
        consumer.assign([Place(topic, partition, 0)])
        found = consumer.consume(count, 120)
        consumer.close()
        assert all(message.error() is None for message in found)
        return found

    def write(self, home: KafkaHome, topic: str, rows: Sequence[Mapping[str, Any]], partition: int = 0) -> None:
        """As a work does."""
        home.ensure([topic], lambda _: {"partitions": "1"}).result(30)
        stager = home.stager()
        stager.prepare([topic])
        stager.write(TopicPartition(topic, partition), table(rows))
        stager.finish()

    def read(self, home: KafkaHome, start: Mapping[TopicPartition, int | None], seconds: float = 120.0) -> list[Any]:
        """All records from some positions on, as (offset, value), until there is nothing new."""
        found: list[Any] = []
        positions = dict(start)
        ranges = wait_until(lambda: home.ranges(positions, 10_000, 1 << 24), "something to read", seconds)
        while ranges:
            reader = home.reader()
            reader.prepare(ranges)
            for rows in ranges:
                for first, chunk in reader.read(rows):
                    found += [(first + n, value) for n, value in enumerate(chunk.column("value").to_pylist())]
                positions[TopicPartition(rows.topic, rows.partition)] = rows.end
            ranges = home.ranges(positions, 10_000, 1 << 24)
        return found
