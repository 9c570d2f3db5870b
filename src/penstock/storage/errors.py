"""What can go wrong with the folder and the database, said so that a user knows the way out."""

from __future__ import annotations

import sqlite3
from pathlib import Path

_REFUSED_WRITES = (10 | 3 << 8, 10 | 19 << 8)
"""``SQLITE_IOERR_WRITE`` and ``SQLITE_IOERR_SHMSIZE``: what SQLite makes of every refusal but ``ENOSPC``."""


class StorageError(Exception):
    """The runtime's memory could not be read or written. The text is for the user."""


class PassingStorageError(StorageError):
    """Nothing was written, and the same write may well succeed later without a restart."""


class FolderInUse(StorageError):
    """Another worker holds the data folder."""

    def __init__(self, folder: Path, owner: str) -> None:
        by = f" (process {owner})" if owner else ""
        super().__init__(
            f"Another worker{by} is using the data folder {folder}. Stop it first, or give this worker a folder "
            f"of its own with the worker key 'data.dir'."
        )


class FolderNotWritable(StorageError):
    """The data folder cannot be created or written."""

    def __init__(self, folder: Path, reason: OSError) -> None:
        super().__init__(
            f"The data folder {folder} cannot be written: {reason.strerror or reason}. Give this user write "
            f"permission on it, or choose another folder with the worker key 'data.dir'."
        )


class DatabaseCorrupt(StorageError):
    """The database file is damaged or is no database."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"The database {path} is damaged or is not a database ({reason}). It was left as it is. Restore it from a "
            f"backup, try 'sqlite3 {path} .recover', or move it away together with its -wal and -shm files to start "
            f"with an empty one (connectors, offsets and topics in it are then forgotten)."
        )


class DatabaseForeign(StorageError):
    """The file is a database of some other program."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"The database {path} was not made by Penstock. It was left as it is. Choose another folder with the "
            f"worker key 'data.dir', or move the file away."
        )


class DatabaseTooNew(StorageError):
    """The file was written by a later version."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            f"The database {path} has format {found}, written by a newer Penstock; this version reads formats up to "
            f"{known}. Upgrade Penstock, or choose another folder with the worker key 'data.dir'."
        )


class DiskFull(PassingStorageError):
    """No space left; nothing of the write was kept, and what was committed before is safe."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"No space left to write {path}: the change was not made, nothing saved before is lost. Free some disk "
            f"space; later writes then succeed without a restart."
        )


class WriteRefused(PassingStorageError):
    """The system did not take a write, for another reason than a full disk."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"The system refused to write {path} (a quota, a limit on the size of files, or a failing disk): the "
            f"change was not made, nothing saved before is lost. Look into the system log; later writes succeed "
            f"without a restart once the cause is gone."
        )


class DatabaseBusy(PassingStorageError):
    """Some other program keeps the database locked."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"The database {path} stayed locked by another program (a backup, or an open 'sqlite3' shell?), so the "
            f"change was not made. Close that program and try again."
        )


class DatabaseClosed(StorageError):
    """A write after the end."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"The database {path} is closed: the worker is stopping.")


def explain(path: Path, error: sqlite3.Error) -> Exception:
    """The clear error for what SQLite said, or the same error where there is nothing to add."""
    text = str(error).lower()
    if "disk is full" in text:
        return DiskFull(path)
    if "is locked" in text:
        return DatabaseBusy(path)
    if "malformed" in text or "not a database" in text:
        return DatabaseCorrupt(path, str(error))
    if "readonly" in text or "unable to open" in text:
        return FolderNotWritable(path.parent, OSError(0, str(error)))
    if getattr(error, "sqlite_errorcode", None) in _REFUSED_WRITES:
        return WriteRefused(path)
    if "disk i/o error" in text:
        return StorageError(f"The disk under {path} failed: {error}. Check the disk and the system log.")
    return error
