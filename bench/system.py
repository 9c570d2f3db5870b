"""What is measured: a worker with all its processes, started on a fresh folder."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from .api import Api
from .processes import Processes
from .waiting import wait_for

START_SECONDS = 90.0


class System(Processes, ABC):
    """One of the contestants. ``prepare``, ``launch``, ``wait_answer``, and at the end ``stop``."""

    name: str
    shows_restarting_first: bool
    """Whether a restart is visible in the status before its request is answered."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = free_port()
        self.api = Api(f"http://127.0.0.1:{self.port}")

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """What is measured, for the report."""

    def prepare(self) -> None:
        """Start what the worker needs from others. Not part of its start-up time."""

    @abstractmethod
    def launch(self) -> None:
        """Start the worker's process; do not wait."""

    def wait_answer(self) -> None:
        """Wait until the API answers."""
        worker = self._processes[-1]

        def answers() -> bool:
            if worker.poll() is not None:
                raise RuntimeError(f"{self.name} ended with {worker.returncode} while it started")
            return self.api.answers()

        wait_for(answers, f"{self.name} answers", START_SECONDS, pause=0.01)

    @abstractmethod
    def has_read(self, connector: str, topic: str, lines: int, size: int) -> bool:
        """Whether a file source has brought so many lines, of so many bytes in all, into its topic.

        Asked many times a second, so it must cost the system next to nothing.
        """

    def own(self, name: str) -> str:
        """This name of a topic or connector, told apart from that of others that use the same broker."""
        return name

    def stop(self) -> None:
        self.api.close()
        super().stop()


def write_properties(path: Path, settings: Mapping[str, object]) -> Path:
    """A Java properties file."""
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return path


def free_port() -> int:
    """A port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
