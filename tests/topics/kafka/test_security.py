"""A listener with TLS and SASL, by the keys of a Java client."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

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
from tests.support.kafka import KafkaBroker
from tests.support.waiting import wait_until
from tests.support.worker import free_port

from .world import KafkaWorld, row

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"
NAME = "alice,b=c"


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate of 127.0.0.1, with its key and without."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    both, alone = folder / "broker.pem", folder / "ca.pem"
    both.write_bytes(private + public)
    alone.write_bytes(public)
    return both, alone


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    both, alone = make_certificate(tmp_path_factory.mktemp("tls"))
    broker = KafkaBroker()
    port = free_port()
    own = dict(line.split("=", 1) for line in (broker.folder / "server.properties").read_text().splitlines())
    own.update(
        {
            "listeners": f"{own['listeners']},SASL_SSL://127.0.0.1:{port}",
            "advertised.listeners": f"{own['advertised.listeners']},SASL_SSL://127.0.0.1:{port}",
            "listener.security.protocol.map": f"{own['listener.security.protocol.map']},SASL_SSL:SASL_SSL",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(both),
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{LOGIN} user_alice="wonder land";',
            "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": f"{SCRAM_LOGIN};",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{SCRAM_LOGIN};",
        }
    )
    (broker.folder / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in own.items()))
    with broker:
        add_alice(broker.bootstrap)
        yield f"127.0.0.1:{port}", alone


def add_alice(bootstrap: str) -> None:
    """For SCRAM; her name is one that has to be escaped."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        user = UserScramCredentialUpsertion(NAME, ScramCredentialInfo(mechanism, 4096), b"wonder land")
        admin.alter_user_scram_credentials([user])[NAME].result(30)


def test_records_and_positions_travel_over_a_secured_listener(secured: tuple[str, Path], tmp_path: Path) -> None:
    bootstrap, ca = secured
    worker = {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{LOGIN} username="alice" password="wonder land";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(ca),
    }
    world = KafkaWorld(bootstrap, tmp_path, 1)
    world.home.stop()
    offsets = OffsetStore(MemoryLog())
    offsets.start()
    world.home = KafkaHome(compose(worker), offsets)
    world.worker = worker
    with world:
        home, at = world.connector("safe"), TopicPartition("safe", 0)
        world.write(home, "safe", [row(b"secret")])
        assert world.read(home, {at: None}) == [(0, b"secret")]
        home.commit_sink(SinkCommit("connect-safe", {at: 1})).result(30)
        home.alter_positions("connect-safe", {at: None}).result(30)
        wait_until(lambda: home.positions("connect-safe") == {}, "the position is forgotten")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_records_travel_as_columns_after_scram(secured: tuple[str, Path], tmp_path: Path, mechanism: str) -> None:
    bootstrap, ca = secured
    worker = {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{SCRAM_LOGIN} username="{NAME}" password="wonder land";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(ca),
    }
    clients = compose(worker)
    topic = mechanism.lower()
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
    assert [type(cursor) for cursor in reader._cursors[clients.consumer]] == [WireCursor]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_refused(secured: tuple[str, Path], mechanism: str) -> None:
    bootstrap, ca = secured
    module = LOGIN if mechanism == "PLAIN" else SCRAM_LOGIN
    settings = compose(
        {
            "bootstrap.servers": bootstrap,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{module} username="{NAME}" password="wrong";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(ca),
        }
    ).consumer
    options = options_for(settings, CONSUMER)
    assert options is not None
    with pytest.raises(Refused, match="authentication failed"):
        Brokers(options).partitions("any")
