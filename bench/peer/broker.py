"""A broker, and what both contestants have in common when topics are in Kafka."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

import psutil

from ..system import START_SECONDS, System, free_port, write_properties
from ..usage import tree
from ..waiting import wait_for
from .jars import class_path
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

LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.out.ref = OUT
appender.out.type = Console
appender.out.name = OUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
"""


class OnKafka(System):
    """A worker, or several, with a broker of their own, whose settings keep their defaults but for replication."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._broker_port = free_port()
        self._class_path = class_path()
        self._logs: dict[str, TopicLog] = {}

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._broker_port}"

    @property
    def worker_pids(self) -> Sequence[int]:
        """The processes without the broker."""
        return self.pids[1:]

    def prepare(self) -> None:
        """Format the broker's storage and start it."""
        controller = free_port()
        settings = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:{controller}",
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
        self.spawn("broker", self._java(BROKER_HEAP, "kafka.Kafka", str(file)))
        wait_for(self._broker_listens, "the broker listens", START_SECONDS, pause=0.05)

    def launch(self) -> None:
        self.launch_at(self.port)

    @abstractmethod
    def launch_at(self, port: int) -> subprocess.Popen[bytes]:
        """Start a worker of the group whose API is at this port; do not wait."""

    def cluster_settings(self, port: int) -> dict[str, object]:
        """The worker file of a distributed worker."""
        topics = {
            f"{kind}.storage.{key}": value
            for kind in ("config", "offset", "status")
            for key, value in (("topic", f"connect-{kind}"), ("replication.factor", 1))
        }
        return {
            "bootstrap.servers": self.bootstrap,
            "group.id": "bench",
            "listeners": f"http://127.0.0.1:{port}",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            **topics,
        }

    def has_read(self, connector: str, topic: str, lines: int, size: int) -> bool:
        return self.end_offset(topic) >= lines

    def end_offset(self, topic: str) -> int:
        """Looked up in the broker's log: asking for source offsets would cost the worker."""
        return self._logs.setdefault(topic, TopicLog(self.folder / "broker" / f"{topic}-0")).end_offset()

    def kill_worker(self) -> None:
        """``kill -9``, of all that it started too; ``launch`` starts it again."""
        for process in tree(self.worker_pids):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        for worker in self._processes[1:]:
            worker.wait()
        del self._processes[1:]

    def _java(self, heap: tuple[str, ...], *arguments: str) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}"
        return ["java", *heap, *JVM, logging, "-cp", self._class_path, *arguments]

    def _broker_listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._broker_port)) == 0
