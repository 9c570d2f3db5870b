"""Pipeline files for tests: connectors that write down what is done to them, sent to a worker over its API."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import httpx2

from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

_numbers = itertools.count(1)


class DeclaredProbe:
    """One probe connector of a pipeline, with a name and a journal of its own."""

    def __init__(self, folder: Path, kind: str = "ProbeSource") -> None:
        self.name = f"declared-{next(_numbers)}"
        self.kind = kind
        self.journal = folder / f"{self.name}.journal"
        self.topic = f"{self.name}-topic"

    def entry(self, config: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
        """The connector as a file declares it."""
        own = {"journal": str(self.journal), "topic": self.topic}
        return {"name": self.name, "class": self.kind, "config": {**own, **(config or {})}, **fields}

    def calls(self, prefix: str = "on_") -> list[dict[str, Any]]:
        """The calls so far whose name starts like this."""
        if not self.journal.exists():
            return []
        lines = [json.loads(line) for line in self.journal.read_text().splitlines()]
        return [line for line in lines if line["call"].startswith(prefix)]

    def hooks(self) -> list[str]:
        """The hooks called so far, in order."""
        return [line["call"] for line in self.calls()]

    def wait_hooks(self, *hooks: str) -> None:
        wait_until(lambda: self.hooks() == list(hooks), f"{self.name} saw {hooks}, not {self.hooks()}")


class Files:
    """A set of pipeline files and the worker they are for. ``root`` is the folder they are said to be in."""

    def __init__(self, worker: PenstockProcess, root: str) -> None:
        self.worker = worker
        self.root = root
        self.documents: dict[str, Any] = {}

    def declare(self, file: str, *pipelines: dict[str, Any]) -> Files:
        """Write a file of the set, or (without pipelines) remove it."""
        if pipelines:
            self.documents[file] = {"pipelines": list(pipelines)}
        else:
            self.documents.pop(file, None)
        return self

    def body(self, **more: Any) -> dict[str, Any]:
        files = [{"file": f"{self.root}/{name}", "document": document} for name, document in self.documents.items()]
        return {"files": files, "paths": [self.root], **more}

    def plan(self, **more: Any) -> dict[str, Any]:
        answer = self.worker.http.post("/pipelines/plan", json=self.body(**more))
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def post(self, **more: Any) -> httpx2.Response:
        return self.worker.http.post("/pipelines/apply", json=self.body(**more))

    def apply(self, **more: Any) -> list[dict[str, Any]]:
        """The changes that were made."""
        answer = self.post(**more)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["changes"]
        return found


def pipeline(name: str, *connectors: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": name, "connectors": list(connectors), **fields}


def shown(changes: list[dict[str, Any]]) -> list[tuple[str, str, str, list[str]]]:
    """The essence of changes: action, name, effect, hooks."""
    return [(c["action"], c["name"], c["effect"], [hook["hook"] for hook in c["hooks"]]) for c in changes]
