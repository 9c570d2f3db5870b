"""Penstock workers of one cluster, each in a process of its own, on a real broker."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2

from .kafka import KafkaBroker
from .waiting import wait_until
from .worker import PenstockProcess

_numbers = itertools.count(1)

SMALL = {"spark.master": "local[4]", "spark.driver.memory": "512m"}
QUICK = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "1000"}


class Cluster:
    """So many workers with one ``group.id``. A context manager; they start side by side."""

    def __init__(
        self, broker: KafkaBroker, folder: Path, size: int = 3, settings: Mapping[str, str] | None = None
    ) -> None:
        number = next(_numbers)
        self.broker = broker
        self.group = f"cluster-{number}"
        self.folder = folder
        self.settings = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": self.group,
            **{f"{kind}.storage.topic": f"{self.group}-{kind}" for kind in ("config", "offset", "status")},
            **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
            **SMALL,
            **QUICK,
            **(settings or {}),
        }
        self.workers = [self.make(f"worker-{n}") for n in range(size)]

    def make(self, name: str) -> PenstockProcess:
        """One more worker, not started yet."""
        return PenstockProcess(self.folder / name, self.settings, command="distributed")

    def __enter__(self) -> Cluster:
        try:
            for worker in self.workers:
                worker.start(wait=False)
            for worker in self.workers:
                worker.wait_healthy()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        for worker in self.workers:
            worker.http.close()
            worker.kill()
            if error is not None:
                print(f"\n--- end of {worker.output} ---\n{worker.tail(40)}")
        if error is None:
            for worker in self.workers:
                worker.check_quick_ways()

    def leader(self) -> PenstockProcess:
        """The worker that leads the group: told by its own log."""
        led = [worker for worker in self.workers if worker.running and _leads(worker)]
        return led[-1]

    def follower(self) -> PenstockProcess:
        """One that does not."""
        leader = self.leader()
        return next(worker for worker in self.workers if worker.running and worker is not leader)

    def each(self) -> Iterator[PenstockProcess]:
        """Running workers, one after the other, for ever."""
        return itertools.cycle([worker for worker in self.workers if worker.running])

    def owners(self, name: str) -> dict[str, str]:
        """``connector`` and task numbers, each with the worker that runs it."""
        status = self.any().status(name)
        return {
            "connector": status["connector"]["worker_id"],
            **{str(task["id"]): task["worker_id"] for task in status["tasks"]},
        }

    def any(self) -> PenstockProcess:
        return next(worker for worker in self.workers if worker.running)


def worker_id(worker: PenstockProcess) -> str:
    """As statuses show it."""
    return f"{worker.host}:{worker.port}"


def _leads(worker: PenstockProcess) -> bool:
    lines = [line for line in worker.output.read_text(errors="replace").splitlines() if "Joined the group" in line]
    return bool(lines) and " as leader:" in lines[-1]


def running_on(worker: PenstockProcess, name: str, tasks: int) -> Callable[[], dict[str, Any] | None]:
    """The status once the connector and so many tasks run, as this worker sees it."""

    def look() -> dict[str, Any] | None:
        try:
            found = worker.status(name)
        except (AssertionError, httpx2.HTTPError):
            return None
        states = [found["connector"]["state"], *(task["state"] for task in found["tasks"])]
        return found if states == ["RUNNING"] * (tasks + 1) else None

    return look


def wait_running(worker: PenstockProcess, name: str, tasks: int, seconds: float = 120.0) -> dict[str, Any]:
    found = wait_until(running_on(worker, name, tasks), f"{name} runs with {tasks} tasks", seconds)
    assert found is not None
    return found
