"""Penstock: one worker on the embedded log, or with its topics in Kafka."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import penstock

from .on_kafka import OnKafka
from .system import System, write_properties

SOURCE = Path(__file__).parents[1] / "src"


class Penstock(System):
    """``penstock standalone`` as a user would start it; nothing is tuned."""

    name = "Penstock"
    shows_restarting_first = True

    @classmethod
    def version(cls) -> str:
        return penstock.__version__

    def has_read(self, connector: str, topic: str, lines: int, size: int) -> bool:
        """Records and offsets are committed together, and offsets are in memory: asking for them is cheap."""
        return self.api.position(connector) >= size

    def launch(self) -> None:
        settings = {"data.dir": self.folder / "data", "listeners": f"http://127.0.0.1:{self.port}"}
        _launch(self, "standalone", settings, "worker")


class PenstockOnKafka(OnKafka):
    """``penstock distributed``, alone in its group, with the worker file that Kafka Connect gets."""

    name = "Penstock"
    shows_restarting_first = True
    more: dict[str, object] = {}
    """Settings beyond those of every worker."""

    @classmethod
    def version(cls) -> str:
        return penstock.__version__

    def launch_at(self, port: int) -> subprocess.Popen[bytes]:
        data = {"data.dir": self.folder / f"data-{port}"}
        return _launch(self, "distributed", {**self.cluster_settings(port), **data, **self.more}, f"worker-{port}")


class ExactlyOncePenstock(PenstockOnKafka):
    """The same with exactly-once sources."""

    more: dict[str, object] = {"exactly.once.source.support": "enabled"}


def _launch(system: System, verb: str, settings: Mapping[str, object], name: str) -> subprocess.Popen[bytes]:
    worker_file = write_properties(system.folder / f"{name}.properties", settings)
    python_path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "penstock", verb, str(worker_file)]
    return system.spawn(name, command, {"PYTHONPATH": python_path})
