"""Records of one Kafka topic that are written together: all or none, whatever goes wrong between two of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaException, Producer

from penstock.storage.errors import StorageError
from penstock.storage.kafka_log import KafkaLog, KafkaLogs
from penstock.storage.kafka_log_topics import InternalTopic
from penstock.storage.kafka_transactions import Overtaken
from penstock.storage.log import LogRecord
from tests.support.kafka import KafkaBroker
from tests.support.kafka_topics import records_in

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SECONDS = 120.0
LARGEST = 1000
PARTITIONS = 3
A, B = LogRecord(b"a", b"1"), LogRecord(b"b", b"2")
"""Of different partitions."""
_numbers = itertools.count(1)


class Offsets:
    """A log on a topic of its own, and those who write to it."""

    def __init__(self, broker: KafkaBroker) -> None:
        self._broker = broker
        self._settings = {"bootstrap.servers": broker.bootstrap}
        self.topic = f"together-{next(_numbers)}"
        self.id = f"group-{self.topic}"
        self.logs = KafkaLogs(self._settings, self.topic)
        settings = {"max.message.bytes": str(LARGEST)}
        on = InternalTopic(self.topic, "key", "offsets", PARTITIONS, 1, settings=settings)
        self._log: KafkaLog = self.logs.log(on)
        self.known: list[LogRecord] = []
        self._log.start(lambda entries: self.known.extend(record for _, record in entries))

    def write(self, *records: LogRecord, may_write: Callable[[], bool] = lambda: True) -> None:
        self._log.append_together(records, self._settings, self.id, may_write).result(SECONDS)

    def append(self, *records: LogRecord) -> None:
        self._log.append(records).result(SECONDS)

    def begin(self) -> Producer:
        """Somebody else under the same id, amid a transaction."""
        producer = Producer({**self._settings, "transactional.id": self.id, "log_level": 0})
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        producer.produce(self.topic, key=b"other", value=b"0")
        assert producer.flush(SECONDS) == 0
        return producer

    def keys(self, committed: bool = True) -> list[bytes | None]:
        return [record.key for record in records_in(self._broker, self.topic, committed)]

    def places(self, key: bytes) -> list[tuple[int, int]]:
        found = records_in(self._broker, self.topic)
        return [(record.partition, record.offset) for record in found if record.key == key]


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as running:
        yield running


@pytest.fixture
def offsets(broker: KafkaBroker) -> Iterator[Offsets]:
    made = Offsets(broker)
    yield made
    made.logs.stop()


def test_they_are_one_transaction_and_have_been_heard_when_it_is_over(offsets: Offsets) -> None:
    offsets.write(A, B)
    assert sorted(offsets.known) == [A, B]
    offsets.write(LogRecord(b"a", None))
    (first, before), (second, after) = offsets.places(b"a")
    assert (first, before + 2) == (second, after), "there is a transaction's marker between the changes"


def test_their_keys_are_in_the_partitions_where_others_write_them(offsets: Offsets) -> None:
    records = [LogRecord(f"key-{number}".encode(), b"1") for number in range(20)]
    offsets.append(*records)
    offsets.write(*records)
    for record in records:
        (first, _), (second, _) = offsets.places(record.key)
        assert first == second


def test_one_that_the_broker_refuses_takes_those_before_it_with_it(offsets: Offsets) -> None:
    with pytest.raises(StorageError, match="larger than it takes"):
        offsets.write(A, LogRecord(b"b", bytes(2 * LARGEST)))
    assert offsets.keys(committed=False) == [b"a"], "the first was in the topic"
    assert offsets.keys() == []
    offsets.write(A, B)
    assert sorted(offsets.known) == [A, B]


def test_whoever_is_overtaken_between_two_of_them_leaves_none(offsets: Offsets) -> None:
    others: list[Producer] = []

    def overtaken() -> bool:
        others.append(offsets.begin())
        return True

    with pytest.raises(Overtaken, match="nothing was written"):
        offsets.write(A, B, may_write=overtaken)
    others[0].commit_transaction(SECONDS)
    assert offsets.keys() == [b"other"]


def test_whoever_is_amid_them_when_another_one_writes_cannot_commit(offsets: Offsets) -> None:
    zombie = offsets.begin()
    offsets.write(A, B)
    with pytest.raises(KafkaException) as fenced:
        zombie.commit_transaction(SECONDS)
    assert fenced.value.args[0].fatal()
    assert offsets.keys() == [b"a", b"b"]


def test_a_worker_that_may_not_write_any_more_writes_nothing(offsets: Offsets) -> None:
    with pytest.raises(Overtaken, match="cannot prove any more that it leads"):
        offsets.write(A, B, may_write=lambda: False)
    assert offsets.keys(committed=False) == []
