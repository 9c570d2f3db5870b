"""Penstock: one worker on the embedded log."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import penstock

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
        worker_file = write_properties(self.folder / "worker.properties", settings)
        python_path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-m", "penstock", "standalone", str(worker_file)]
        self._spawn("worker", command, {"PYTHONPATH": python_path})
