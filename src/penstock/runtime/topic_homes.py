"""Where a worker's topics are: in Kafka when its file names a broker, else in the embedded log."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, cast

from penstock.api.errors import ConfigError
from penstock.storage.offset_store import OffsetStore
from penstock.storage.sqlite import Database
from penstock.topics.embedded import EmbeddedTopics
from penstock.topics.interface import TopicHome

from .connector_config import ConnectorConfig
from .exactly_once import Boundary, ExactlyOnce
from .worker_config import WorkerConfig, WorkerConfigError

if TYPE_CHECKING:
    from penstock.storage.kafka_log import KafkaLog
    from penstock.topics.kafka.clients import Clients

BOOTSTRAP = "bootstrap.servers"
EXACTLY_ONCE = "exactly.once.source.support"
OFFSETS_TOPIC = "offset.storage.topic"
OWN_OFFSETS_TOPIC = "offsets.storage.topic"

_CONNECTION = ("bootstrap.servers", "security.", "sasl.", "ssl.", "enable.ssl.")

LONGEST_PART_OF_TIMEOUT = 2 / 3
"""A transaction that collects batches is committed before Kafka loses its patience (``transaction.timeout.ms``)."""


def in_kafka(worker: Mapping[str, str]) -> bool:
    """Whether a worker's topics are in Kafka."""
    return bool(worker.get(BOOTSTRAP, "").strip())


def wants_exactly_once(worker: Mapping[str, str]) -> bool:
    """Whether sources of a worker write with transactions."""
    return in_kafka(worker) and worker.get(EXACTLY_ONCE, "").strip().lower() == "enabled"


def exactly_once(worker: Mapping[str, str], parsed: ConnectorConfig, offsets: OffsetStore) -> ExactlyOnce | None:
    """How a source commits with transactions; ``None`` without them."""
    if not wants_exactly_once(worker):
        return None
    log = cast("KafkaLog", offsets.log_of(parsed.name))
    own = producer_bootstrap(worker, parsed)
    if own != worker[BOOTSTRAP] and log is offsets.log:
        raise ConfigError.invalid(
            f"producer.override.{BOOTSTRAP}",
            own,
            "A transaction cannot span two clusters: with exactly.once.source.support=enabled a source writes to the "
            "cluster that has the worker's offsets topic. Leave the override out, or run the connector on workers of a "
            "cluster (penstock distributed), which keep its offsets beside its records",
        )
    boundary = transaction_boundary(parsed)
    default = worker.get("offset.flush.interval.ms", "60000")
    interval = float(parsed.settings.get("transaction.boundary.interval.ms") or default) / 1000
    settings = dict(connector_clients(worker, parsed).transactional)
    timeout = float(settings.get("transaction.timeout.ms", "60000")) / 1000
    interval = min(interval, timeout * LONGEST_PART_OF_TIMEOUT)

    def read_to_end() -> Future[None]:
        """Of the log that has the offsets then: it is another one when the topic was deleted and restored."""
        return cast("KafkaLog", offsets.log_of(parsed.name)).read_to_end()

    return ExactlyOnce(worker["group.id"], log.topic.name, read_to_end, boundary, interval, timeout)


def connection(worker: Mapping[str, str], parsed: ConnectorConfig) -> dict[str, str]:
    """How the cluster is reached that a source writes to, in librdkafka's words."""
    settings = dict(connector_clients(worker, parsed).producer)
    return {key: str(value) for key, value in sorted(settings.items()) if key.startswith(_CONNECTION)}


def producer_bootstrap(worker: Mapping[str, str], parsed: ConnectorConfig) -> str:
    """The brokers that a source writes to."""
    return parsed.producer_overrides.get(BOOTSTRAP) or worker.get(f"producer.{BOOTSTRAP}") or worker[BOOTSTRAP]


def transaction_boundary(parsed: ConnectorConfig) -> Boundary:
    """What ends the transactions of a source."""
    return Boundary(parsed.settings.get("transaction.boundary", "poll").strip().lower())


def open_home(config: WorkerConfig, database: Database, offsets: OffsetStore) -> TopicHome:
    """The home of a worker's topics. Raises ``WorkerConfigError`` when Kafka cannot be used as configured."""
    if not in_kafka(config.properties):
        return EmbeddedTopics(database, config.data_dir / "topics", offsets)
    return kafka_home(config.properties, offsets)


def kafka_home(worker: Mapping[str, str], offsets: OffsetStore) -> TopicHome:
    """Topics in Kafka. Raises ``WorkerConfigError``."""
    try:
        from penstock.topics.kafka.clients import compose
        from penstock.topics.kafka.home import KafkaHome
    except ImportError as error:
        raise WorkerConfigError(
            f"{BOOTSTRAP}={worker[BOOTSTRAP]} puts topics into Kafka, which needs a package that is not installed "
            f"({error}).\n  Install it with: pip install 'penstock[kafka]'\n  or leave the key out to keep topics in "
            "the embedded log."
        ) from error
    try:
        return KafkaHome(compose(worker), offsets)
    except ConfigError as error:
        raise WorkerConfigError(str(error)) from error


def connector_home(topics: TopicHome, worker: Mapping[str, str], parsed: ConnectorConfig) -> TopicHome:
    """The home as the tasks of one connector see it: with its own client settings. Raises ``ConfigError``."""
    if not in_kafka(worker):
        return topics
    return topics.for_connector(connector_clients(worker, parsed))


def connector_clients(worker: Mapping[str, str], parsed: ConnectorConfig) -> Clients:
    """The client settings of one connector."""
    from penstock.topics.kafka.clients import compose

    return compose(
        worker,
        {
            "producer": parsed.producer_overrides,
            "consumer": parsed.consumer_overrides,
            "admin": parsed.admin_overrides,
        },
        parsed.name,
        parsed.group_id,
        may_create=bool(parsed.topic_groups),
    )
