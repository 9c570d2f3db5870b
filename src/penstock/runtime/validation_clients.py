"""Client overrides of a connector: ``producer.override.*``, ``consumer.override.*``, ``admin.override.*``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.config import ConfigKey, ConfigValue, Importance, Type
from penstock.api.config_values import parse_value, trim
from penstock.api.errors import ConfigError

from .plugins import PluginKind
from .validation_json import Findings, prefixed_findings

_SHARED = {
    Type.INT: "request.timeout.ms default.api.timeout.ms send.buffer.bytes receive.buffer.bytes metrics.num.samples"
    " reconnect.backoff.max.retries",
    Type.LONG: "metadata.max.age.ms connections.max.idle.ms reconnect.backoff.ms reconnect.backoff.max.ms"
    " retry.backoff.ms retry.backoff.max.ms metrics.sample.window.ms socket.connection.setup.timeout.ms"
    " socket.connection.setup.timeout.max.ms metadata.recovery.rebootstrap.trigger.ms",
    Type.BOOLEAN: "enable.metrics.push",
    Type.LIST: "bootstrap.servers metric.reporters ssl.enabled.protocols ssl.cipher.suites",
    Type.PASSWORD: "sasl.jaas.config ssl.key.password ssl.keystore.password ssl.truststore.password ssl.keystore.key"
    " ssl.keystore.certificate.chain ssl.truststore.certificates",
    Type.STRING: "client.id client.dns.lookup security.protocol sasl.mechanism metrics.recording.level",
}
_PRODUCER = {
    Type.INT: "batch.size delivery.timeout.ms max.request.size retries max.in.flight.requests.per.connection"
    " transaction.timeout.ms partitioner.availability.timeout.ms compression.gzip.level compression.lz4.level"
    " compression.zstd.level",
    Type.LONG: "buffer.memory linger.ms max.block.ms metadata.max.idle.ms",
    Type.BOOLEAN: "enable.idempotence partitioner.ignore.keys partitioner.adaptive.partitioning.enable",
    Type.LIST: "interceptor.classes",
    Type.STRING: "acks compression.type transactional.id",
}
_CONSUMER = {
    Type.INT: "max.poll.records max.poll.interval.ms session.timeout.ms heartbeat.interval.ms fetch.min.bytes"
    " fetch.max.bytes fetch.max.wait.ms max.partition.fetch.bytes auto.commit.interval.ms",
    Type.BOOLEAN: "enable.auto.commit check.crcs exclude.internal.topics allow.auto.create.topics",
    Type.LIST: "interceptor.classes partition.assignment.strategy",
    Type.STRING: "group.id group.instance.id group.protocol auto.offset.reset isolation.level client.rack",
}
_ADMIN = {Type.INT: "retries"}


def _types(*tables: Mapping[Type, str]) -> dict[str, Type]:
    return {name: type for table in tables for type, names in table.items() for name in names.split()}


CLIENT_TYPES = {
    "producer": _types(_SHARED, _PRODUCER),
    "consumer": _types(_SHARED, _CONSUMER),
    "admin": _types(_SHARED, _ADMIN),
}
"""The settings of Kafka's clients whose values we can check, by client."""

_PRINCIPAL = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})
_POLICY_SUFFIX = "ConnectorClientConfigOverridePolicy"


def override_prefix(client: str) -> str:
    """What the keys of a client's overrides begin with."""
    return f"{client}.override."


def overrides(client: str, props: Mapping[str, Any]) -> dict[str, Any]:
    """A connector's settings for one of its clients, without their prefix."""
    prefix = override_prefix(client)
    return {key[len(prefix) :]: value for key, value in props.items() if key.startswith(prefix)}


def clients_of(kind: PluginKind, props: Mapping[str, Any]) -> list[str]:
    """The clients a connector has: they are the ones whose overrides are looked at, in this order."""
    if kind is PluginKind.SOURCE:
        return ["producer", *(["admin"] if any(key.startswith("topic.creation.") for key in props) else [])]
    dead_letters = bool(trim(props.get("errors.deadletterqueue.topic.name") or ""))
    return ["producer", "consumer", "admin"] if dead_letters else ["consumer"]


def override_findings(worker: Mapping[str, str], kind: PluginKind, props: Mapping[str, Any]) -> Findings:
    """Check all overrides. Raises ``ConfigError`` for a value of the wrong type."""
    findings = Findings()
    for client in clients_of(kind, props):
        types = CLIENT_TYPES[client]
        values = []
        for name, raw in overrides(client, props).items():
            value = parse_value(name, raw, types[name]) if name in types else raw
            values.append(ConfigValue(name, value, errors=_refusals(worker, name)))
        keys = {name: _definition(client, name, types[name]) for value in values if (name := value.name) in types}
        findings.add(prefixed_findings(keys, values, override_prefix(client)))
    return findings


def _definition(client: str, name: str, type: Type) -> ConfigKey:
    return ConfigKey(name, type, None, Importance.MEDIUM, f"A setting of the connector's Kafka {client}.")


def _refusals(worker: Mapping[str, str], name: str) -> list[str]:
    policy = policy_name(worker)
    allowlist = [trim(entry) for entry in worker.get("connector.client.config.override.allowlist", "").split(",")]
    allowed = {"All": True, "None": False, "Principal": name in _PRINCIPAL, "Allowlist": name in allowlist}[policy]
    if allowed:
        return []
    return [f"The '{policy}' policy does not allow '{name}' to be overridden in the connector configuration."]


def policy_name(worker: Mapping[str, str]) -> str:
    """The short name of the worker's override policy. Raises ``ConfigError`` for an unknown one."""
    key = "connector.client.config.override.policy"
    text = trim(worker.get(key) or "All")
    short = text.rpartition(".")[2].removesuffix(_POLICY_SUFFIX)
    known = {name.lower(): name for name in ("All", "None", "Principal", "Allowlist")}
    if short.lower() not in known:
        raise ConfigError.invalid(key, text, f"String must be one of: {', '.join(known.values())}")
    return known[short.lower()]
