"""What is in Kafka's topics, read from the outside."""

from __future__ import annotations

from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition

from .kafka import KafkaBroker

SECONDS = 30.0


class Stored(NamedTuple):
    """One record of a topic."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


def records_in(broker: KafkaBroker, topic: str, committed: bool = True) -> list[Stored]:
    """Every record that a topic has now, by partition and offset; none when there is no such topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "tests-look",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "log_level": 0,
        }
    )
    try:
        known = consumer.list_topics(timeout=SECONDS).topics.get(topic)
        if known is None or known.error is not None:
            return []
        consumer.assign([TopicPartition(topic, number, 0) for number in known.partitions])
        found: list[Stored] = []
        left = set(known.partitions)
        while left:
            for message in consumer.consume(10_000, 0.2):
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                if message.error() is not None:
                    left.discard(partition)
                else:
                    key, value = message.key(), message.value()
                    assert not isinstance(key, str)
                    assert not isinstance(value, str)
                    found.append(Stored(partition, offset, key, value))
        return sorted(found)
    finally:
        consumer.close()


def values_in(broker: KafkaBroker, topic: str) -> list[str]:
    """The values of a topic, as text."""
    return [(record.value or b"").decode() for record in records_in(broker, topic)]
