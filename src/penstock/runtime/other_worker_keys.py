"""Keys of a worker file that mean nothing here, or nothing to the worker itself."""

from __future__ import annotations

from collections.abc import Mapping

NOT_USED: Mapping[str, str] = {
    "offset.storage.file.filename": "offsets are kept in data.dir, with everything else",
    "config.storage.topic": "connectors are kept in data.dir",
    "status.storage.topic": "statuses are kept in data.dir",
    "metric.reporters": "Java metric reporters cannot be loaded",
    "internal.key.converter": "Kafka Connect removed it, too",
    "internal.value.converter": "Kafka Connect removed it, too",
}
"""Kafka Connect's keys that a file may carry over without harm, and why they do nothing here."""

_CLIENT_AND_GROUP_KEYS = """
    group.id offset.storage.topic client.dns.lookup client.id request.timeout.ms connections.max.idle.ms
    metadata.max.age.ms metadata.recovery.strategy metadata.recovery.rebootstrap.trigger.ms retry.backoff.ms
    retry.backoff.max.ms
    reconnect.backoff.ms reconnect.backoff.max.ms security.protocol security.providers send.buffer.bytes
    receive.buffer.bytes socket.connection.setup.timeout.ms socket.connection.setup.timeout.max.ms
    metrics.sample.window.ms metrics.num.samples auto.include.jmx.reporter
    config.storage.replication.factor offset.storage.replication.factor status.storage.replication.factor
    offset.storage.partitions status.storage.partitions internal.topics.automatic.creation.enable
    session.timeout.ms heartbeat.interval.ms rebalance.timeout.ms worker.sync.timeout.ms worker.unsync.backoff.ms
    connect.protocol scheduled.rebalance.max.delay.ms inter.worker.key.generation.algorithm inter.worker.key.size
    inter.worker.key.ttl.ms inter.worker.signature.algorithm inter.worker.verification.algorithms
    key.converter.plugin.version value.converter.plugin.version header.converter.plugin.version
"""

NOT_USED_QUIETLY = frozenset(_CLIENT_AND_GROUP_KEYS.split())
"""Settings of Kafka clients and of the group, without a meaning for a worker on the embedded log."""

OPEN_PREFIXES = (
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "config.providers.",
    "spark.",
    "producer.",
    "consumer.",
    "admin.",
    "ssl.",
    "sasl.",
    "listeners.https.",
    "metrics.context.",
    "config.storage.",
    "offset.storage.",
    "status.storage.",
)
"""Keys that start like this belong to a plugin, to Spark or to a Kafka client, and are not checked here."""
