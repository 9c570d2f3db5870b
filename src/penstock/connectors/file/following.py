"""Telling whether a file is still the one that was read so far, and finding the rest of one that was moved away."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import BinaryIO

log = logging.getLogger(__name__)

HEAD_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Piece:
    """Where to read on: a path and a position. ``closed`` when nobody will complete its last line."""

    path: str
    start: int
    closed: bool = False


class Follower:
    """Remembers the beginning of a file while it is read, for as long as the task runs.

    A file whose first bytes changed, or that is shorter than what was read, is a new file under the old name: it is
    read from its beginning, after the rest of the old one, if that is still in the same folder under another name. A
    file that was rewritten with the same beginning (as editors do) is read on where it was.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._known: _Identity | None = None
        self._planned: _Identity | None = None
        self._warned_of: tuple[int, int] | None = None

    def next_piece(self, file: BinaryIO, position: int) -> Piece:
        """What comes after ``position`` of the file that was read so far; ``file`` is the one under its name now."""
        status = os.fstat(file.fileno())
        if status.st_size >= position:
            if self._known is None:
                self._known = _Identity.of(file, position)
            if self._known.begins(file):
                return Piece(self._path, position)
        rest = self._moved_away(status.st_ino, position)
        if rest is not None:
            return Piece(rest, position, closed=True)
        if self._warned_of != (status.st_ino, position):
            log.warning(
                "File %s was truncated or replaced after %d bytes; it is read from the beginning", self._path, position
            )
            self._warned_of = (status.st_ino, position)
        return Piece(self._path, 0)

    def planned(self, file: BinaryIO, end: int) -> None:
        """A piece of ``file`` up to ``end`` is going to be read."""
        self._planned = _Identity.of(file, end)

    def committed(self) -> None:
        """The planned piece was committed: positions are positions in its file now."""
        self._known = self._planned or self._known

    def _moved_away(self, inode: int, position: int) -> str | None:
        """The old file under its new name, if it is near and holds more than was read."""
        known = self._known
        if known is None or inode == known.inode:
            return None
        with os.scandir(os.path.dirname(self._path) or ".") as entries:
            near = [entry.path for entry in entries if entry.inode() == known.inode and entry.is_file()]
        for path in near:
            with open(path, "rb", buffering=0) as file:
                if os.fstat(file.fileno()).st_size > position and known.begins(file):
                    return path
        return None


@dataclass(frozen=True, slots=True)
class _Identity:
    """What tells one file from another: its inode and the first bytes that were read."""

    inode: int
    head: bytes

    @classmethod
    def of(cls, file: BinaryIO, position: int) -> _Identity:
        head = os.pread(file.fileno(), min(position, HEAD_BYTES), 0)
        return cls(os.fstat(file.fileno()).st_ino, head)

    def begins(self, file: BinaryIO) -> bool:
        return os.pread(file.fileno(), len(self.head), 0) == self.head
