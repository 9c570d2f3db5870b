"""Which client settings our own protocol honours. With any other, librdkafka's clients do the work."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from tempfile import NamedTemporaryFile

from ..clients import Settings
from .compression import CODES

logger = logging.getLogger(__name__)

_CONNECTION_NAMES = """
    bootstrap.servers client.id security.protocol sasl.mechanisms sasl.username sasl.password ssl.ca.location ssl.ca.pem
    ssl.certificate.location ssl.certificate.pem ssl.key.location ssl.key.pem ssl.key.password
    ssl.endpoint.identification.algorithm enable.ssl.certificate.verification
    request.timeout.ms socket.connection.setup.timeout.ms reconnect.backoff.ms reconnect.backoff.max.ms
    retry.backoff.ms retry.backoff.max.ms metadata.max.age.ms connections.max.idle.ms log_level
    allow.auto.create.topics
"""
"""Some of them only tell librdkafka how its threads and queues work, which we do not have."""

_CONSUMER_NAMES = """
    isolation.level check.crcs fetch.wait.max.ms fetch.min.bytes fetch.max.bytes max.partition.fetch.bytes
    auto.offset.reset group.id enable.partition.eof enable.auto.commit enable.auto.offset.store fetch.queue.backoff.ms
    queued.min.messages queued.max.messages.kbytes
"""

_PRODUCER_NAMES = """
    acks enable.idempotence compression.type batch.size message.max.bytes delivery.timeout.ms linger.ms
    batch.num.messages queue.buffering.max.messages queue.buffering.max.kbytes transaction.timeout.ms partitioner
    max.in.flight.requests.per.connection
"""

ADMIN = frozenset(_CONNECTION_NAMES.split())
CONSUMER = frozenset((_CONNECTION_NAMES + _CONSUMER_NAMES).split())
PRODUCER = frozenset((_CONNECTION_NAMES + _PRODUCER_NAMES).split())

_ONLY = {
    "acks": ("all", "-1"),
    "enable.idempotence": ("true",),
    "compression.type": tuple(CODES),
    "security.protocol": ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"),
}
"""The values of keys for which we know but some; the first is the default."""

_NUMBERS = (".ms", ".bytes", "batch.size", "max.in.flight.requests.per.connection")

MECHANISMS = frozenset(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])


@dataclass(frozen=True)
class Options:
    """How to reach brokers and how to show who we are."""

    servers: tuple[tuple[str, int], ...]
    client_id: str
    tls: tuple[tuple[str, str], ...] | None
    mechanism: str | None
    username: str
    password: str
    connect_seconds: float
    answer_seconds: float
    first_wait_seconds: float
    longest_wait_seconds: float


@lru_cache(maxsize=256)
def options_for(settings: Settings, honoured: frozenset[str]) -> Options | None:
    """``None`` when there is something in the settings that only librdkafka can do."""
    found = dict(settings)
    reason = _reason_against(found, honoured)
    if reason is not None:
        logger.debug("librdkafka's client is used: %s", reason)
        return None
    protocol = found.get("security.protocol", "plaintext").lower()
    return Options(
        servers=addresses(found["bootstrap.servers"]),
        client_id=found.get("client.id") or "penstock",
        tls=_tls(found) if "ssl" in protocol else None,
        mechanism=found["sasl.mechanisms"] if "sasl" in protocol else None,
        username=found.get("sasl.username", ""),
        password=found.get("sasl.password", ""),
        connect_seconds=_seconds(found, "socket.connection.setup.timeout.ms", 30.0),
        answer_seconds=_seconds(found, "request.timeout.ms", 30.0),
        first_wait_seconds=_seconds(found, "retry.backoff.ms", 0.1),
        longest_wait_seconds=_seconds(found, "retry.backoff.max.ms", 1.0),
    )


def _reason_against(settings: Mapping[str, str], honoured: Collection[str]) -> str | None:
    if find_spec("google_crc32c") is None:
        return "the package google-crc32c is not installed"
    for key, value in settings.items():
        if key not in honoured:
            return f"{key} is set"
        if key.endswith(_NUMBERS) and not value.isdecimal():
            return f"{key}={value} is no number"
    for key, values in _ONLY.items():
        if settings.get(key, next(iter(values))).lower() not in values:
            return f"{key}={settings[key]}"
    protocol = settings.get("security.protocol", "plaintext").lower()
    if "sasl" in protocol and settings.get("sasl.mechanisms") not in MECHANISMS:
        return f"sasl.mechanisms={settings.get('sasl.mechanisms')}"
    try:
        addresses(settings["bootstrap.servers"])
        if "ssl" in protocol:
            tls_context(settings)
    except (ValueError, OSError) as error:
        return str(error)
    return None


def _tls(settings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in settings.items() if key.startswith("ssl."))


def addresses(servers: str) -> tuple[tuple[str, int], ...]:
    """The hosts and ports of ``bootstrap.servers``. Raises ``ValueError``."""
    return tuple(_address(entry) for entry in servers.split(",") if entry.strip())


def _address(entry: str) -> tuple[str, int]:
    """``host:port``, with Kafka's port where there is none, and perhaps a protocol before it."""
    text = entry.strip().rpartition("://")[2]
    host, colon, port = text.rpartition(":")
    if not colon or host.count(":") != host.count("[") * host.count(":"):
        host, port = text, "9092"
    return host.strip("[]"), int(port)


def _seconds(settings: Mapping[str, str], key: str, usual: float) -> float:
    return float(settings[key]) / 1000 if key in settings else usual


def tls_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """What librdkafka's keys mean to Python. Raises ``OSError`` for files that cannot be read."""
    context = ssl.create_default_context(cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem"))
    unverified = settings.get("enable.ssl.certificate.verification", "true").lower() == "false"
    if unverified or settings.get("ssl.endpoint.identification.algorithm") == "none":
        context.check_hostname = False
    if unverified:
        context.verify_mode = ssl.CERT_NONE
    password = settings.get("ssl.key.password")
    if "ssl.certificate.location" in settings:
        context.load_cert_chain(settings["ssl.certificate.location"], settings.get("ssl.key.location"), password)
    elif "ssl.certificate.pem" in settings:
        with NamedTemporaryFile("w", suffix=".pem") as both:
            both.write(f"{settings.get('ssl.key.pem', '')}\n{settings['ssl.certificate.pem']}\n")
            both.flush()
            context.load_cert_chain(both.name, password=password)
    return context
