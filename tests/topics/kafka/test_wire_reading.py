"""Reading a real broker's topics with Kafka's own protocol: every kind of log, and brokers that go away."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock.api.errors import RetriableError
from penstock.topics.interface import Range, SinkCommit, TopicPartition
from penstock.topics.kafka import reader
from penstock.topics.kafka.message_cursor import MessageCursor
from penstock.topics.kafka.reader import KafkaReader
from penstock.topics.kafka.wire.cursor import WireCursor
from tests.support.kafka import KafkaBroker

from .world import KafkaWorld


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No client is left of another test."""
    reader._cursors.clear()
    yield
    for cursors in reader._cursors.values():
        for cursor in cursors:
            cursor.close()
    reader._cursors.clear()


def cursors() -> list[type]:
    return [type(cursor) for found in reader._cursors.values() for cursor in found]


def values(world: KafkaWorld, topic: str, end: int, step: int, **consumer: str) -> list[tuple[int, bytes]]:
    """Offsets and values from the beginning, read in ranges of ``step`` offsets."""
    found = []
    kafka = world.connector("c", True, **consumer).reader()
    for start in range(0, end, step):
        rows = Range(topic, 0, start, min(end, start + step))
        kafka.prepare([rows])
        for first, chunk in kafka.read(rows):
            found += [(first + n, value) for n, value in enumerate(chunk.column("value").to_pylist())]
    return found


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read_in_ranges_of_any_length(world: KafkaWorld, codec: str) -> None:
    topic = world.make(f"{world.name}-{codec}")
    producer = Producer({"bootstrap.servers": world.bootstrap, "compression.type": codec, "linger.ms": 20})
    wanted = [b"%d " % n * (n % 7 + 1) for n in range(1000)]
    for number, value in enumerate(wanted):
        producer.produce(topic, value, partition=0)
        if number % 300 == 0:
            producer.flush(30)
    producer.flush(30)
    assert values(world, topic, 1000, 170) == list(enumerate(wanted))
    assert cursors() == [WireCursor]


def test_only_committed_records_are_read(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-transactions")
    one = Producer({"bootstrap.servers": world.bootstrap, "transactional.id": f"{world.name}-one"})
    other = Producer({"bootstrap.servers": world.bootstrap, "transactional.id": f"{world.name}-other"})
    plain = Producer({"bootstrap.servers": world.bootstrap})
    for producer in (one, other):
        producer.init_transactions(60)
        producer.begin_transaction()

    def write(producer: Producer, value: bytes) -> None:
        producer.produce(topic, value, partition=0)
        assert producer.flush(60) == 0

    write(one, b"taken back")
    write(other, b"kept")
    write(plain, b"plain")
    one.abort_transaction(60)
    one.begin_transaction()
    write(one, b"kept, too")
    other.commit_transaction(60)
    write(one, b"kept at last")
    one.commit_transaction(60)
    shown = [b"kept", b"plain", b"kept, too", b"kept at last"]
    for step in (8, 3, 1):
        reader._cursors.clear()
        assert [value for _, value in values(world, topic, 8, step)] == shown
    everything = values(world, topic, 8, 8, isolation_level="read_uncommitted")
    assert [value for _, value in everything] == [b"taken back", *shown]
    assert set(cursors()) == {WireCursor}


def test_records_larger_than_a_fetch_are_read(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-large")
    large = [bytes([65 + n]) * 200_000 for n in range(3)]
    for value in large:
        world.produce(topic, [value, b"small"])
    found = values(world, topic, 6, 4, max_partition_fetch_bytes="1000", fetch_max_bytes="2000")
    assert [value for _, value in found] == [large[0], b"small", large[1], b"small", large[2], b"small"]
    assert cursors() == [WireCursor]


def test_many_partitions_are_read_with_one_client(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-partitions", 5)
    for partition in range(5):
        world.produce(topic, [b"%d-%d" % (partition, n) for n in range(100)], partition)
    kafka = world.connector().reader()
    found: dict[int, list[bytes]] = {}
    for start in (0, 60):
        ranges = [Range(topic, partition, start, min(100, start + 60)) for partition in range(5)]
        kafka.prepare(ranges)
        for rows in ranges:
            for _, chunk in kafka.read(rows):
                found.setdefault(rows.partition, []).extend(chunk.column("value").to_pylist())
    assert found == {partition: [b"%d-%d" % (partition, n) for n in range(100)] for partition in range(5)}
    assert cursors() == [WireCursor]


def test_offsets_that_are_not_kept_are_said_to_be(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-gone")
    world.produce(topic, [b"a"] * 10)
    from confluent_kafka import TopicPartition as Place

    world.admin.delete_records([Place(topic, 0, 5)])[Place(topic, 0, 5)].result(30)
    with pytest.raises(RetriableError, match="not kept any more"):
        world.connector().reader().read(Range(topic, 0, 2, 8))
    assert cursors() == []
    assert [offset for offset, _ in world.read(world.connector(), {TopicPartition(topic, 0): 5})] == [5, 6, 7, 8, 9]


def test_the_end_of_a_range_that_compaction_took_away_is_no_reason_to_wait(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-markers")
    producer = Producer({"bootstrap.servers": world.bootstrap, "transactional.id": f"{world.name}-markers"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"only", partition=0)
    producer.commit_transaction(60)
    kafka = world.connector().reader()
    assert [chunk.column("value").to_pylist() for _, chunk in kafka.read(Range(topic, 0, 0, 2))] == [[b"only"]]
    assert list(kafka.read(Range(topic, 0, 1, 2))) == []


def test_settings_we_do_not_honour_are_left_to_librdkafka(world: KafkaWorld, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "penstock.topics.kafka.wire.options")
    topic = world.make(f"{world.name}-rack")
    world.produce(topic, [b"a", b"b"])
    assert values(world, topic, 2, 2, client_rack="here") == [(0, b"a"), (1, b"b")]
    assert cursors() == [MessageCursor]
    assert "client.rack is set" in caplog.text


def test_a_broker_that_comes_back_is_read_on(world: KafkaWorld, broker: KafkaBroker) -> None:
    topic = world.make(f"{world.name}-restart")
    world.produce(topic, [b"%d" % n for n in range(100)])
    kafka = world.connector().reader()

    def read(start: int, end: int) -> list[Any]:
        return [value for _, chunk in kafka.read(Range(topic, 0, start, end)) for value in chunk["value"].to_pylist()]

    assert read(0, 50) == [b"%d" % n for n in range(50)]
    at, group = TopicPartition(topic, 0), f"connect-{world.name}"
    world.connector().commit_sink(SinkCommit(group, {at: 50}, 0, {"seen": 50})).result(60)
    broker.kill()
    committed = world.connector().commit_sink(SinkCommit(group, {at: 60}, 0, {"seen": 60}))
    broker.start()
    committed.result(120)
    assert world.home.positions(group) == {at: 60}
    assert world.home.sink_state(group, 0) == {"seen": 60}
    world.produce(topic, [b"%d" % n for n in range(100, 200)])
    assert read(50, 150) == [b"%d" % n for n in range(50, 150)]
    assert isinstance(kafka, KafkaReader)
    assert cursors() == [WireCursor]
