"""Probe connectors from the outside: their configurations, what they wrote down, the requests tests make of them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import httpx2

from .waiting import wait_until
from .worker import PenstockProcess

PLUGINS = Path(__file__).parent / "plugins"

SETTINGS = {
    "plugin.path": str(PLUGINS),
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
}
"""Worker settings for probes: where they are, and text on topics."""

SPARK_START_SECONDS = 180.0

_numbers = itertools.count(1)


class Probe:
    """One probe connector of a test, with a name, a topic and files of its own."""

    def __init__(self, worker: PenstockProcess, folder: Path, kind: str = "ProbeSource", topic: str = "") -> None:
        number = next(_numbers)
        self.worker = worker
        self.name = f"probe-{number}"
        self.topic = topic or f"topic-{number}"
        self.journal = folder / f"{self.name}.journal"
        self.trouble = folder / f"{self.name}.trouble"
        self.file = folder / f"{self.name}.out"
        self.config: dict[str, str] = {"connector.class": kind, "journal": str(self.journal)}
        if kind == "ProbeSink":
            self.config |= {"topics": self.topic, "file": str(self.file)}
        else:
            self.config["topic"] = self.topic

    def create(self, more: dict[str, str] | None = None, **fields: Any) -> Probe:
        """``POST /connectors`` with the probe's configuration and ``more``; ``fields`` go beside it."""
        self.config |= more or {}
        self.worker.create(self.name, self.config, **fields)
        return self

    def create_running(self, more: dict[str, str] | None = None, tasks: int = 1) -> Probe:
        """Create it with so many tasks, and wait until all of it runs."""
        several = {"tasks.max": str(tasks), "tasks.made": str(tasks)}
        self.create({**several, **(more or {})})
        self.wait("RUNNING", tasks=tasks)
        return self

    def create_with_trouble(self, more: dict[str, str], tasks: int = 1) -> Probe:
        """Like :meth:`create`, with ``fail`` or ``hang`` in force until :meth:`heal`."""
        self.trouble.touch()
        several = {"tasks.max": str(tasks), "tasks.made": str(tasks), "trouble.file": str(self.trouble)}
        return self.create({**several, **more})

    def heal(self) -> None:
        """From now on nothing fails or hangs any more."""
        self.trouble.unlink()

    def wait(self, state: str, tasks: int | None = 1) -> dict[str, Any]:
        return self.worker.wait_state(self.name, state, tasks)

    def states(self) -> list[str]:
        """The state of the connector, followed by those of its tasks."""
        return states_in(self.worker.status(self.name))

    def wait_states(self, *states: str, seconds: float = 120.0) -> dict[str, Any]:
        """Wait until :meth:`states` are these; the status."""
        seen: dict[str, Any] = {}

        def reached() -> bool:
            seen.update(self.worker.status(self.name))
            return states_in(seen) == list(states)

        wait_until(reached, f"{self.name} is {states}, not {seen}", seconds)
        return seen

    def calls(self, call: str) -> list[dict[str, Any]]:
        """Every such call so far, oldest first."""
        if not self.journal.exists():
            return []
        lines = [json.loads(line) for line in self.journal.read_text().splitlines()]
        return [line for line in lines if line["call"] == call]

    def count(self, call: str) -> int:
        return len(self.calls(call))

    def counts(self) -> dict[str, int]:
        """How often connector and tasks were started and stopped."""
        return {call: self.count(call) for call in ("start", "stop", "task.start", "task.stop")}

    def wait_counts(self, wanted: dict[str, int]) -> None:
        """Wait until :meth:`counts` are these: a status may be known before another worker has done its part."""
        wait_until(lambda: self.counts() == wanted, f"{self.name} was called {wanted}, not {self.counts()}")

    def request(self, method: str, path: str = "", body: Any = None) -> httpx2.Response:
        """A request on ``/connectors/{name}`` + ``path``."""
        return self.worker.http.request(method, f"/connectors/{self.name}{path}", json=body)

    def ask(self, verb: str) -> None:
        """``pause``, ``resume`` or ``stop``, accepted."""
        answer = self.request("PUT", f"/{verb}")
        assert answer.status_code == (204 if verb == "stop" else 202), answer.text
        assert answer.content == b""

    def stop(self) -> None:
        """Stop it and wait until it is."""
        self.ask("stop")
        self.wait("STOPPED", tasks=0)

    def offsets(self) -> list[dict[str, Any]]:
        """What ``GET offsets`` shows."""
        answer = self.request("GET", "/offsets")
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["offsets"]
        return found

    def alter(self, *entries: tuple[dict[str, Any] | None, dict[str, Any] | None]) -> httpx2.Response:
        """``PATCH offsets`` with (partition, offset) entries."""
        listed = [{"partition": partition, "offset": offset} for partition, offset in entries]
        return self.request("PATCH", "/offsets", {"offsets": listed})

    def tasks(self) -> list[dict[str, Any]]:
        """What ``GET tasks`` shows."""
        found: list[dict[str, Any]] = self.request("GET", "/tasks").json()
        return found

    def out(self) -> list[tuple[int, int, str]]:
        """What a probe sink has put: (partition, offset, value), in order."""
        if not self.file.exists():
            return []
        lines = [line.split(" ", 3) for line in self.file.read_text().splitlines()]
        return [(int(partition), int(offset), value) for _, partition, offset, value in lines]

    def wait_out(self, count: int) -> list[tuple[int, int, str]]:
        """Wait until a probe sink has put so many records; all of them."""
        wait_until(lambda: len(self.out()) >= count, f"{self.name} has put {count} records")
        return self.out()


def make_topic(worker: PenstockProcess, topic: str) -> None:
    """An empty topic with one partition, made as a pipeline file would."""
    pipeline = {"id": f"topic-{topic}", "topics": [{"name": topic, "partitions": 1}]}
    answer = worker.http.post("/pipelines/apply", json={"pipelines": [pipeline]})
    assert answer.status_code == 200, answer.text


def wait_for_spark(worker: PenstockProcess, folder: Path) -> None:
    """Wait until records move, so that no test has to wait for the start of Spark."""
    first = Probe(worker, folder).create({"count": "10"})
    wait_until(first.offsets, "records move", SPARK_START_SECONDS)
    first.request("DELETE")


def states_in(status: dict[str, Any]) -> list[str]:
    """The states in a status body: the connector's, then those of its tasks."""
    return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]


def message(answer: httpx2.Response, status: int) -> str:
    """The text of an error answer with this status."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert body["error_code"] == status
    return str(body["message"])
