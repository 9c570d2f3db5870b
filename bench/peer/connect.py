"""Kafka Connect: distributed workers, usually one, as its scripts start them."""

from __future__ import annotations

import subprocess

from ..on_kafka import OnKafka
from ..system import write_properties
from .jars import kafka_version
from .java import java

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

    def launch_at(self, port: int) -> subprocess.Popen[bytes]:
        name = f"worker-{port}"
        file = write_properties(self.folder / f"{name}.properties", {**self.cluster_settings(port), **self.more})
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        return self.spawn(name, java(self.folder, CONNECT_HEAP, main, str(file)))


class ExactlyOnceConnect(KafkaConnect):
    """The same with exactly-once sources."""

    more: dict[str, object] = {"exactly.once.source.support": "enabled"}
