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
        self._inode: int | None = None
        self._head = b""
        self._starts_over = False
        self._warned_of: tuple[int, int] | None = None

    def next_piece(self, file: BinaryIO, position: int) -> Piece:
        """What comes after ``position`` of the file that was read so far; ``file`` is the one under its name now."""
        status = os.fstat(file.fileno())
        self._starts_over = False
        if self._is_same(file, status.st_size, position):
            self._inode = status.st_ino
            self._head = _head_of(file, position)
            return Piece(self._path, position)
        rest = self._moved_away(status.st_ino, position)
        if rest is not None:
            return Piece(rest, position, closed=True)
        if self._warned_of != (status.st_ino, position):
            log.warning(
                "File %s was truncated or replaced after %d bytes; it is read from the beginning", self._path, position
            )
            self._warned_of = (status.st_ino, position)
        self._starts_over = True
        return Piece(self._path, 0)

    def committed(self) -> None:
        """The last piece was committed: from now on positions are positions in it."""
        if self._starts_over:
            self._inode, self._head, self._starts_over = None, b"", False

    def _is_same(self, file: BinaryIO, size: int, position: int) -> bool:
        return size >= position and _head_of(file, len(self._head)) == self._head

    def _moved_away(self, inode: int, position: int) -> str | None:
        """The old file under its new name, if it is near and holds more than was read."""
        if inode == self._inode:
            return None
        with os.scandir(os.path.dirname(self._path) or ".") as entries:
            near = [entry.path for entry in entries if entry.inode() == self._inode and entry.is_file()]
        for path in near:
            with open(path, "rb", buffering=0) as file:
                if os.fstat(file.fileno()).st_size > position and self._is_same(file, position, position):
                    return path
        return None


def _head_of(file: BinaryIO, position: int) -> bytes:
    return os.pread(file.fileno(), min(position, HEAD_BYTES), 0)
