"""A source that writes for as long as a test wants, whatever happens to its workers, and whose records are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from .cluster import Cluster, wait_running, worker_id
from .kafka_topics import values_in
from .waiting import wait_until
from .worker import PenstockProcess

SECONDS = 240.0


class EndlessLoad:
    """A connector with ``tasks`` tasks that count up until :meth:`finish`. Its name is that of its topic, too."""

    def __init__(self, cluster: Cluster, name: str, folder: Path, tasks: int = 2) -> None:
        self.cluster = cluster
        self.name = name
        self.tasks = tasks
        self._file = folder / f"{name}.goes-on"

    def begin(self, asked: PenstockProcess, more: Mapping[str, str] | None = None) -> None:
        """Create it, with ``more`` settings, and wait until each task has written."""
        self._file.touch()
        config = {"connector.class": "ProbeSource", "topic": self.name, "endless.file": str(self._file)}
        config |= more or {}
        asked.create(self.name, {**config, "tasks.max": str(self.tasks), "tasks.made": str(self.tasks)})
        wait_running(asked, self.name, self.tasks, SECONDS)
        wait_until(lambda: len(self.written(asked)) == self.tasks, "each task has written", SECONDS)

    def written(self, asked: PenstockProcess) -> dict[int, int]:
        """How many records each task has committed."""
        shown = asked.http.get(f"/connectors/{self.name}/offsets").json()["offsets"]
        return {entry["partition"]["task"]: entry["offset"]["next"] for entry in shown}

    def runs_without(self, lost: PenstockProcess, asked: PenstockProcess) -> Callable[[], bool]:
        """Whether all of it runs on other workers."""

        def look() -> bool:
            status = asked.status(self.name)
            parts = [status["connector"], *status["tasks"]]
            return len(parts) == self.tasks + 1 and all(
                part["worker_id"] != worker_id(lost) and part["state"] == "RUNNING" for part in parts
            )

        return look

    def has_gone_on(self, asked: PenstockProcess, before: dict[int, int]) -> Callable[[], bool]:
        """Whether every task has written more than ``before``."""

        def look() -> bool:
            now = self.written(asked)
            return all(now.get(task, 0) > count for task, count in before.items())

        return look

    def finish(self, asked: PenstockProcess) -> tuple[Counter[str], Counter[str]]:
        """End it; the records that its offsets tell of, and those that a reader of committed records finds."""
        self._file.unlink()
        wanted: Counter[str] = Counter()
        found: Counter[str] = Counter()

        def complete() -> bool:
            counts = self.written(asked)
            found.clear()
            found.update(values_in(self.cluster.broker, self.name))
            wanted.clear()
            wanted.update(f"{task}:{number}" for task, count in counts.items() for number in range(count))
            return counts == self.written(asked) and not wanted - found

        wait_until(complete, "every record is there", SECONDS)
        return wanted, found
