"""Disks that fill up, and folders that may not be written, also when tests run as root."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import psutil

from .remains import processes_of

CAP_DAC_OVERRIDE = 1
PR_CAPBSET_DROP = 24
MEGABYTE = 1 << 20


class Disk(Protocol):
    """Space for a worker's data and its output file."""

    folder: Path

    def fill(self, worker: int) -> None:
        """From now on writes of the worker fail for want of space."""

    def free(self, worker: int) -> None:
        """There is space again."""


class SizeLimit:
    """A limit on the size of files (``RLIMIT_FSIZE``), which any user may put on processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, worker: int) -> None:
        self._limit(worker, MEGABYTE)

    def free(self, worker: int) -> None:
        self._limit(worker, resource.RLIM_INFINITY)

    @staticmethod
    def _limit(worker: int, size: int) -> None:
        python = [psutil.Process(worker), *processes_of(worker, "penstock.spark.daemon")]
        for process in python:
            _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, hard))


class SmallDisk:
    """A small file system in memory, and a file that takes the rest of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self, worker: int) -> None:
        with self._ballast.open("wb", buffering=0) as file:
            for size in (MEGABYTE, 4096):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError:
                    continue

    def free(self, worker: int) -> None:
        self._ballast.unlink()


@contextmanager
def mounted(folder: Path, megabytes: int) -> Iterator[bool]:
    """A file system of its own in ``folder``; false where the system does not allow that."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "penstock-test", str(folder)]
    done = subprocess.run(["mount", *options], capture_output=True) if os.getuid() == 0 else None
    try:
        yield done is not None and done.returncode == 0
    finally:
        if done is not None and done.returncode == 0:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def obey_permissions() -> None:
    """To be called in a child before it becomes a worker: root is then bound by permissions like anybody else."""
    if os.getuid() == 0 and ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) != 0:
        raise OSError("this root may not give up its rights")
