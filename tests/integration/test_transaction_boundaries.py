"""Transactions that end where their source says so: readers of committed records see just that, whatever is killed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.support.kafka import KafkaBroker
from tests.support.kafka_topics import records_in, values_in
from tests.support.probes import SETTINGS
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SIZE, COUNT = 10, 60
GATE = 34
"""Three transactions, then four records of the next."""


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as broker:
        yield broker


@pytest.fixture(scope="module")
def worker(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    settings = {
        **SETTINGS,
        "bootstrap.servers": broker.bootstrap,
        "exactly.once.source.support": "enabled",
        "group.id": "bounded",
        "offset.storage.topic": "bounded-offsets",
        "offset.storage.replication.factor": "1",
        "offset.storage.partitions": "3",
    }
    with PenstockProcess(tmp_path_factory.mktemp("worker"), settings) as worker:
        yield worker


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    with PenstockProcess(tmp_path_factory.mktemp("embedded"), SETTINGS) as worker:
        yield worker


class Ledger:
    """A ledger that stops amid its fourth transaction until its gate is opened. Its name is that of its topic, too."""

    def __init__(self, worker: PenstockProcess, name: str, folder: Path) -> None:
        self.worker, self.name = worker, name
        self._gate = folder / "gate"

    def create(self, **more: str) -> Ledger:
        self._gate.touch()
        config = {
            "connector.class": "Ledger",
            "topic": self.name,
            "transaction.boundary": "connector",
            "size": str(SIZE),
            "count": str(COUNT),
            "gate": str(GATE),
            "gate.file": str(self._gate),
        }
        self.worker.create(self.name, {**config, **more})
        return self

    def open(self) -> None:
        self._gate.unlink()

    def offset(self) -> int:
        found = self.worker.http.get(f"/connectors/{self.name}/offsets").json()["offsets"]
        return int(found[0]["offset"]["next"]) if found else 0

    def wait_offset(self, offset: int) -> None:
        wait_until(lambda: self.offset() == offset, f"{self.name} has committed up to {offset}")

    def transaction_sizes(self) -> dict[str, float]:
        """Records of its committed transactions of the last minute, as metrics tell it."""
        sizes = re.compile(rf'kafka_connect_source_task_transaction_size_(\w+)\{{connector="{self.name}",.*?\}} (\S+)')
        return {word: float(size) for word, size in sizes.findall(self.worker.http.get("/metrics").text)}

    def ask(self, verb: str) -> None:
        answer = self.worker.http.put(f"/connectors/{self.name}/{verb}")
        assert answer.status_code in (202, 204), answer.text


def numbers(end: int, *aborted: int) -> list[str]:
    """Those of the transactions before ``end`` that were not aborted."""
    return [str(number) for number in range(end) if number // SIZE not in aborted]


def wait_for_open(broker: KafkaBroker, ledger: Ledger, times: int = 1) -> None:
    """Wait until the records in front of the gate were written so many times, and so in a transaction that is open."""
    last = str(GATE - 1).encode()

    def written() -> bool:
        return [record.value for record in records_in(broker, ledger.name, committed=False)].count(last) == times

    wait_until(written, "the records of an open transaction are written")


@pytest.mark.parametrize("ends", ["read", "plan"])
@pytest.mark.parametrize("batch", [4, 25])
def test_what_is_seen_ends_where_the_source_says(
    broker: KafkaBroker, worker: PenstockProcess, tmp_path: Path, ends: str, batch: int
) -> None:
    ledger = Ledger(worker, f"ends-{ends}-{batch}", tmp_path).create(ends=ends, batch=str(batch), aborted="1,4")
    ledger.wait_offset(30)
    wait_for_open(broker, ledger)
    assert values_in(broker, ledger.name) == numbers(30, 1)
    ledger.open()
    ledger.wait_offset(COUNT)
    found = records_in(broker, ledger.name)
    assert [record.value for record in found] == [number.encode() for number in numbers(COUNT, 1, 4)]
    assert [record.offset - int(record.value or b"") for record in found] == [
        int(record.value or b"") // SIZE for record in found
    ], "each transaction leaves one marker in the log"
    written = [record.value for record in records_in(broker, ledger.name, committed=False)]
    assert written == [str(number).encode() for number in range(COUNT)]
    assert ledger.transaction_sizes() == {"min": SIZE, "avg": SIZE, "max": SIZE}


def test_a_worker_killed_in_an_open_transaction_leaves_no_trace_of_it(
    broker: KafkaBroker, worker: PenstockProcess, tmp_path: Path
) -> None:
    ledger = Ledger(worker, "killed", tmp_path).create(aborted="1")
    ledger.wait_offset(30)
    wait_for_open(broker, ledger)
    worker.restart()
    wait_for_open(broker, ledger, times=2)
    assert (ledger.offset(), values_in(broker, ledger.name)) == (30, numbers(30, 1))
    ledger.open()
    ledger.wait_offset(COUNT)
    assert values_in(broker, ledger.name) == numbers(COUNT, 1)


def test_an_open_transaction_is_read_again_after_a_pause_and_after_a_stop(
    broker: KafkaBroker, worker: PenstockProcess, tmp_path: Path
) -> None:
    ledger = Ledger(worker, "rested", tmp_path).create()
    ledger.wait_offset(30)
    wait_for_open(broker, ledger)
    for times, (verb, state, tasks) in enumerate((("pause", "PAUSED", 1), ("stop", "STOPPED", 0)), 2):
        ledger.ask(verb)
        worker.wait_state(ledger.name, state, tasks)
        wait_until(lambda: last_stable(broker, ledger.name), "nothing is open")
        assert (ledger.offset(), values_in(broker, ledger.name)) == (30, numbers(30))
        ledger.ask("resume")
        worker.wait_state(ledger.name, "RUNNING")
        wait_for_open(broker, ledger, times)
    ledger.open()
    ledger.wait_offset(COUNT)
    assert values_in(broker, ledger.name) == numbers(COUNT)


def last_stable(broker: KafkaBroker, topic: str) -> bool:
    """Whether those who read committed records get to the end of a topic."""
    ends = []
    for level in ("read_committed", "read_uncommitted"):
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "ends", "isolation.level": level})
        try:
            ends.append(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[1])
        finally:
            consumer.close()
    return ends[0] == ends[1]


def test_a_transaction_that_takes_too_long_fails_the_task_with_the_way_out(
    broker: KafkaBroker, worker: PenstockProcess, tmp_path: Path
) -> None:
    ledger = Ledger(worker, "slow", tmp_path).create(**{"producer.override.transaction.timeout.ms": "2000"})
    ledger.wait_offset(30)
    wait_for_open(broker, ledger)
    wait_until(lambda: last_stable(broker, ledger.name), "Kafka has ended the transaction")
    ledger.open()
    wait_until(lambda: worker.status(ledger.name)["tasks"][0]["state"] == "FAILED", "the task has failed")
    assert "before its producer transaction expired" in worker.status(ledger.name)["tasks"][0]["trace"]
    worker.http.post(f"/connectors/{ledger.name}/tasks/0/restart")
    ledger.wait_offset(COUNT)
    assert values_in(broker, ledger.name) == numbers(COUNT)


@pytest.mark.parametrize("ends", ["read", "plan"])
def test_the_embedded_log_has_the_same_transactions(embedded: PenstockProcess, tmp_path: Path, ends: str) -> None:
    ledger = Ledger(embedded, f"embedded-{ends}", tmp_path).create(aborted="1,4", ends=ends)
    ledger.wait_offset(30)
    assert embedded_values(embedded, ledger.name) == numbers(30, 1)
    ledger.ask("pause")
    embedded.wait_state(ledger.name, "PAUSED")
    ledger.ask("resume")
    embedded.wait_state(ledger.name, "RUNNING")
    embedded.restart()
    assert (ledger.offset(), embedded_values(embedded, ledger.name)) == (30, numbers(30, 1))
    ledger.open()
    ledger.wait_offset(COUNT)
    assert embedded_values(embedded, ledger.name) == numbers(COUNT, 1, 4)
    assert ledger.transaction_sizes() == {"min": SIZE, "avg": SIZE, "max": SIZE}


def embedded_values(worker: PenstockProcess, topic: str) -> list[str]:
    answer: httpx2.Response = worker.http.get(f"/topics/{topic}/records", params={"limit": "1000"})
    assert answer.status_code == 200, answer.text
    return [record["value"]["text"] for record in answer.json()["records"]]


def test_an_interval_longer_than_a_lane_stays_idle_is_kept(
    broker: KafkaBroker, worker: PenstockProcess, tmp_path: Path
) -> None:
    more = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "600000"}
    ledger = Ledger(worker, "patient", tmp_path).create(**more)
    wait_for_open(broker, ledger)
    ledger.wait_offset(GATE)
    assert len(records_in(broker, ledger.name, committed=False)) == GATE, "each record was written once"
    assert values_in(broker, ledger.name) == numbers(GATE)
