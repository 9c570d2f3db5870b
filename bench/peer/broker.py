"""A broker, with the settings that Kafka's scripts and its defaults give it."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from ..processes import Processes
from ..system import START_SECONDS, free_port, write_properties
from ..waiting import wait_for
from .java import java
from .topic_log import TopicLog

HEAP = ("-Xms1G", "-Xmx1G")


class Broker:
    """A single broker whose settings keep their defaults but for replication."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._logs: dict[str, TopicLog] = {}

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self, processes: Processes) -> None:
        """Format its storage and start it as one of these processes; returns when it listens."""
        controller = free_port()
        settings = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:{controller}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": self._folder / "broker",
            "num.partitions": 1,
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
        }
        file = write_properties(self._folder / "broker.properties", settings)
        storage = ["format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(file)]
        subprocess.run(java(self._folder, (), "kafka.tools.StorageTool", *storage), check=True, capture_output=True)
        processes.spawn("broker", java(self._folder, HEAP, "kafka.Kafka", str(file)))
        wait_for(self._listens, "the broker listens", START_SECONDS, pause=0.05)

    def end_offset(self, topic: str) -> int:
        """The end of a topic of one partition; 0 when it does not exist. Nobody is asked for it."""
        return self._logs.setdefault(topic, TopicLog(self._folder / "broker" / f"{topic}-0")).end_offset()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0
