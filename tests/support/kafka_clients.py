"""Plain Kafka clients for tests that look at what a worker did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ListOffsetsResultInfo,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from .waiting import wait_until

QUIET: dict[str, Any] = {"log_level": "2"}


class KafkaClients:
    """Looks at topics and groups, and writes records, as any other program does."""

    def __init__(self, bootstrap: str, settings: Mapping[str, Any] | None = None) -> None:
        self.settings: dict[str, Any] = {"bootstrap.servers": bootstrap, **QUIET, **(settings or {})}
        self.admin = AdminClient(self.settings)

    def make(self, topic: str, partitions: int = 1) -> str:
        self.admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
        wait_until(lambda: topic in self.topics(), f"{topic} exists")
        return topic

    def grow(self, topic: str, partitions: int) -> None:
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])[topic].result(30)
        wait_until(lambda: topic not in self.topics(), f"{topic} is gone")

    def delete_records(self, topic: str, before: int, partition: int = 0) -> None:
        """Those before an offset, as retention does."""
        [deleted] = self.admin.delete_records([Place(topic, partition, before)]).values()
        deleted.result(30)

    def topics(self) -> dict[str, int]:
        return {name: len(found.partitions) for name, found in self.admin.list_topics(timeout=120).topics.items()}

    def produce(self, topic: str, values: Sequence[bytes], partition: int = 0) -> None:
        producer = Producer(self.settings)
        for value in values:
            producer.produce(topic, value, partition=partition)
            producer.poll(0)
        assert producer.flush(60) == 0

    def values(self, topic: str, count: int, seconds: float = 120.0, partition: int = 0) -> list[bytes]:
        """The first committed values of a partition, ``count`` of them or as many as come in time."""
        return [message.value() for message in self.messages(topic, count, seconds, partition)]

    def messages(self, topic: str, count: int, seconds: float = 120.0, partition: int = 0) -> list[Any]:
        consumer = Consumer({**self.settings, "group.id": "looker", "isolation.level": "read_committed"})
        try:
            wait_until(lambda: topic in self.topics(), f"{topic} exists", seconds)
            consumer.assign([Place(topic, partition, 0)])
            found: list[Any] = []

            def enough() -> bool:
                news = consumer.consume(min(10_000, count + 1 - len(found)), 0.5)
                found.extend(message for message in news if message.error() is None)
                return len(found) >= count

            wait_until(enough, f"{count} records in {topic}, {len(found)} so far", seconds)
            return found
        finally:
            consumer.close()

    def end(self, topic: str, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED, partition: int = 0) -> int:
        """Where a partition ends, or how far readers of committed records get."""
        asked = {Place(topic, partition): OffsetSpec.latest()}

        def answer() -> ListOffsetsResultInfo:
            """The client does not look for a new leader by itself: a topic that was just made may have one."""
            [found] = self.admin.list_offsets(asked, isolation_level=isolation).values()
            return found.result(30)

        return int(wait_until(answer, f"the leader of {topic} tells where it ends").offset)

    def positions(self, group: str) -> dict[tuple[str, int], int]:
        """What the group has committed. (The admin client's way to ask has crashed.)"""
        consumer = Consumer({**self.settings, "group.id": group, "enable.auto.commit": False})
        try:
            places = [Place(topic, number) for topic, count in self.topics().items() for number in range(count)]
            found = consumer.committed(places, timeout=120)
        finally:
            consumer.close()
        return {(place.topic, place.partition): place.offset for place in found if place.offset >= 0}

    def group_state(self, group: str) -> str:
        return str(self.admin.describe_consumer_groups([group])[group].result(30).state.name)
