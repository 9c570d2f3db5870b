"""How the clients of a connector are set up: Kafka Connect's defaults, then the worker's keys, then its overrides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .java_keys import translate

Settings = tuple[tuple[str, str], ...]
"""Settings of one client in librdkafka's words, sorted: equal ones share a client."""

Overrides = Mapping[str, Mapping[str, str]]
"""Settings of a connector for its ``producer``, ``consumer`` and ``admin``, in Java's words."""

_PRODUCER = {"acks": "all", "enable.idempotence": "true", "delivery.timeout.ms": str(2**31 - 1)}
_PRODUCER_TUNING = {
    "linger.ms": "5",
    "batch.num.messages": "100000",
    "queue.buffering.max.messages": "1000000",
    "queue.buffering.max.kbytes": "131072",
}
_CONSUMER = {"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
_CONSUMER_TUNING = {
    "queued.min.messages": "2000000",
    "queued.max.messages.kbytes": "65536",
    "fetch.queue.backoff.ms": "5",
    "fetch.wait.max.ms": "10",
    "enable.partition.eof": "true",
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
}
_ADMIN_TUNING = {"metadata.max.age.ms": "5000"}
"""An admin client that believes longer in what it knows of partitions is refused after their leader was restarted."""
_QUIET = {"log_level": "2"}
"""librdkafka writes to standard error; what matters reaches us as errors, and our own log."""
_BOOTSTRAP = "bootstrap.servers"
_SECURITY = ("security.protocol", "sasl.", "ssl.")
_STORES = ("ssl.truststore.", "ssl.keystore.")
"""A store is described by several keys; whoever names another one brings all of them."""
READERS_GROUP = "connect-penstock-readers"
"""The group.id that readers carry because they must have one. They never join a group."""


@dataclass(frozen=True)
class Clients:
    """What the tasks of one connector tell their clients. Equal settings share clients, in the driver and executors.

    ``group`` and ``reset`` (``earliest``, ``latest`` or ``none``) are those of a sink. ``may_create`` tells whether
    topics are made with the connector's own settings; otherwise it is left to the broker. ``connector`` is empty for
    the worker itself. ``transactional`` is the producer for exactly-once. ``admin`` asks the cluster that is read, and
    ``maker`` makes topics in the one that is written to.
    """

    producer: Settings
    consumer: Settings
    admin: Settings
    maker: Settings
    transactional: Settings = ()
    connector: str = ""
    group: str = ""
    reset: str = "earliest"
    may_create: bool = False
    metadata_seconds: float = 5.0

    @property
    def read_committed(self) -> bool:
        return dict(self.consumer).get("isolation.level") != "read_uncommitted"


def compose(
    worker: Mapping[str, str],
    overrides: Overrides | None = None,
    connector: str = "",
    group: str = "",
    may_create: bool = False,
) -> Clients:
    """The clients of a connector, or (without one) of the worker itself. Raises ``ConfigError``."""
    given = overrides or {}
    consumer = _given("consumer", worker, given, _CONSUMER)
    producer = _given("producer", worker, given, _PRODUCER)
    seconds = float(consumer.get("metadata.max.age.ms", "5000")) / 1000
    return Clients(
        producer=_producer(producer),
        consumer=_consumer(consumer),
        admin=_admin(worker, given, consumer),
        maker=_admin(worker, given, producer),
        transactional=_transactional(_given("producer", worker, given, {"acks": "all"})),
        connector=connector,
        group=group,
        reset=consumer["auto.offset.reset"].lower(),
        may_create=may_create,
        metadata_seconds=min(max(seconds, 0.1), 300.0),
    )


def _given(client: str, worker: Mapping[str, str], overrides: Overrides, defaults: Mapping[str, str]) -> dict[str, str]:
    """Settings in Java's words. What the worker says of security holds for all its clients on its own cluster, as far
    as they say nothing else: a login of one's own needs no more than ``sasl.jaas.config``."""
    prefix = f"{client}."
    own = {key[len(prefix) :]: value for key, value in worker.items() if key.startswith(prefix)}
    given = {**own, **overrides.get(client, {})}
    found = {_BOOTSTRAP: worker[_BOOTSTRAP], **defaults}
    elsewhere = given.get(_BOOTSTRAP, worker[_BOOTSTRAP]) != worker[_BOOTSTRAP]
    if not elsewhere:
        replaced = tuple(store for store in _STORES if any(key.startswith(store) for key in given))
        inherited = [key for key in worker if key.startswith(_SECURITY) and not key.startswith(replaced)]
        found.update({key: worker[key] for key in inherited})
    found.update(given)
    return found


_UNPREFIXED = (
    "client.dns.lookup",
    "client.id",
    "connections.max.idle.ms",
    "metadata.max.age.ms",
    "reconnect.backoff.ms",
    "reconnect.backoff.max.ms",
    "retry.backoff.ms",
    "retry.backoff.max.ms",
)


def _unprefixed(worker: Mapping[str, str]) -> dict[str, str]:
    return {key: worker[key] for key in _UNPREFIXED if key in worker}


def _admin(worker: Mapping[str, str], overrides: Overrides, beside: Mapping[str, str]) -> Settings:
    """An admin client for the cluster that another client of the connector uses, unless it has one of its own."""
    found = _given("admin", worker, overrides, _unprefixed(worker))
    named = f"admin.{_BOOTSTRAP}" in worker or _BOOTSTRAP in overrides.get("admin", {})
    if not named and beside[_BOOTSTRAP] != worker[_BOOTSTRAP]:
        connection = {key: value for key, value in beside.items() if key.startswith((_BOOTSTRAP, *_SECURITY))}
        found = {**{key: value for key, value in found.items() if not key.startswith(_SECURITY)}, **connection}
    return _settings(translate("admin", found), _ADMIN_TUNING)


def _producer(given: Mapping[str, str]) -> Settings:
    settings = dict(given)
    if settings["acks"] not in ("all", "-1"):
        settings["enable.idempotence"] = "false"
    if settings["enable.idempotence"].lower() == "false":
        settings.setdefault("max.in.flight.requests.per.connection", "1")
    return _settings(translate("producer", settings), _PRODUCER_TUNING)


def _transactional(given: Mapping[str, str]) -> Settings:
    """What exactly-once demands wins over what is given. librdkafka bounds the delivery by the transaction's time."""
    demanded = {"enable.idempotence": "true", "acks": "all"}
    not_wanted = ("transactional.id", "delivery.timeout.ms", "retries", "max.in.flight.requests.per.connection")
    settings = {key: value for key, value in given.items() if key not in not_wanted}
    tuning = {**_PRODUCER_TUNING, "partitioner": "murmur2_random"}
    return _settings(translate("producer", {**settings, **demanded}), tuning)


def _consumer(given: Mapping[str, str]) -> Settings:
    """The group is not part of it: positions are committed by the driver, so that all readers can share clients."""
    settings = {key: value for key, value in given.items() if key not in ("group.id", "auto.offset.reset")}
    translated = translate("consumer", settings)
    return _settings({**translated, "group.id": READERS_GROUP, "auto.offset.reset": "error"}, _CONSUMER_TUNING)


def _settings(own: Mapping[str, str], tuning: Mapping[str, str]) -> Settings:
    found: dict[str, Any] = {**_QUIET, **tuning, **own}
    return tuple(sorted(found.items()))
