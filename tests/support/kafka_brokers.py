"""Several brokers as one Kafka cluster, whose partitions have leaders that change."""

from __future__ import annotations

from typing import Any

from confluent_kafka.admin import AdminClient

from .kafka import KafkaBroker
from .ports import free_port
from .waiting import wait_until

SETTINGS = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "1000",
}


class KafkaBrokers:
    """Three brokers, each a controller, too; every partition is on all of them. A context manager."""

    def __init__(self) -> None:
        controllers = {node: free_port() for node in (1, 2, 3)}
        self.nodes = [KafkaBroker(SETTINGS, node=node, controllers=controllers) for node in controllers]
        self.bootstrap = ",".join(node.bootstrap for node in self.nodes)

    def __enter__(self) -> KafkaBrokers:
        try:
            for node in self.nodes:
                node.format()
                node.launch()
            for node in self.nodes:
                node.wait_until_it_serves()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for node in self.nodes:
            node.__exit__()

    def wait_until_in_sync(self) -> None:
        """Wait until every partition is whole on every broker, so that another one may go."""
        wait_until(self._in_sync, "all replicas are in sync")

    def leaders(self, topic: str) -> set[int]:
        """The nodes that lead partitions of a topic."""
        return {partition.leader for partition in self._topics()[topic].partitions.values()}

    def _in_sync(self) -> bool:
        partitions = [one for topic in self._topics().values() for one in topic.partitions.values()]
        return bool(partitions) and all(len(one.isrs) == len(self.nodes) for one in partitions)

    def _topics(self) -> dict[str, Any]:
        found = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": "0"}).list_topics(timeout=5).topics
        return dict(found)
