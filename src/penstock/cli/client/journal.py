"""What a migration has done so far, in a file that only the user can read; it outlives the process."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from .contexts import contexts_file
from .problems import Wrong


class Step(IntEnum):
    """The step that is under way or was finished last. From ``DELETING`` on nothing is undone."""

    NEW = 0
    STOPPING = 1
    CREATING = 2
    RESUMING = 3
    DELETING = 4


@dataclass
class Journal:
    """``was`` is the state the connector is to have again, ``offsets`` those that were read at the origin."""

    path: Path
    name: str
    step: Step = Step.NEW
    was: str = "RUNNING"
    offsets: list[dict[str, Any]] | None = None

    @classmethod
    def open(cls, origin: str, target: str, name: str) -> Journal:
        """What is known of this migration; a new one when nothing is."""
        digest = hashlib.sha256("\n".join([origin, target, name]).encode()).hexdigest()[:24]
        path = contexts_file().parent / "migrations" / f"{digest}.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return cls(path, name, Step(found["step"]), found["was"], found["offsets"])
        except FileNotFoundError:
            return cls(path, name)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Wrong(f"Cannot read what is known of the migration of {name} in {path}: {error}") from error

    def reach(self, step: Step) -> None:
        """Write down that a step begins, durably, before anything of it is done."""
        self.step = max(step, self.step)
        content = {"name": self.name, "step": int(self.step), "was": self.was, "offsets": self.offsets}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, draft = tempfile.mkstemp(dir=self.path.parent, prefix=".journal-")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
        except OSError as error:
            raise Wrong(f"Cannot write down the migration of {self.name} in {self.path}: {error}") from error

    def forget(self) -> None:
        """It is over."""
        self.path.unlink(missing_ok=True)
