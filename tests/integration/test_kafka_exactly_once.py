"""Exactly-once sources on Kafka: whatever is killed, a reader of committed records sees each once, in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, IsolationLevel, Producer
from confluent_kafka import TopicPartition as Place

from tests.support.kafka import KafkaBroker
from tests.support.kafka_clients import KafkaClients
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

LINES = 300_000
TIMEOUT_SECONDS = 60.0
"""After which Kafka aborts a transaction that nobody ends."""


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as broker:
        yield broker


@pytest.fixture(scope="module")
def kafka(broker: KafkaBroker) -> KafkaClients:
    return KafkaClients(broker.bootstrap)


@pytest.fixture(scope="module")
def worker(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "exactly.once.source.support": "enabled",
        "group.id": "once",
        "offset.storage.topic": "once-offsets",
        "offset.storage.replication.factor": "1",
        "offset.storage.partitions": "3",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "task.shutdown.graceful.timeout.ms": f"{int(TIMEOUT_SECONDS / 2 * 1000)}",
    }
    with PenstockProcess(tmp_path_factory.mktemp("worker"), settings) as worker:
        yield worker


def count(kafka: KafkaClients, topic: str) -> int:
    """About how many records a topic has, aborted ones included."""
    consumer = Consumer({**kafka.settings, "group.id": "counter"})
    try:
        return int(consumer.get_watermark_offsets(Place(topic, 0), timeout=10)[1])
    finally:
        consumer.close()


def write_lines(file: Path, count: int = LINES) -> None:
    file.write_text("".join(f"{n:099d}\n" for n in range(count)))


def lanes_of(worker: PenstockProcess) -> list[psutil.Process]:
    """Spark's Python workers: the children of the daemon that forks them."""
    daemon = [process for process in psutil.Process(worker.pid).children(recursive=True) if is_daemon(process)]
    return min(daemon, key=lambda process: process.create_time()).children()


def is_daemon(process: psutil.Process) -> bool:
    try:
        return "penstock.spark.daemon" in process.cmdline()
    except psutil.Error:
        return False


def assert_each_once(kafka: KafkaClients, topic: str) -> None:
    found = [int(value) for value in kafka.values(topic, LINES, 150)]
    assert found == list(range(LINES))


def test_a_worker_and_a_lane_killed_amid_writing_leave_no_trace(
    worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path
) -> None:
    write_lines(tmp_path / "in")
    kafka.make("killed")
    config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": "killed"}
    worker.create("killed", config)
    wait_until(lambda: count(kafka, "killed") > 1_000, "records flow")
    worker.restart()
    before = count(kafka, "killed")
    wait_until(lambda: count(kafka, "killed") > before, "records flow again")
    for lane in lanes_of(worker):
        with suppress(psutil.NoSuchProcess):
            lane.kill()
    assert_each_once(kafka, "killed")
    worker.wait_state("killed", "RUNNING")
    [entry] = worker.http.get("/connectors/killed/offsets").json()["offsets"]
    assert entry["offset"] == {"position": LINES * 100}


def test_a_broker_killed_amid_writing_leaves_no_trace(
    broker: KafkaBroker, worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path
) -> None:
    write_lines(tmp_path / "in")
    kafka.make("bounced")
    config = {
        "connector.class": "FileStreamSource",
        "file": str(tmp_path / "in"),
        "topic": "bounced",
        "transaction.boundary": "interval",
        "transaction.boundary.interval.ms": "500",
    }
    worker.create("bounced", config)
    wait_until(lambda: count(kafka, "bounced") > 1_000, "records flow")
    broker.kill()
    broker.start()
    assert_each_once(kafka, "bounced")
    worker.wait_state("bounced", "RUNNING")


def test_a_task_whose_id_somebody_took_over_fails_and_writes_nothing(
    worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path
) -> None:
    source = tmp_path / "in"
    source.write_text("one\n")
    kafka.make("fenced")
    worker.create("fenced", {"connector.class": "FileStreamSource", "file": str(source), "topic": "fenced"})
    assert kafka.values("fenced", 1) == [b"one"]
    heir = Producer({**kafka.settings, "transactional.id": "once-fenced-0"})
    heir.init_transactions(30)
    with source.open("a") as file:
        file.write("two\n")
    wait_until(lambda: worker.status("fenced")["tasks"][0]["state"] == "FAILED", "the zombie's task failed")
    assert "There is a newer producer with the same transactionalId" in worker.status("fenced")["tasks"][0]["trace"]
    worker.http.post("/connectors/fenced/tasks/0/restart")
    assert kafka.values("fenced", 2) == [b"one", b"two"]


@pytest.mark.parametrize("boundary", ["poll", "interval"])
def test_a_connector_that_is_stopped_or_deleted_amid_writing_leaves_no_transaction_open(
    worker: PenstockProcess, kafka: KafkaClients, tmp_path: Path, boundary: str
) -> None:
    def readers_see_the_end() -> bool:
        """Kafka answers an abort before it has written its marker."""
        return kafka.end(topic, IsolationLevel.READ_COMMITTED) == kafka.end(topic)

    write_lines(tmp_path / "in", 5 * LINES)
    topic = kafka.make(f"cut-off-{boundary}")
    config = {
        "connector.class": "FileStreamSource",
        "file": str(tmp_path / "in"),
        "topic": topic,
        "transaction.boundary": boundary,
    }
    for number in range(6):
        before = kafka.end(topic)
        worker.create(f"{topic}-{number}", config)
        wait_until(lambda before=before: kafka.end(topic) > before + 10_000, "records flow")
        if number % 2:
            worker.http.put(f"/connectors/{topic}-{number}/stop")
            worker.wait_state(f"{topic}-{number}", "STOPPED", tasks=0)
        else:
            worker.http.delete(f"/connectors/{topic}-{number}")
        wait_until(readers_see_the_end, "nothing is open any more", TIMEOUT_SECONDS / 2)
