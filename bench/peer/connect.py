"""Kafka Connect: a distributed worker alone in its group, with a broker of its own, as their scripts start them."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from ..system import START_SECONDS, System, free_port, write_properties
from ..waiting import wait_for
from .jars import class_path, kafka_version
from .topic_log import TopicLog

JVM = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
"""What kafka-run-class.sh gives every Kafka process."""

BROKER_HEAP = ("-Xms1G", "-Xmx1G")
CONNECT_HEAP = ("-Xms256M", "-Xmx2G")

LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.out.ref = OUT
appender.out.type = Console
appender.out.name = OUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
"""


class KafkaConnect(System):
    """Every setting that has a default keeps it, but for the replication that one broker cannot give."""

    name = "Kafka Connect"
    shows_restarting_first = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._broker_port = free_port()
        self._class_path = class_path()
        self._logs: dict[str, TopicLog] = {}

    @classmethod
    def version(cls) -> str:
        return kafka_version()

    def prepare(self) -> None:
        """Format the broker's storage and start it."""
        controller = free_port()
        settings = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://127.0.0.1:{self._broker_port},CONTROLLER://127.0.0.1:{controller}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": self.folder / "broker",
            "num.partitions": 1,
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
        }
        file = write_properties(self.folder / "broker.properties", settings)
        (self.folder / "log4j2.properties").write_text(LOGGING)
        storage = ["format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(file)]
        subprocess.run(self._java((), "kafka.tools.StorageTool", *storage), check=True, capture_output=True)
        self._spawn("broker", self._java(BROKER_HEAP, "kafka.Kafka", str(file)))
        wait_for(self._broker_listens, "the broker listens", START_SECONDS, pause=0.05)

    def launch(self) -> None:
        topics = {
            f"{kind}.storage.{key}": value
            for kind in ("config", "offset", "status")
            for key, value in (("topic", f"connect-{kind}"), ("replication.factor", 1))
        }
        settings = {
            "bootstrap.servers": f"127.0.0.1:{self._broker_port}",
            "group.id": "bench",
            "listeners": f"http://127.0.0.1:{self.port}",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            **topics,
        }
        file = write_properties(self.folder / "worker.properties", settings)
        main = "org.apache.kafka.connect.cli.ConnectDistributed"
        self._spawn("worker", self._java(CONNECT_HEAP, main, str(file)))

    def has_read(self, connector: str, topic: str, lines: int, size: int) -> bool:
        """Looked up in the broker's log: asking Connect for source offsets makes it open a consumer each time."""
        log = self._logs.setdefault(topic, TopicLog(self.folder / "broker" / f"{topic}-0"))
        return log.end_offset() >= lines

    def _java(self, heap: tuple[str, ...], *arguments: str) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}"
        return ["java", *heap, *JVM, logging, "-cp", self._class_path, *arguments]

    def _broker_listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._broker_port)) == 0
