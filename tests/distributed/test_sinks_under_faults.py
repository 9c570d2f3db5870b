"""Workers die and freeze while a sink writes: it goes on elsewhere, from where it was."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, wait_running, worker_id
from tests.support.endless_load import SECONDS, EndlessLoad
from tests.support.kafka_clients import KafkaClients
from tests.support.kafka_topics import values_in
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

STRINGS = {f"{part}.converter": "org.apache.kafka.connect.storage.StringConverter" for part in ("key", "value")}


class Sink:
    """Writes the records of a load into a file; its positions are looked at whenever somebody waits for it."""

    def __init__(self, cluster: Cluster, load: EndlessLoad, folder: Path) -> None:
        self.cluster = cluster
        self.load = load
        self.name = f"{load.name}-out"
        self.file = folder / "out"
        self.seen: list[int] = []
        self._kafka = KafkaClients(cluster.broker.bootstrap)

    def begin(self) -> None:
        config = {"connector.class": "FileStreamSink", "file": str(self.file), "topics": self.load.name, **STRINGS}
        self.cluster.any().create(self.name, config)
        wait_running(self.cluster.any(), self.name, 1)
        wait_until(self.has_gone_on(0), "the sink writes", SECONDS)

    def position(self) -> int:
        """Where its group stands."""
        found = self._kafka.positions(f"connect-{self.name}").get((self.load.name, 0), 0)
        self.seen.append(found)
        return found

    def has_gone_on(self, before: int) -> Callable[[], bool]:
        return lambda: self.position() > before

    def owner(self) -> PenstockProcess:
        """The worker that runs its task."""
        owner = self.cluster.owners(self.name)["0"]
        return next(worker for worker in self.cluster.workers if worker_id(worker) == owner)

    def runs_without(self, lost: PenstockProcess, asked: PenstockProcess) -> Callable[[], bool]:
        def look() -> bool:
            task = asked.status(self.name)["tasks"][0]
            self.position()
            return bool(task["worker_id"] != worker_id(lost) and task["state"] == "RUNNING")

        return look

    def lines(self) -> list[str]:
        return self.file.read_text().splitlines()

    def has_everything(self) -> bool:
        """Whether it has read the topic to its end, which does not grow any more."""
        return self.position() == len(values_in(self.cluster.broker, self.load.name))


@pytest.fixture
def sink(cluster: Cluster, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sink]:
    for worker in cluster.workers:
        if not worker.running:
            worker.start()
    load = EndlessLoad(cluster, request.node.name, tmp_path, tasks=1)
    load.begin(cluster.any())
    running = Sink(cluster, load, tmp_path)
    running.begin()
    yield running
    for name in (load.name, running.name):
        cluster.any().http.delete(f"/connectors/{name}")


def test_nothing_is_lost_or_doubled_when_the_worker_of_a_sink_is_killed(cluster: Cluster, sink: Sink) -> None:
    victim = sink.owner()
    survivor = next(worker for worker in cluster.workers if worker is not victim)
    victim.kill()
    wait_until(sink.runs_without(victim, survivor), "the sink runs elsewhere", SECONDS)
    wait_until(sink.has_gone_on(sink.position()), "the sink goes on", SECONDS)
    sink.load.finish(survivor)
    wait_until(sink.has_everything, "the sink has read everything", SECONDS)
    assert sink.lines() == values_in(cluster.broker, sink.load.name)
    assert sink.seen == sorted(sink.seen), "positions never go back"


def test_nothing_is_lost_when_the_worker_of_a_sink_sleeps_past_its_session(cluster: Cluster, sink: Sink) -> None:
    """What it was writing when it fell asleep is written once more when it wakes, as a file cannot be fenced."""
    sleeper = sink.owner()
    survivor = next(worker for worker in cluster.workers if worker is not sleeper)
    os.killpg(sleeper.pid, signal.SIGSTOP)
    try:
        wait_until(sink.runs_without(sleeper, survivor), "the sink runs elsewhere", SECONDS)
        wait_until(sink.has_gone_on(sink.position()), "the sink goes on", SECONDS)
    finally:
        os.killpg(sleeper.pid, signal.SIGCONT)
    sleeper.wait_healthy()
    wait_until(sink.has_gone_on(sink.position()), "the sink goes on beside it", SECONDS)
    sink.load.finish(survivor)
    wait_until(sink.has_everything, "the sink has read everything", SECONDS)
    assert set(sink.lines()) == set(values_in(cluster.broker, sink.load.name))
    assert sink.seen == sorted(sink.seen), "positions never go back"
