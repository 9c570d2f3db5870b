"""Writing to a real broker with Kafka's own protocol: each record once and in order, whatever the network does."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest
from kafka.partitioner.default import murmur2

from penstock.api.errors import RetriableError
from penstock.topics import kept
from penstock.topics.interface import TopicPartition
from penstock.topics.kafka import transactions, writer
from penstock.topics.kafka.clients import compose
from penstock.topics.kafka.errors import WriteFailed
from penstock.topics.kafka.home import KafkaHome
from penstock.topics.kafka.message_session import MessageSession
from penstock.topics.kafka.message_writer import MessageWriter
from penstock.topics.kafka.wire import connection
from penstock.topics.kafka.wire.options import Options
from penstock.topics.kafka.wire_session import WireSession
from penstock.topics.kafka.wire_writer import WireWriter
from tests.support.kafka import KafkaBroker
from tests.support.waiting import wait_until

from .world import KafkaWorld, row, table

ONLY_LIBRDKAFKA = {"sticky.partitioning.linger.ms": "1"}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No client is left of another test."""
    writer._writers.clear()
    yield
    kept.let_go_of_all()
    for settings in list(writer._writers):
        writer.forget_writer(settings)


def home_of(world: KafkaWorld, **producer: str) -> KafkaHome:
    """A connector's, with overrides for its producer."""
    overrides = {key.replace("_", "."): value for key, value in producer.items()}
    return world.home.for_connector(compose(world.worker, {"producer": overrides}, "c", may_create=True))


def write(home: KafkaHome, topic: str, values: Sequence[bytes], partition: int = 0) -> None:
    home.ensure([topic], lambda _: {"partitions": "1"}).result(30)
    stager = home.stager()
    stager.prepare([topic])
    now = int(time.time() * 1000)  # a broker that starts forgets producers whose records are older than a day
    stager.write(TopicPartition(topic, partition), table([row(value, None, now) for value in values]))
    stager.finish()


def seen(world: KafkaWorld, topic: str, count: int, partition: int = 0) -> list[bytes]:
    """What is in the topic, when there should be ``count``; one more would be seen, too."""
    world.produce(topic, [b"last"], partition)
    return [message.value() for message in world.consume(topic, count + 1, partition)][:-1]


def writers() -> list[type]:
    return [type(found) for found in writer._writers.values()]


