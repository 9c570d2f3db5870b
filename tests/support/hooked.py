"""Probe connectors as the tests of lifecycle hooks see them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from .probes import SETTINGS, Probe
from .waiting import wait_until
from .worker import PenstockProcess

HOOK_SECONDS = 6.0
AT_ONCE_SECONDS = 4.0
"""Requests must be answered within this time whatever hooks do; less than a hook may take."""

HOOK_SETTINGS = {
    **SETTINGS,
    "lifecycle.hook.timeout.ms": str(int(1000 * HOOK_SECONDS)),
    "config.providers": "file",
}


class Hooked(Probe):
    """A probe whose configurations are told apart by the key ``mark``."""

    def __init__(self, worker: PenstockProcess, folder: Path, kind: str = "ProbeSource", topic: str = "") -> None:
        super().__init__(worker, folder, kind, topic)
        self.config |= {"mark": "one", "trouble.file": str(self.trouble)}

    def journalled(self) -> list[dict[str, Any]]:
        """Every call so far."""
        return [json.loads(line) for line in self.journal.read_text().splitlines()] if self.journal.exists() else []

    def told(self) -> list[str]:
        """The hooks that were called, as ``created one``, ``updated one two`` or ``deleted two``."""
        return [_told(call) for call in self.journalled() if call["call"].startswith("on_")]

    def run(self, **keys: str) -> Hooked:
        """Create it and wait until it runs."""
        self.create(_dotted(keys))
        self.wait("RUNNING")
        return self

    def put(self, **keys: str) -> None:
        """``PUT config`` with some keys changed."""
        self.config |= _dotted(keys)
        answer = self.request("PUT", "/config", {**self.config, "name": self.name})
        assert answer.status_code in (200, 201), answer.text

    def lifecycle(self) -> dict[str, Any]:
        """What ``GET lifecycle`` shows."""
        answer = self.request("GET", "/lifecycle")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def active(self) -> str | None:
        """The mark of the active configuration."""
        config = self.lifecycle()["active"]
        return None if config is None else str(config["mark"])

    def wait_hooked(self, state: str) -> dict[str, Any]:
        """Wait for a state of the connector, whatever its tasks do."""
        return self.wait(state, tasks=None)

    def trace(self) -> str:
        """The trace in the connector's status."""
        return str(self.worker.status(self.name)["connector"].get("trace", ""))

    def delete(self, seconds: float = AT_ONCE_SECONDS) -> None:
        """Delete it; the answer must not wait for a hook. Where none hangs it may take as long as the machine takes."""
        began = time.monotonic()
        answer = self.request("DELETE")
        assert answer.status_code == 204, answer.text
        assert time.monotonic() - began < seconds
        assert self.request("GET").status_code == 404

    def cleanups(self) -> list[dict[str, Any]]:
        """What ``GET /lifecycle/cleanups`` shows for this name."""
        found = self.worker.http.get("/lifecycle/cleanups").json()
        return [cleanup for cleanup in found if cleanup["connector"] == self.name]

    def break_down(self) -> None:
        """The outside is down: what ``fail``, ``hang`` or ``kill`` name is in force until :meth:`heal`."""
        self.trouble.touch()

    def wait_told(self, *told: str) -> None:
        """Wait until these hooks, and no others, were called."""
        wait_until(lambda: self.told() == list(told), f"{self.name} was told {told}")

    def wait_cleaned_up(self) -> None:
        """Wait until no clean-up of this name is left."""
        wait_until(lambda: not self.cleanups(), f"{self.name} is cleaned up")


def _dotted(keys: dict[str, str]) -> dict[str, str]:
    return {key.replace("_", "."): value for key, value in keys.items()}


def _told(call: dict[str, Any]) -> str:
    marks = [call[part]["mark"] for part in ("config", "old", "new") if part in call]
    return " ".join([call["call"].removeprefix("on_"), *marks])
