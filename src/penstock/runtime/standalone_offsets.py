"""Where a standalone worker keeps the offsets of its sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING

from penstock.storage.offset_store import Change, OffsetStore
from penstock.storage.sqlite import Database
from penstock.storage.sqlite_log import SqliteLog

from .connector_config import ConnectorConfig
from .topic_homes import EXACTLY_ONCE, OFFSETS_TOPIC, wants_exactly_once
from .worker_config import WorkerConfig, WorkerConfigError

if TYPE_CHECKING:
    from penstock.storage.kafka_log import KafkaLog

    from .offset_transactions import OffsetTransactions


class OffsetsInKafka(OffsetStore):
    """Offsets in a topic that transactions of sources can reach."""

    def __init__(self, log: KafkaLog, transactions: OffsetTransactions) -> None:
        super().__init__(log)
        self.transactions = transactions

    def open(self, parsed: ConnectorConfig) -> None:
        """Know how a connector reaches its cluster. Raises ``ConfigError``."""
        self.transactions.know(parsed)

    def change(self, connector: str, changes: Iterable[Change]) -> Future[None]:
        return self.transactions.write(self, connector, changes)


def open_offsets(config: WorkerConfig, database: Database) -> OffsetStore:
    """The source offsets of a standalone worker, started: in its database, or where transactions can reach them.

    Raises ``WorkerConfigError``.
    """
    worker = config.properties
    store: OffsetStore
    if wants_exactly_once(worker):
        missing = [key for key in ("group.id", OFFSETS_TOPIC) if not worker.get(key, "").strip()]
        if missing:
            raise WorkerConfigError(
                f"{EXACTLY_ONCE}=enabled needs {' and '.join(missing)}: transactions are named after the group "
                f"and write source offsets to that topic of the same Kafka cluster. Set them, or leave {EXACTLY_ONCE} "
                "out."
            )
        store = _offsets_in_kafka(worker)
    else:
        store = OffsetStore(SqliteLog(database, "offsets"))
    store.start()
    return store


def _offsets_in_kafka(worker: Mapping[str, str]) -> OffsetsInKafka:
    from penstock.storage.kafka_log import KafkaLogs
    from penstock.storage.kafka_log_topics import InternalTopic
    from penstock.topics.kafka.clients import compose

    from .offset_transactions import OffsetTransactions

    login = dict(compose(worker).admin)
    logs = KafkaLogs({**login, "log_level": "2"}, f"{worker['group.id']}-offsets", ends_transactions=True)
    topic = InternalTopic(
        worker[OFFSETS_TOPIC],
        OFFSETS_TOPIC,
        "source connector offsets",
        partitions=int(worker.get("offset.storage.partitions", "25")),
        replication=int(worker.get("offset.storage.replication.factor", "3")),
    )
    return OffsetsInKafka(logs.log(topic), OffsetTransactions(worker, login))
