"""What a worker file says of the cluster, in the words of the parts that need it."""

from __future__ import annotations

from pathlib import Path

from penstock.api.errors import ConfigError
from penstock.storage.kafka_log_topics import InternalTopic
from penstock.topics.kafka.java_keys import translate
from penstock.topics.kafka.python_client import python_settings

from .distributed_keys import DISTRIBUTED_KEYS
from .membership import GroupSettings
from .session_keys import SigningSettings
from .worker_config import WorkerConfig, WorkerConfigError

_PURPOSES = {
    "config": "connector configurations",
    "offset": "source connector offsets",
    "status": "connector and task statuses",
}
_CLIENT = ("security.", "sasl.", "ssl.", "client.dns.lookup", "connections.max.idle.ms", "metadata.max.age.ms")


def load_distributed(path: Path) -> WorkerConfig:
    """A worker file for a cluster. Raises ``WorkerConfigError``."""
    config = WorkerConfig.load(path, more_keys=DISTRIBUTED_KEYS)
    if not config.properties.get("bootstrap.servers"):
        raise WorkerConfigError(
            f"{path}: bootstrap.servers is missing. Workers of a cluster meet in Kafka: name its brokers (host:port, "
            "comma separated). For a worker without Kafka use: penstock standalone"
        )
    signing = signing_settings(config)
    if signing.signature_algorithm not in signing.verification_algorithms:
        raise WorkerConfigError(
            f"{path}: inter.worker.signature.algorithm={signing.signature_algorithm} is not among "
            f"inter.worker.verification.algorithms={','.join(signing.verification_algorithms)}: workers would refuse "
            "each other's requests"
        )
    if config.values["rest.auth.users.file"] and config.values["connect.protocol"].lower() != "sessioned":
        raise WorkerConfigError(
            f"{path}: rest.auth.users.file needs connect.protocol=sessioned: with others, workers do not sign what "
            "they ask each other"
        )
    if config.values["heartbeat.interval.ms"] >= config.values["session.timeout.ms"]:
        raise WorkerConfigError(
            f"{path}: heartbeat.interval.ms={config.values['heartbeat.interval.ms']} must be less than "
            f"session.timeout.ms={config.values['session.timeout.ms']}"
        )
    return config


def internal_topic(config: WorkerConfig, kind: str) -> InternalTopic:
    """``kind`` is ``config``, ``offset`` or ``status``."""
    prefix = f"{kind}.storage."
    own = ("topic", "replication.factor", "partitions")
    return InternalTopic(
        name=config.values[f"{prefix}topic"],
        key=f"{prefix}topic",
        purpose=_PURPOSES[kind],
        partitions=1 if kind == "config" else config.values[f"{prefix}partitions"],
        replication=config.values[f"{prefix}replication.factor"],
        settings={key: value for key, value in config.subset(prefix).items() if key not in own},
        single=kind == "config",
        create=config.values["internal.topics.automatic.creation.enable"],
    )


def signing_settings(config: WorkerConfig) -> SigningSettings:
    """``inter.worker.*``."""
    values = config.values
    return SigningSettings(
        key_algorithm=values["inter.worker.key.generation.algorithm"],
        key_size=values["inter.worker.key.size"],
        key_ttl_ms=values["inter.worker.key.ttl.ms"],
        signature_algorithm=values["inter.worker.signature.algorithm"],
        verification_algorithms=tuple(values["inter.worker.verification.algorithms"]),
    )


def client_settings(config: WorkerConfig) -> dict[str, str]:
    """How the worker's own clients reach Kafka, in librdkafka's words. Raises ``WorkerConfigError``."""
    wanted = {key: value for key, value in config.properties.items() if key.startswith(_CLIENT)}
    try:
        return translate("admin", {**wanted, "bootstrap.servers": config.properties["bootstrap.servers"]})
    except ConfigError as error:
        raise WorkerConfigError(str(error)) from error


def group_settings(config: WorkerConfig) -> GroupSettings:
    """The worker's place in the group. Raises ``WorkerConfigError``."""
    values = config.values
    try:
        client = python_settings(client_settings(config))
    except ConfigError as error:
        raise WorkerConfigError(str(error)) from error
    return GroupSettings(
        group=values["group.id"],
        url=config.url,
        session_ms=values["session.timeout.ms"],
        heartbeat_ms=values["heartbeat.interval.ms"],
        rebalance_ms=values["rebalance.timeout.ms"],
        protocol=values["connect.protocol"].lower(),
        client=client,
        folder=config.data_dir,
    )
