"""The keys of a worker file that only workers of a cluster have: Kafka Connect's."""

from __future__ import annotations

from typing import Any

from ..api.config import (
    NO_DEFAULT,
    ConfigDef,
    ConfigKey,
    Importance,
    Type,
    at_least,
    non_empty_string,
    one_of_ignoring_case,
)
from ..api.errors import ConfigError
from .session_keys import is_known
from .worker_keys import worker_key

_GROUP = "Cluster"
_TOPICS = "Internal topics"
_SIGNING = "Requests between workers"
DELAY = "scheduled.rebalance.max.delay.ms"
DEFAULT_DELAY_MS = 2_000


def _replication(name: str, value: Any) -> None:
    if value != -1 and value < 1:
        raise ConfigError.invalid(
            name,
            value,
            "Replication factor must be positive and not larger than the number of brokers in the Kafka cluster, or -1 "
            "to use the broker's default",
        )


def _partitions(name: str, value: Any) -> None:
    if value != -1 and value < 1:
        detail = "Number of partitions must be positive, or -1 to use the broker's default"
        raise ConfigError.invalid(name, value, detail)


def _mac(name: str, value: Any) -> None:
    for algorithm in value if isinstance(value, list) else [value]:
        if not is_known(algorithm):
            raise ConfigError.invalid(name, algorithm, "one of HmacSHA1, HmacSHA256, HmacSHA384, HmacSHA512")


def _topic(kind: str, what: str, partitions: int | None) -> list[ConfigKey]:
    prefix = f"{kind}.storage."
    keys = [
        worker_key(
            _TOPICS,
            f"{prefix}topic",
            Type.STRING,
            NO_DEFAULT,
            f"The topic of {what}. Created compacted when it is missing. Workers with the same group.id name the same.",
            non_empty_string,
            Importance.HIGH,
        ),
        worker_key(
            _TOPICS,
            f"{prefix}replication.factor",
            Type.SHORT,
            3,
            f"Copies of that topic when it is created; -1 leaves it to the broker. Other settings of the topic start "
            f"with {prefix}.",
            _replication,
        ),
    ]
    if partitions is not None:
        doc = "Partitions of that topic when it is created; -1 leaves it to the broker."
        keys.append(worker_key(_TOPICS, f"{prefix}partitions", Type.INT, partitions, doc, _partitions))
    return keys


DISTRIBUTED_KEYS = ConfigDef(
    worker_key(
        _GROUP,
        "group.id",
        Type.STRING,
        NO_DEFAULT,
        "The name of the cluster: workers with the same one share connectors and tasks. No consumer group may have it.",
        non_empty_string,
        Importance.HIGH,
    ),
    worker_key(
        _GROUP,
        "session.timeout.ms",
        Type.INT,
        10_000,
        "A worker whose heartbeats are missing for so long has left; after three quarters of it without an answer a"
        " worker stops its own tasks.",
        at_least(1),
    ),
    worker_key(
        _GROUP,
        "heartbeat.interval.ms",
        Type.INT,
        1_000,
        "How often a worker shows that it is there, and learns that others came or went. Kafka Connect: 3000.",
        at_least(1),
    ),
    worker_key(
        _GROUP,
        "rebalance.timeout.ms",
        Type.INT,
        60_000,
        "How long a round of the group waits for a worker that still has tasks to stop.",
        at_least(1),
    ),
    worker_key(
        _GROUP,
        DELAY,
        Type.INT,
        DEFAULT_DELAY_MS,
        "How long the tasks of a vanished worker wait for it to come back before others get them. Without this key they"
        " wait for a worker that was stopped, and not for one that died. Kafka Connect waits five minutes.",
        at_least(0),
        Importance.MEDIUM,
    ),
    worker_key(
        _GROUP,
        "connect.protocol",
        Type.STRING,
        "sessioned",
        "eager stops everything at each change; compatible and sessioned only move what must move; sessioned signs"
        " requests between workers.",
        one_of_ignoring_case("eager", "compatible", "sessioned"),
    ),
    worker_key(
        _GROUP,
        "worker.sync.timeout.ms",
        Type.INT,
        3_000,
        "How long a worker may take to read the config topic as far as the others before it joins once more.",
        at_least(1),
    ),
    worker_key(
        _GROUP,
        "worker.unsync.backoff.ms",
        Type.INT,
        300_000,
        "Accepted for compatibility: a worker that is behind joins again as soon as it has caught up.",
    ),
    *_topic("config", "connector configurations", None),
    *_topic("offset", "source offsets", 25),
    *_topic("status", "statuses", 5),
    worker_key(
        _TOPICS,
        "internal.topics.automatic.creation.enable",
        Type.BOOLEAN,
        True,
        "Whether missing internal topics are created.",
    ),
    worker_key(
        _SIGNING,
        "inter.worker.key.generation.algorithm",
        Type.STRING,
        "HmacSHA256",
        "The kind of key that the leader makes.",
        _mac,
    ),
    worker_key(
        _SIGNING, "inter.worker.key.size", Type.INT, None, "Its size in bits; by default that of the algorithm."
    ),
    worker_key(_SIGNING, "inter.worker.key.ttl.ms", Type.INT, 3_600_000, "How long a key is used.", at_least(1)),
    worker_key(
        _SIGNING,
        "inter.worker.signature.algorithm",
        Type.STRING,
        "HmacSHA256",
        "How requests to other workers are signed.",
        _mac,
    ),
    worker_key(
        _SIGNING,
        "inter.worker.verification.algorithms",
        Type.LIST,
        ["HmacSHA256"],
        "Signatures of other workers that are accepted; the one above must be among them.",
        _mac,
    ),
)
"""Checked in addition to the other worker keys when a worker is started with ``penstock distributed``."""
