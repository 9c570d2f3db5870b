"""What both contestants have in common when their topics are in Kafka."""

from __future__ import annotations

import contextlib
import subprocess
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

import psutil

from .peer.broker import Broker
from .system import System
from .usage import tree


class OnKafka(System):
    """A worker, or several of one group, with a broker of their own or, as ``group``, with others on the same one."""

    def __init__(self, folder: Path, broker: Broker | None = None, group: str = "bench") -> None:
        super().__init__(folder)
        self._shares = broker is not None
        self._group = group
        self.broker = broker or Broker(folder)

    @property
    def worker_pids(self) -> Sequence[int]:
        """The processes without the broker."""
        return self.pids if self._shares else self.pids[1:]

    def prepare(self) -> None:
        if not self._shares:
            self.broker.start(self)

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
            for key, value in (("topic", f"{self._group}-{kind}"), ("replication.factor", 1))
        }
        return {
            "bootstrap.servers": self.broker.bootstrap,
            "group.id": self._group,
            "listeners": f"http://127.0.0.1:{port}",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            **topics,
        }

    def own(self, name: str) -> str:
        return f"{self._group}-{name}" if self._shares else name

    def has_read(self, connector: str, topic: str, lines: int, size: int) -> bool:
        """Looked up in the broker's log: asking for source offsets would cost the worker."""
        return self.broker.end_offset(topic) >= lines

    def kill_worker(self) -> None:
        """``kill -9``, of all that it started too; ``launch`` starts it again."""
        killed = set(self.worker_pids)
        for process in tree(self.worker_pids):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        for worker in [process for process in self._processes if process.pid in killed]:
            worker.wait()
            self._processes.remove(worker)
