"""Where the files of the embedded topics lie."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".parquet"


@dataclass(frozen=True)
class TopicFolders:
    """Paths under one folder; picklable.

    ``<topic>/partition=<n>/`` holds what is committed, ``~staged/`` what may yet be, ``~removed/`` what was replaced
    or deleted and may still be read by a batch on its way (no topic can have such a name). A file keeps its unique
    name in all three; among the committed ones its first offset goes before it.
    """

    root: str

    @property
    def staged(self) -> Path:
        return Path(self.root, "~staged")

    @property
    def removed(self) -> Path:
        return Path(self.root, "~removed")

    def topic(self, topic: str) -> Path:
        return Path(self.root, topic)

    def partition(self, topic: str, partition: int) -> Path:
        return self.topic(topic) / f"partition={partition}"

    def committed(self, topic: str, partition: int, start: int, name: str) -> Path:
        return self.partition(topic, partition) / f"{start:020d}-{name}"

    def find(self, topic: str, partition: int, start: int, name: str) -> Path | None:
        """Where the file is now: it may be on its way into the topic, or out of it."""
        committed = self.committed(topic, partition, start, name)
        for path in (committed, self.staged / name, self.removed / name, committed):
            if path.exists():
                return path
        return None

    def make(self) -> None:
        for folder in (self.staged, self.removed):
            folder.mkdir(parents=True, exist_ok=True)

    def publish(self, topic: str, partition: int, start: int, name: str) -> None:
        """Move a staged file to its place in the topic. Needs no fsync: a start does it again if it must."""
        target = self.committed(topic, partition, start, name)
        try:
            os.rename(self.staged / name, target)
        except FileNotFoundError:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(self.staged / name, target)

    def bring_back(self, topic: str, partition: int, start: int, name: str) -> bool:
        """Move a file to its place in the topic from wherever it is; false when it is nowhere."""
        found, target = self.find(topic, partition, start, name), self.committed(topic, partition, start, name)
        if found is None:
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        os.rename(found, target)
        return True

    def withdraw(self, topic: str, partition: int, start: int, name: str) -> None:
        """Move a file out of its topic."""
        with suppress(FileNotFoundError):
            os.rename(self.committed(topic, partition, start, name), self.removed / name)

    def remove_empty(self, topic: str) -> None:
        """Remove the folders of a deleted topic, as far as they are empty."""
        folder = self.topic(topic)
        with suppress(OSError):
            for partition in folder.iterdir():
                with suppress(OSError):
                    partition.rmdir()
            folder.rmdir()

    def delete(self, topic: str, partition: int, start: int, name: str) -> None:
        """Delete a file that was taken out of its topic, wherever a crash left it."""
        for path in (self.removed / name, self.committed(topic, partition, start, name), self.staged / name):
            path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power loss."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
