"""Kafka Connect: a distributed worker alone in its group, with a broker of its own, as their scripts start them."""

from __future__ import annotations

from ..system import write_properties
from .broker import OnKafka
from .jars import kafka_version

CONNECT_HEAP = ("-Xms256M", "-Xmx2G")


class KafkaConnect(OnKafka):
    """Every setting that has a default keeps it, but for the replication that one broker cannot give."""

    name = "Kafka Connect"
    shows_restarting_first = False
    more: dict[str, object] = {}
    """Settings beyond those of every worker."""

    @classmethod
    def version(cls) -> str:
        return kafka_version()

    def launch(self) -> None:
        file = write_properties(self.folder / "worker.properties", {**self.cluster_settings(), **self.more})
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        self.spawn("worker", self._java(CONNECT_HEAP, main, str(file)))


class ExactlyOnceConnect(KafkaConnect):
    """The same with exactly-once sources."""

    more: dict[str, object] = {"exactly.once.source.support": "enabled"}
