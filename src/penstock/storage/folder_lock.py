"""A folder belongs to one worker at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from .errors import FolderInUse, FolderNotWritable

NAME = "penstock.lock"


class FolderLock:
    """An exclusive lock on ``penstock.lock`` in a folder. The system lets go of it when the process ends."""

    def __init__(self, folder: Path) -> None:
        path = folder / NAME
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise FolderNotWritable(folder, error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.read(self._file, 32).decode(errors="replace").strip()
            os.close(self._file)
            raise FolderInUse(folder, owner) from error
        self._note_owner(folder)

    def _note_owner(self, folder: Path) -> None:
        """Leave our process id for the message of whoever comes second."""
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            os.close(self._file)
            raise FolderNotWritable(folder, error) from error

    def release(self) -> None:
        """Let another worker in."""
        os.close(self._file)
