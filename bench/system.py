"""What is measured: a worker with all its processes, started on a fresh folder."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from .api import Api
from .usage import tree
from .waiting import wait_for

START_SECONDS = 90.0
STOP_SECONDS = 15.0


class System(ABC):
    """One of the contestants. ``prepare``, ``launch``, ``wait_answer``, and at the end ``stop``."""

    name: str
    shows_restarting_first: bool
    """Whether a restart is visible in the status before its request is answered."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.api = Api(f"http://127.0.0.1:{self.port}")
        self._processes: list[subprocess.Popen[bytes]] = []

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """What is measured, for the report."""

    def prepare(self) -> None:  # noqa: B027
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

    @property
    def pids(self) -> Sequence[int]:
        """The processes that were started; what they started belongs to them."""
        return [process.pid for process in self._processes]

    def stop(self) -> None:
        """End everything: kindly, then by force."""
        self.api.close()
        everything = tree(self.pids)
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
        for left in everything:
            with contextlib.suppress(psutil.NoSuchProcess):
                left.kill()
        for process in self._processes:
            process.wait()

    def tail(self) -> str:
        """The end of what the processes printed."""
        texts = [path.read_text(errors="replace").splitlines()[-20:] for path in sorted(self.folder.glob("*.out"))]
        return "\n".join(line for lines in texts for line in lines)

    def spawn(
        self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start one of the system's processes; what it prints goes to a file of that name."""
        with (self.folder / f"{name}.out").open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        self._processes.append(process)
        return process


def write_properties(path: Path, settings: Mapping[str, object]) -> Path:
    """A Java properties file."""
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return path


def free_port() -> int:
    """A port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
