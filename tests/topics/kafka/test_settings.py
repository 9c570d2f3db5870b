"""Java's client settings in librdkafka's words, and whose settings win."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12
from cryptography.x509 import load_pem_x509_certificate

from penstock.api.errors import ConfigError
from penstock.topics.kafka.clients import compose
from penstock.topics.kafka.java_keys import translate
from tests.support.certificates import make_certificate

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


@pytest.mark.parametrize(
    ("key", "least"),
    [("max.poll.records", 1), ("max.poll.interval.ms", 1), ("max.block.ms", 0), ("metadata.max.idle.ms", 5000)],
)
def test_what_java_refuses_is_refused_although_it_means_nothing_here(key: str, least: int) -> None:
    assert translate("consumer", {key: str(least)}) == {}
    text = f"Invalid value {least - 1} for configuration {key}: Value must be at least {least}"
    with pytest.raises(ConfigError, match=re.escape(text)):
        translate("consumer", {key: str(least - 1)})


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
    pem, jks = tmp_path / "a.pem", tmp_path / "a.jks"
    pem.write_text("-----BEGIN CERTIFICATE-----")
    jks.write_bytes(b"\xfe\xed\xfe\xed\x00")
    assert translate("admin", {"ssl.truststore.location": str(pem)}) == {"ssl.ca.location": str(pem)}
    with pytest.raises(ConfigError, match=r"ssl.keystore.location: .*keytool -importkeystore"):
        translate("admin", {"ssl.keystore.location": str(jks)})
    with pytest.raises(ConfigError, match=r"ssl.truststore.location: .*keytool -list -rfc"):
        translate("admin", {"ssl.truststore.location": str(jks)})
    with pytest.raises(ConfigError, match="cannot be read"):
        translate("admin", {"ssl.truststore.location": str(tmp_path / "none")})


@pytest.fixture
def p12(tmp_path: Path) -> Path:
    """A store with a key and its certificate, as keytool makes it."""
    both, alone = make_certificate(tmp_path)
    key, certificate = load_pem_private_key(both.read_bytes(), None), load_pem_x509_certificate(alone.read_bytes())
    secrecy = BestAvailableEncryption(b"changeit")
    file = tmp_path / "store.jks"
    file.write_bytes(pkcs12.serialize_key_and_certificates(b"own", key, certificate, None, secrecy))  # type: ignore[arg-type]
    return file


def test_a_pkcs12_store_becomes_text_that_every_client_reads(p12: Path, tmp_path: Path) -> None:
    certificate = (tmp_path / "ca.pem").read_text()
    given = {"ssl.keystore.location": str(p12), "ssl.keystore.password": "changeit"}
    found = translate("admin", given)
    assert found["ssl.certificate.pem"] == certificate
    assert load_pem_private_key(found["ssl.key.pem"].encode(), None)
    trusted = {"ssl.truststore.location": str(p12), "ssl.truststore.password": "changeit"}
    assert translate("admin", trusted) == {"ssl.ca.pem": certificate}


def test_a_store_that_does_not_open_is_told_by_its_key_without_the_password(p12: Path) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.keystore\.location: .*ssl\.keystore\.password") as refused:
        translate("admin", {"ssl.keystore.location": str(p12), "ssl.keystore.password": "sesame"})
    assert "sesame" not in str(refused.value)


OIDC = {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "https://id.example.org/token"}


@pytest.mark.parametrize(
    "login",
    [
        {"sasl.jaas.config": 'OAuthBearerLoginModule required clientId="a" clientSecret="b" scope="c";'},
        {
            "sasl.oauthbearer.client.credentials.client.id": "a",
            "sasl.oauthbearer.client.credentials.client.secret": "b",
            "sasl.oauthbearer.scope": "c",
        },
    ],
    ids=["in the login", "keys of their own"],
)
def test_a_client_of_an_openid_provider_is_told_in_either_way(login: dict[str, str]) -> None:
    handler = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"
    assert translate("consumer", {**OIDC, **login, "sasl.login.callback.handler.class": handler}) == {
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://id.example.org/token",
        "sasl.oauthbearer.client.id": "a",
        "sasl.oauthbearer.client.secret": "b",
        "sasl.oauthbearer.scope": "c",
    }


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


def test_a_login_of_its_own_is_all_that_a_connector_has_to_say(tmp_path: Path) -> None:
    pem = tmp_path / "ca.pem"
    pem.write_text("-----BEGIN CERTIFICATE-----")
    worker = {
        **WORKER,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": 'PlainLoginModule required username="worker" password="w";',
        "ssl.truststore.location": str(pem),
        "ssl.truststore.type": "PEM",
    }
    own = {"sasl.jaas.config": 'PlainLoginModule required username="own" password="o";'}
    producer = dict(compose(worker, {"producer": own}).producer)
    assert (producer["security.protocol"], producer["sasl.mechanisms"]) == ("sasl_ssl", "PLAIN")
    assert (producer["sasl.username"], producer["sasl.password"]) == ("own", "o")
    assert producer["ssl.ca.location"] == str(pem)
    trusting = dict(compose(worker, {"producer": {"ssl.truststore.certificates": "PEM"}}).producer)
    assert trusting["ssl.ca.pem"] == "PEM"
    assert "ssl.ca.location" not in trusting


def test_connectors_with_equal_settings_share_clients_whatever_their_groups() -> None:
    one = compose(WORKER, {"consumer": {"group.id": "g1"}}, "one", "g1")
    two = compose(WORKER, {}, "two", "connect-two")
    assert one.consumer == two.consumer
    assert one.producer == two.producer


def test_an_admin_client_goes_where_the_client_beside_it_goes() -> None:
    worker = {**WORKER, "security.protocol": "SASL_SSL", "admin.retry.backoff.ms": "7"}
    away = {"bootstrap.servers": "c:3", "security.protocol": "SSL"}
    reads = compose(worker, {"consumer": away})
    assert [dict(reads.admin)[key] for key in ("bootstrap.servers", "security.protocol")] == ["c:3", "ssl"]
    assert dict(reads.admin)["retry.backoff.ms"] == "7"
    assert dict(reads.maker)["bootstrap.servers"] == WORKER["bootstrap.servers"]
    writes = compose(worker, {"producer": away})
    assert dict(writes.maker)["bootstrap.servers"] == "c:3"
    assert dict(writes.admin)["bootstrap.servers"] == WORKER["bootstrap.servers"]
    named = compose(worker, {"consumer": away, "admin": {"bootstrap.servers": "d:4"}})
    assert dict(named.admin)["bootstrap.servers"] == dict(named.maker)["bootstrap.servers"] == "d:4"
