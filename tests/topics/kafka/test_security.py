"""Listeners with TLS and SASL, by the keys of a Java client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from penstock.storage.memory_log import MemoryLog
from penstock.storage.offset_store import OffsetStore
from penstock.topics.interface import RAW_SCHEMA, Range, SinkCommit, TopicPartition
from penstock.topics.kafka import reader, writer
from penstock.topics.kafka.clients import compose
from penstock.topics.kafka.home import KafkaHome
from penstock.topics.kafka.wire.brokers import Brokers
from penstock.topics.kafka.wire.cursor import WireCursor
from penstock.topics.kafka.wire.options import CONSUMER, options_for
from penstock.topics.kafka.wire.sasl import Refused
from penstock.topics.kafka.wire_writer import WireWriter
from tests.support.secured_kafka import SecuredKafka
from tests.support.waiting import wait_until

from .world import KafkaWorld, row

WAYS = ["PLAIN", "OAUTHBEARER", "certificate"]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with SecuredKafka(tmp_path_factory.mktemp("tls")) as running:
        yield running


@pytest.mark.integration
@pytest.mark.parametrize("way", WAYS)
def test_records_and_positions_travel_over_a_secured_listener(
    secured: SecuredKafka, way: str, tmp_path: Path
) -> None:
    worker = secured.keys_for(way)
    world = KafkaWorld(worker["bootstrap.servers"], tmp_path, 1)
    world.home.stop()
    offsets = OffsetStore(MemoryLog())
    offsets.start()
    world.home = KafkaHome(compose(worker), offsets)
    world.worker = worker
    name = f"safe-{way}"
    with world:
        home, at = world.connector(name), TopicPartition(name, 0)
        world.write(home, name, [row(b"secret")])
        assert world.read(home, {at: None}) == [(0, b"secret")]
        home.commit_sink(SinkCommit(f"connect-{name}", {at: 1})).result(30)
        home.alter_positions(f"connect-{name}", {at: None}).result(30)
        wait_until(lambda: home.positions(f"connect-{name}") == {}, "the position is forgotten")


@pytest.mark.integration
@pytest.mark.parametrize("way", ["SCRAM-SHA-256", "SCRAM-SHA-512", "certificate"])
def test_records_travel_as_columns(secured: SecuredKafka, way: str) -> None:
    clients = compose(secured.keys_for(way))
    topic = way.lower()
    admin = AdminClient(dict(clients.admin))
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    rows = pa.Table.from_pylist([row(b"%d" % n) for n in range(500)], schema=RAW_SCHEMA)
    stager = writer.KafkaStager(clients.producer, frozenset([topic]))
    wait_until(lambda: topic in admin.list_topics(timeout=10).topics, "the topic is there")
    stager.write(TopicPartition(topic, 0), rows)
    stager.finish()
    [(first, found)] = reader.KafkaReader(clients.consumer).read(Range(topic, 0, 0, 500))
    assert (first, found.to_pylist()) == (0, rows.to_pylist())
    assert type(writer.writer_for(clients.producer)) is WireWriter
    assert {type(cursor) for cursor in reader._cursors[clients.consumer]} == {WireCursor}


@pytest.mark.integration
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_refused(secured: SecuredKafka, mechanism: str) -> None:
    settings = compose(secured.by_login(mechanism, "wrong")).consumer
    options = options_for(settings, CONSUMER)
    assert options is not None
    with pytest.raises(Refused, match="authentication failed"):
        Brokers(options).partitions("any")