class LosesAnswers:
    """A network that loses the connection in one of ``often`` reads, after the broker has got the request."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, often: int) -> None:
        self.often = often
        self.lost = 0
        self.chance = Random(9)
        self._open = connection._opened
        monkeypatch.setattr(connection, "_opened", self._flaky)

    def _flaky(self, host: str, port: int, options: Options) -> Any:
        real, network = self._open(host, port, options), self

        class Flaky:
            def recv_into(self, data: memoryview) -> int:
                if network.chance.randrange(network.often) == 0:
                    network.lost += 1
                    count = real.recv_into(data)
                    real.shutdown(socket.SHUT_RDWR)
                    real.close()
                    raise ConnectionResetError(f"{count} bytes were lost")
                return real.recv_into(data)

            def __getattr__(self, name: str) -> Any:
                return getattr(real, name)

        return Flaky()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_another_client_reads_every_codec(world: KafkaWorld, codec: str) -> None:
    topic = f"{world.name}-{codec}"
    values = [b"%d " % n * (n % 9) for n in range(3000)] + [b"x" * 300_000]
    write(home_of(world, compression_type=codec, batch_size="40000"), topic, values)
    assert seen(world, topic, len(values)) == values
    assert writers() == [WireWriter]


def test_partitions_keep_their_order(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-order", 3)
    home = home_of(world, batch_size="2000")
    for start in range(0, 600, 200):
        for partition in range(3):
            write(home, topic, [b"%d" % n for n in range(start, start + 200)], partition)
    for partition in range(3):
        assert seen(world, topic, 600, partition) == [b"%d" % n for n in range(600)]


def test_lost_answers_make_nothing_twice(world: KafkaWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = world.make(f"{world.name}-flaky")
    network = LosesAnswers(monkeypatch, 25)
    home, values = home_of(world, batch_size="3000"), [b"%06d" % n * 10 for n in range(3000)]
    for start in range(0, 3000, 500):
        write(home, topic, values[start : start + 500])
    assert network.lost > 1
    assert seen(world, topic, len(values)) == values
    assert writers() == [WireWriter]


def test_a_broker_that_is_killed_gets_the_rest_when_it_is_back(world: KafkaWorld, broker: KafkaBroker) -> None:
    topic = world.make(f"{world.name}-killed")
    home, values = home_of(world, batch_size="5000"), [b"%06d" % n * 10 for n in range(20_000)]
    write(home, topic, values[:1000])
    failures: list[BaseException] = []

    def go_on() -> None:
        try:
            for start in range(1000, 20_000, 1000):
                write(home, topic, values[start : start + 1000])
        except BaseException as error:
            failures.append(error)

    writing = threading.Thread(target=go_on)
    writing.start()
    wait_until(lambda: world.home.end_offsets(topic)[0] > 2000, "records arrive", 60)
    broker.kill()
    broker.start()
    writing.join(120)
    assert not writing.is_alive()
    assert failures == []
    assert seen(world, topic, len(values)) == values


def test_a_record_that_the_topic_does_not_take_fails_with_kafkas_text(world: KafkaWorld) -> None:
    topic = world.make(f"{world.name}-small", max_message_bytes="1000")
    with pytest.raises(WriteFailed, match=r"Message size too large \(MSG_SIZE_TOO_LARGE\)"):
        write(home_of(world), topic, [b"x" * 5000])
    assert writers() == []
    with pytest.raises(WriteFailed, match="Message size too large"):
        write(home_of(world, max_request_size="2000"), topic, [b"x" * 2001])
    write(home_of(world), topic, [b"short"])
    assert seen(world, topic, 1) == [b"short"]


def test_a_time_limit_of_the_user_is_kept(world: KafkaWorld) -> None:
    home = world.home.for_connector(
        compose({"bootstrap.servers": "127.0.0.1:1"}, {"producer": {"delivery.timeout.ms": "300"}}, "c")
    )
    with pytest.raises(RetriableError, match="Kafka did not take the records: Local: Message timed out"):
        home.stager().write(TopicPartition("t", 0), table([row(b"v")]))


def test_settings_we_do_not_honour_are_left_to_librdkafka(world: KafkaWorld) -> None:
    topic = f"{world.name}-other"
    home = home_of(world, **ONLY_LIBRDKAFKA)
    write(home, topic, [b"a", b"b"])
    assert writers() == [MessageWriter]
    assert seen(world, topic, 2) == [b"a", b"b"]


@pytest.mark.parametrize("kind", [WireSession, MessageSession])
def test_a_transaction_is_seen_as_a_whole_or_never(world: KafkaWorld, kind: type) -> None:
    topic, offsets = world.make(f"{world.name}-records", 2), world.make(f"{world.name}-offsets", 5)
    home = home_of(world, transaction_timeout_ms="600000", **({} if kind is WireSession else ONLY_LIBRDKAFKA))
    name = f"{world.name}-id"
    home.transaction(name, "s", 0).open()
    assert type(transactions._sessions[name]) is kind
    aborts = kind is WireSession  # librdkafka may not get over an abort right behind the first record
    for batch in range(1, 7) if aborts else (1, 3, 5):
        current = home.transaction(name, "s", batch)
        for partition in range(2):
            current.write(TopicPartition(topic, partition), table([row(b"%d" % batch)] * 3))
        if batch % 2:
            current.commit(offsets, [(b"key-%d" % key, b"%d" % batch) for key in range(4)])
        else:
            current.abort()
    for partition in range(2):
        assert seen(world, topic, 9, partition) == [b"1"] * 3 + [b"3"] * 3 + [b"5"] * 3
    for partition in range(5):
        keys = sum((murmur2(b"key-%d" % key) & 0x7FFFFFFF) % 5 == partition for key in range(4))
        assert seen(world, offsets, 3 * keys, partition) == [b"1"] * keys + [b"3"] * keys + [b"5"] * keys


def test_a_transaction_survives_lost_answers(world: KafkaWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, offsets = world.make(f"{world.name}-records"), world.make(f"{world.name}-offsets")
    network = LosesAnswers(monkeypatch, 25)
    home, name = home_of(world, batch_size="1000", transaction_timeout_ms="600000"), f"{world.name}-id"
    home.transaction(name, "s", 0).open()
    values = [b"%04d" % n * 10 for n in range(800)]
    for batch in range(1, 9):
        current = home.transaction(name, "s", batch)
        current.write(TopicPartition(topic, 0), table([row(v) for v in values[batch * 100 - 100 : batch * 100]]))
        current.commit(offsets, [(b"key", b"%d" % batch)])
    assert network.lost > 1
    assert seen(world, topic, 800) == values
    assert seen(world, offsets, 8) == [b"%d" % batch for batch in range(1, 9)]
