"""Where a worker's topics are: in Kafka when its file names a broker, else in the embedded log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.api.errors import ConfigError
from penstock.storage.offset_store import OffsetStore
from penstock.storage.sqlite import Database
from penstock.topics.embedded import EmbeddedTopics
from penstock.topics.interface import TopicHome

from .connector_config import ConnectorConfig
from .worker_config import WorkerConfig, WorkerConfigError

if TYPE_CHECKING:
    from penstock.topics.kafka.clients import Clients

BOOTSTRAP = "bootstrap.servers"


def in_kafka(worker: Mapping[str, str]) -> bool:
    """Whether a worker's topics are in Kafka."""
    return bool(worker.get(BOOTSTRAP, "").strip())


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
