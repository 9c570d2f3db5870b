"""Processes that a run has started, on a folder for what they print."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from .usage import tree

STOP_SECONDS = 15.0


class Processes:
    """Started by ``spawn``, ended by ``stop`` in the opposite order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def pids(self) -> Sequence[int]:
        """The processes that were started; what they started belongs to them."""
        return [process.pid for process in self._processes]

    def spawn(
        self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a process; what it prints goes to a file of that name."""
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

    def stop(self) -> None:
        """End everything: kindly, then by force."""
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
