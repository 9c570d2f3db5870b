"""Logs on compacted Kafka topics."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, TimeoutError

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic  # type: ignore[attr-defined]

from penstock.storage.errors import StorageError
from penstock.storage.kafka_log import KafkaLog, KafkaLogs
from penstock.storage.kafka_log_topics import InternalTopic
from penstock.storage.log import LogRecord
from tests.support.kafka import KafkaBroker
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SECONDS = 30.0
_numbers = itertools.count(1)
MakeLogs = Callable[..., KafkaLogs]


class Heard:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, LogRecord]] = []

    def __call__(self, entries: Sequence[tuple[int, LogRecord]]) -> None:
        self.entries += entries

    def records(self) -> list[tuple[bytes, bytes | None]]:
        return [(record.key, record.value) for _, record in self.entries]


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as running:
        yield running


@pytest.fixture
def make_logs(broker: KafkaBroker) -> Iterator[MakeLogs]:
    made: list[KafkaLogs] = []

    def make(ends_transactions: bool = False) -> KafkaLogs:
        settings = {"bootstrap.servers": broker.bootstrap}
        made.append(KafkaLogs(settings, f"logs-{next(_numbers)}", ends_transactions))
        return made[-1]

    yield make
    for logs in made:
        logs.stop()


def topic(partitions: int = 1, name: str = "", **more: object) -> InternalTopic:
    name = name or f"internal-{next(_numbers)}"
    return InternalTopic(name, "config.storage.topic", "connector configurations", partitions, 1, **more)  # type: ignore[arg-type]


def started(logs: KafkaLogs, on: InternalTopic) -> tuple[KafkaLog, Heard]:
    log, heard = logs.log(on), Heard()
    log.start(heard)
    return log, heard


def test_what_is_appended_has_been_heard_when_the_future_ends(make_logs: MakeLogs) -> None:
    log, heard = started(make_logs(), topic())
    log.append([LogRecord(b"a", b"1"), LogRecord(b"b", None)]).result(SECONDS)
    assert heard.entries == [(0, LogRecord(b"a", b"1")), (1, LogRecord(b"b", None))]
    log.append([LogRecord(b"a", b"2")]).result(SECONDS)
    assert heard.entries[2:] == [(2, LogRecord(b"a", b"2"))]


def test_a_later_log_replays_everything_and_hears_of_news(make_logs: MakeLogs) -> None:
    on = topic(partitions=5)
    first, _ = started(make_logs(), on)
    for number in range(50):
        first.append([LogRecord(f"k{number}".encode(), b"v")]).result(SECONDS)
    second, heard = started(make_logs(), on)
    assert sorted(heard.records()) == sorted((f"k{number}".encode(), b"v") for number in range(50))
    first.append([LogRecord(b"news", b"!")]).result(SECONDS)
    second.read_to_end().result(SECONDS)
    assert heard.records()[50:] == [(b"news", b"!")]


def test_a_start_does_not_wait_for_transactions_that_its_worker_will_end(
    make_logs: MakeLogs, broker: KafkaBroker
) -> None:
    on = topic()
    started(make_logs(), on)[0].append([LogRecord(b"before", b"1")]).result(SECONDS)
    left = open_transaction(broker, on.name)
    log, heard = started(make_logs(ends_transactions=True), on)
    assert heard.records() == [(b"before", b"1")]
    end = log.read_to_end()
    assert not end.done()
    left.commit_transaction(SECONDS)
    end.result(SECONDS)
    assert heard.records() == [(b"before", b"1"), (b"left", b"open")]


def test_a_start_waits_for_transactions_of_others(make_logs: MakeLogs, broker: KafkaBroker) -> None:
    on = topic()
    started(make_logs(), on)
    left = open_transaction(broker, on.name)
    with ThreadPoolExecutor() as pool:
        starting = pool.submit(started, make_logs(), on)
        with pytest.raises(TimeoutError):
            starting.result(3)
        left.commit_transaction(SECONDS)
        assert starting.result(SECONDS)[1].records() == [(b"left", b"open")]


def open_transaction(broker: KafkaBroker, name: str) -> Producer:
    """Of somebody who has written a record to a topic, and not ended it."""
    settings = {"bootstrap.servers": broker.bootstrap, "transaction.timeout.ms": 600_000}
    producer = Producer({**settings, "transactional.id": f"left-{next(_numbers)}"})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.produce(name, key=b"left", value=b"open")
    assert producer.flush(SECONDS) == 0
    return producer


def test_several_logs_share_one_reader(make_logs: MakeLogs) -> None:
    logs = make_logs()
    some = [started(logs, topic(partitions=n)) for n in (1, 3)]
    for log, _ in some:
        log.append([LogRecord(b"key", log.topic.name.encode())]).result(SECONDS)
    assert [heard.records() for _, heard in some] == [[(b"key", log.topic.name.encode())] for log, _ in some]


def test_keys_go_to_the_partitions_that_javas_producer_chooses(broker: KafkaBroker, make_logs: MakeLogs) -> None:
    on = topic(partitions=25)
    log, _ = started(make_logs(), on)
    keys = [b'["source",{"filename":"a.txt"}]', b"status-connector-orders", b"status-task-orders-0"]
    log.append([LogRecord(key, b"{}") for key in keys]).result(SECONDS)
    assert _partitions_of(broker, on.name, 3) == {key: (_murmur2(key) & 0x7FFFFFFF) % 25 for key in keys}


def test_a_topic_is_made_compacted_with_its_settings(broker: KafkaBroker, make_logs: MakeLogs) -> None:
    on = topic(partitions=3, settings={"segment.ms": "123456", "cleanup.policy": "delete"})
    started(make_logs(), on)
    resource = ConfigResource(ConfigResource.Type.TOPIC, on.name)
    admin = _admin(broker)
    settings = admin.describe_configs([resource])[resource].result(SECONDS)
    assert (settings["cleanup.policy"].value, settings["segment.ms"].value) == ("compact", "123456")
    assert len(_admin(broker).list_topics(timeout=SECONDS).topics[on.name].partitions) == 3


@pytest.mark.parametrize(
    ("policy", "partitions", "wanted", "text"),
    [
        ("delete", 1, {}, "is required to have 'cleanup.policy=compact' to guarantee consistency and durability of"),
        ("compact", 2, {"single": True}, "required to have a single partition"),
        ("", 0, {"create": False}, "'internal.topics.automatic.creation.enable' is set to 'false'"),
        ("", 0, {"replication": 3}, "config.storage.replication.factor"),
    ],
)
def test_a_topic_that_cannot_be_used_is_told(
    broker: KafkaBroker, make_logs: MakeLogs, policy: str, partitions: int, wanted: dict[str, object], text: str
) -> None:
    name = f"wrong-{next(_numbers)}"
    if policy:
        made = NewTopic(name, partitions, 1, config={"cleanup.policy": policy})
        admin = _admin(broker)
        admin.create_topics([made])[name].result(SECONDS)
        wait_until(lambda: name in admin.list_topics(timeout=SECONDS).topics, "the topic is there", SECONDS)
    settings = {"replication": 1, **wanted}
    on = InternalTopic(name, "config.storage.topic", "connector configurations", 1, **settings)  # type: ignore[arg-type]
    with pytest.raises(StorageError, match=text.replace("(", r"\(")):
        make_logs().log(on).start(Heard())


def test_only_committed_transactions_are_heard(broker: KafkaBroker, make_logs: MakeLogs) -> None:
    on = topic()
    log, heard = started(make_logs(), on)
    leader = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": f"leader-{on.name}"})
    leader.init_transactions(SECONDS)
    for end in (leader.abort_transaction, leader.commit_transaction):
        leader.begin_transaction()
        leader.produce(on.name, key=b"k", value=end.__name__.encode())
        leader.flush(SECONDS)
        end(SECONDS)
    log.read_to_end().result(SECONDS)
    assert heard.records() == [(b"k", b"commit_transaction")]


def _murmur2(data: bytes) -> int:
    """The hash of Java's producer."""
    m, mask, h = 0x5BD1E995, 0xFFFFFFFF, 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ k >> 24) * m & mask)
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


def _admin(broker: KafkaBroker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


def _partitions_of(broker: KafkaBroker, name: str, count: int) -> dict[bytes, int]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "look", "auto.offset.reset": "earliest"})
    consumer.subscribe([name])
    found: dict[bytes, int] = {}

    def look() -> bool:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            key, partition = message.key(), message.partition()
            assert isinstance(key, bytes)
            assert partition is not None
            found[key] = partition
        return len(found) == count

    wait_until(look, f"{count} records are read", SECONDS)
    consumer.close()
    return found
