"""Settings of Kafka's Java clients in librdkafka's words. Most names are the same."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from penstock.api.errors import ConfigError

from .jaas import credentials
from .tls import tls_settings

logger = logging.getLogger(__name__)

_RENAMED = {
    "buffer.memory": "",
    "max.request.size": "message.max.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "sasl.mechanism": "sasl.mechanisms",
    "compression.gzip.level": "",
    "compression.lz4.level": "",
    "compression.zstd.level": "",
}

_SAME_NAMES = """
    acks allow.auto.create.topics auto.offset.reset batch.size bootstrap.servers check.crcs client.dns.lookup
    client.id client.rack compression.type connections.max.idle.ms delivery.timeout.ms enable.idempotence
    enable.metrics.push fetch.max.bytes fetch.min.bytes group.id isolation.level linger.ms
    max.in.flight.requests.per.connection max.partition.fetch.bytes metadata.max.age.ms reconnect.backoff.max.ms
    reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms
    sasl.kerberos.service.name sasl.kerberos.kinit.cmd security.protocol socket.connection.setup.timeout.ms
    transaction.timeout.ms transactional.id metadata.recovery.strategy metadata.recovery.rebootstrap.trigger.ms
"""
_SAME = frozenset(_SAME_NAMES.split())

_WITHOUT_MEANING_NAMES = """
    auto.commit.interval.ms auto.include.jmx.reporter default.api.timeout.ms enable.auto.commit
    exclude.internal.topics group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms
    key.deserializer key.serializer max.block.ms max.poll.interval.ms max.poll.records metadata.max.idle.ms
    metrics.num.samples metrics.recording.level metrics.sample.window.ms partition.assignment.strategy
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
    partitioner.ignore.keys session.timeout.ms socket.connection.setup.timeout.max.ms
    throw.on.fetch.stable.offset.unsupported value.deserializer value.serializer
    transaction.two.phase.commit.enable reconnect.backoff.max.retries internal.leave.group.on.close
"""
_WITHOUT_MEANING = frozenset(_WITHOUT_MEANING_NAMES.split())

_LEAST = {
    "auto.commit.interval.ms": 0,
    "default.api.timeout.ms": 0,
    "max.block.ms": 0,
    "max.poll.interval.ms": 1,
    "max.poll.records": 1,
    "metadata.max.idle.ms": 5000,
    "metrics.num.samples": 1,
    "metrics.sample.window.ms": 0,
    "partitioner.availability.timeout.ms": 0,
}
"""Java's clients are not made with less, although it would mean nothing here."""

_JAVA_CLASSES_NAMES = """
    interceptor.classes metric.reporters config.providers security.providers sasl.client.callback.handler.class
    sasl.login.callback.handler.class sasl.login.class ssl.engine.factory.class ssl.provider
"""
_JAVA_CLASSES = frozenset(_JAVA_CLASSES_NAMES.split())
_KNOWN_CLASSES = frozenset(
    f"org.apache.kafka.common.security.oauthbearer.{package}OAuthBearerLoginCallbackHandler"
    for package in ("", "secured.")
)
"""What Java needs to be told to get tokens by ``sasl.oauthbearer.token.endpoint.url``, which is all that it does."""


def translate(client: str, settings: Mapping[str, str]) -> dict[str, str]:
    """What librdkafka is told. Raises ``ConfigError`` for what it cannot do; the text names key and way out.

    ``client`` is ``producer``, ``consumer`` or ``admin``. Keys of librdkafka's own pass as they are.
    """
    given = {key: value.strip() for key, value in settings.items()}
    found: dict[str, str] = {}
    for key, value in given.items():
        if key in _JAVA_CLASSES:
            if value and value not in _KNOWN_CLASSES:
                raise ConfigError.invalid(
                    key, value, f"Java classes cannot be loaded into the {client}. Leave the key out"
                )
        elif key in _WITHOUT_MEANING:
            if key in _LEAST and _number(key, value) < _LEAST[key]:
                raise ConfigError.invalid(key, value, f"Value must be at least {_LEAST[key]}")
            logger.debug("%s.%s has no meaning here", client, key)
        elif key in _RENAMED:
            if _RENAMED[key]:
                found[_RENAMED[key]] = value
        elif not key.startswith(("ssl.", "sasl.")) or key in _SAME:
            found[key] = value
    _add_sizes(given, found)
    found.update(credentials(given))
    found.update(tls_settings(given))
    if found.get("security.protocol"):
        found["security.protocol"] = found["security.protocol"].lower()
    if client == "admin":
        found = {key: value for key, value in found.items() if key not in _NOT_FOR_ADMIN}
    return found


_NOT_FOR_ADMIN = frozenset(["group.id", "auto.offset.reset", "isolation.level", "transactional.id"])


def _add_sizes(given: Mapping[str, str], found: dict[str, str]) -> None:
    if "buffer.memory" in given:
        found["queue.buffering.max.kbytes"] = str(max(1024, _number("buffer.memory", given["buffer.memory"]) // 1024))
    level = given.get(f"compression.{given.get('compression.type', '')}.level")
    if level is not None:
        found["compression.level"] = level


def _number(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError.invalid(key, text, "Not a number of type LONG") from None
