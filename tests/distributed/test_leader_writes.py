"""With exactly-once support only the leader can write configurations, whatever a former leader believes (KIP-618)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from penstock.storage.config_records import connector_record, is_leaders, target_state_record
from penstock.storage.kafka_log import KafkaLog, KafkaLogs
from penstock.storage.kafka_log_leader import Fenced, LeaderWriter
from penstock.storage.kafka_log_topics import InternalTopic
from penstock.storage.log import LogRecord
from penstock.storage.states import TargetState
from tests.support.kafka import KafkaBroker
from tests.support.kafka_topics import records_in

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

SECONDS = 120
_numbers = itertools.count(1)


class Worker:
    """The config log of one worker."""

    def __init__(self, broker: KafkaBroker, topic: str) -> None:
        settings = {"bootstrap.servers": broker.bootstrap}
        self.leads = True
        self.logs = KafkaLogs(settings, f"{topic}-reader")
        self.log: KafkaLog = self.logs.log(InternalTopic(topic, "config.storage.topic", "configs", 1, 1, single=True))
        self.writer = LeaderWriter(settings, f"connect-cluster-{topic}", topic, lambda: self.leads)
        self.log.let_lead(self.writer, is_leaders)
        self.known: list[LogRecord] = []
        self.log.start(lambda entries: self.known.extend(record for _, record in entries))


MakeWorker = Callable[[], Worker]


@pytest.fixture
def topic() -> str:
    return f"leader-writes-{next(_numbers)}"


@pytest.fixture
def worker(broker: KafkaBroker, topic: str) -> Iterator[MakeWorker]:
    made: list[Worker] = []

    def make() -> Worker:
        made.append(Worker(broker, topic))
        return made[-1]

    yield make
    for each in made:
        each.logs.stop()


BATCH = [target_state_record("a", TargetState.PAUSED), connector_record("a", {"name": "a"})]


def test_a_batch_of_the_leader_is_one_transaction(broker: KafkaBroker, topic: str, worker: MakeWorker) -> None:
    leader, other = worker(), worker()
    leader.log.append(BATCH).result(SECONDS)
    assert leader.known == BATCH
    other.log.read_to_end().result(SECONDS)
    assert other.known == BATCH
    leader.log.append([connector_record("a", None)]).result(SECONDS)
    offsets = [record.offset for record in records_in(broker, topic)]
    assert offsets == [0, 1, 3], "there is a transaction's marker between the batches"


def test_what_any_worker_may_write_needs_no_transaction(broker: KafkaBroker, topic: str, worker: MakeWorker) -> None:
    follower = worker()
    follower.leads = False
    for state in (TargetState.PAUSED, TargetState.STARTED):
        follower.log.append([target_state_record("a", state)]).result(SECONDS)
    assert [record.offset for record in records_in(broker, topic)] == [0, 1]


def test_a_former_leader_cannot_write_any_more(broker: KafkaBroker, topic: str, worker: MakeWorker) -> None:
    former, leader = worker(), worker()
    former.log.append(BATCH).result(SECONDS)
    leader.writer.claim()
    leader.log.append([connector_record("b", {"name": "b"})]).result(SECONDS)
    former.leads = False
    with pytest.raises(Fenced, match="cannot prove any more that it leads"):
        former.log.append([connector_record("a", None)]).result(SECONDS)
    assert [record.key for record in records_in(broker, topic)] == [b"target-state-a", b"connector-a", b"connector-b"]
    leader.log.append([connector_record("b", None)]).result(SECONDS)


def test_a_leader_that_was_fenced_by_mistake_claims_again(worker: MakeWorker) -> None:
    leader, mistaken = worker(), worker()
    leader.log.append(BATCH).result(SECONDS)
    mistaken.log.append([connector_record("b", {"name": "b"})]).result(SECONDS)
    leader.log.append([connector_record("a", None)]).result(SECONDS)
    assert leader.known[-1] == connector_record("a", None)


def test_what_a_dead_leader_left_open_is_ended_by_the_next_one(
    broker: KafkaBroker, topic: str, worker: MakeWorker
) -> None:
    leader = worker()
    dead = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": f"connect-cluster-{topic}"})
    dead.init_transactions(SECONDS)
    dead.begin_transaction()
    dead.produce(topic, key=b"connector-half", value=b"{}")
    dead.flush(SECONDS)
    leader.writer.claim()
    leader.log.read_to_end().result(SECONDS)
    leader.log.append(BATCH).result(SECONDS)
    assert leader.known == BATCH
