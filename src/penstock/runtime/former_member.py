"""The name that a worker had in its group when it was killed, so that the group need not wait for it in vain."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)

FILE = "group-member.json"


class FormerMember:
    """A file in the worker's data folder, which is locked by its user: who reads a name knows that its bearer is dead.

    Without a folder nothing is remembered. Never raises: the name only saves time.
    """

    def __init__(self, folder: Path | None, group: str) -> None:
        self._file = None if folder is None else folder / FILE
        self._group = group

    def read(self) -> str:
        """The name that was remembered last for this group; empty when there is none."""
        if self._file is None:
            return ""
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
            return str(found["member"]) if found["group"] == self._group else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def remember(self, member: str) -> None:
        """This is our name from now on."""
        if self._file is None:
            return
        fresh = self._file.with_suffix(".new")
        try:
            fresh.write_text(json.dumps({"group": self._group, "member": member}), encoding="utf-8")
            fresh.replace(self._file)
        except OSError as error:
            log.info("The name in the group %s could not be kept in %s: %s", self._group, self._file, error)

    def forget(self) -> None:
        """We have left the group: nobody waits for us."""
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink()
