"""Java's client settings in librdkafka's words, and whose settings win."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.api.errors import ConfigError
from penstock.topics.kafka.clients import compose
from penstock.topics.kafka.java_keys import translate

WORKER = {"bootstrap.servers": "a:1,b:2"}
LOGIN = 'org.apache.kafka.common.security.{0} required username="al\\"ice" password="s;=x";'


def test_the_names_that_differ_are_translated() -> None:
    java = {
        "max.request.size": "5",
        "buffer.memory": "33554432",
        "fetch.max.wait.ms": "7",
        "compression.type": "zstd",
        "compression.zstd.level": "9",
        "key.serializer": "org.x",
        "max.poll.records": "5",
    }
    assert translate("producer", java) == {
        "message.max.bytes": "5",
        "queue.buffering.max.kbytes": "32768",
        "fetch.wait.max.ms": "7",
        "compression.type": "zstd",
        "compression.level": "9",
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_the_login_of_a_java_client_becomes_user_and_password(mechanism: str) -> None:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    found = translate(
        "consumer",
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": LOGIN.format(module),
            "ssl.endpoint.identification.algorithm": "",
        },
    )
    assert found == {
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": mechanism,
        "sasl.username": 'al"ice',
        "sasl.password": "s;=x",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_a_login_without_a_password_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError, match="password") as refused:
        translate("admin", {"sasl.mechanism": "PLAIN", "sasl.jaas.config": "X required username=secretname;"})
    assert "secretname" not in str(refused.value)


def test_stores_are_read_by_what_they_are(tmp_path: Path) -> None:
    pem, p12, jks = tmp_path / "a.pem", tmp_path / "a.p12", tmp_path / "a.jks"
    pem.write_text("-----BEGIN CERTIFICATE-----")
    p12.write_bytes(b"\x30\x82\x01\x02")
    jks.write_bytes(b"\xfe\xed\xfe\xed\x00")
    assert translate("admin", {"ssl.truststore.location": str(pem)}) == {"ssl.ca.location": str(pem)}
    assert translate("admin", {"ssl.keystore.location": str(p12), "ssl.keystore.password": "x"}) == {
        "ssl.keystore.location": str(p12),
        "ssl.keystore.password": "x",
    }
    with pytest.raises(ConfigError, match=r"ssl.keystore.location: .*keytool -importkeystore"):
        translate("admin", {"ssl.keystore.location": str(jks)})
    with pytest.raises(ConfigError, match=r"ssl.truststore.location: .*keytool -list -rfc"):
        translate("admin", {"ssl.truststore.location": str(p12)})
    with pytest.raises(ConfigError, match="cannot be read"):
        translate("admin", {"ssl.truststore.location": str(tmp_path / "none")})


def test_java_classes_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"interceptor.classes: Java classes cannot be loaded into the consumer"):
        translate("consumer", {"interceptor.classes": "org.example.X"})


def test_overrides_win_over_the_workers_prefixes_and_those_over_the_defaults() -> None:
    worker = {**WORKER, "producer.linger.ms": "7", "producer.compression.type": "lz4"}
    clients = compose(worker, {"producer": {"linger.ms": "9"}})
    producer = dict(clients.producer)
    assert producer["linger.ms"] == "9"
    assert producer["compression.type"] == "lz4"
    assert producer["acks"] == "all"
    assert producer["enable.idempotence"] == "true"


def test_weaker_acks_give_up_idempotence_and_keep_order() -> None:
    producer = dict(compose(WORKER, {"producer": {"acks": "1"}}).producer)
    assert producer["enable.idempotence"] == "false"
    assert producer["max.in.flight.requests.per.connection"] == "1"
    transactional = dict(compose(WORKER, {"producer": {"acks": "1", "transactional.id": "x"}}).transactional)
    assert transactional["enable.idempotence"] == "true"
    assert "transactional.id" not in transactional


def test_the_workers_security_holds_for_its_own_cluster_only() -> None:
    worker = {**WORKER, "security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""}
    assert dict(compose(worker).consumer)["security.protocol"] == "ssl"
    elsewhere = compose(worker, {"consumer": {"bootstrap.servers": "c:3"}})
    assert "security.protocol" not in dict(elsewhere.consumer)
    assert dict(elsewhere.producer)["security.protocol"] == "ssl"


def test_connectors_with_equal_settings_share_clients_whatever_their_groups() -> None:
    one = compose(WORKER, {"consumer": {"group.id": "g1"}}, "one", "g1")
    two = compose(WORKER, {}, "two", "connect-two")
    assert one.consumer == two.consumer
    assert one.producer == two.producer
