"""Logs that are compacted Kafka topics: how workers of a cluster share what they remember."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from .errors import PassingStorageError, StorageError
from .kafka_complaints import Complaints
from .kafka_log_ends import Ends, Offsets
from .kafka_log_leader import LeaderWriter
from .kafka_log_topics import InternalTopic, compact_unless_told, ensure_topic
from .kafka_transactions import write_together
from .log import Listener, Log, LogRecord

logger = logging.getLogger(__name__)

WRITE_SECONDS = 30.0
"""How long a write is tried before it counts as failed, as in Kafka Connect."""
START_SECONDS = 120.0
LOOK_SECONDS = 5.0
POLL_SECONDS = 0.1
RETRY_SECONDS = 8.0
"""Brokers that start or change places refuse for a moment what they will answer soon."""
AT_ONCE = 1000
END_MS = 100
"""How long a broker waits before it says that there is no more. Where a topic ends with the end of a transaction, that
is the only way to know."""
FRESH_MS = 5000
"""A client that believes longer in what it knows of partitions is refused after their leader was restarted."""


class KafkaLogUnavailable(PassingStorageError):
    """The broker did not take a record, or did not answer."""


class KafkaLogs:
    """The internal topics of one worker: one consumer and one producer for all of them, a thread for each of the two.

    ``settings`` are the client settings in librdkafka's words. ``ends_transactions`` is for workers that end what dead
    tasks left open when they start them again, and know the offsets then: logs do not wait for it when they start.
    """

    def __init__(self, settings: Mapping[str, Any], name: str, ends_transactions: bool = False) -> None:
        self.complaints = Complaints(f"client {name}")
        fixed = {"client.id": name, "error_cb": self.complaints}
        common = {"log_level": 2, "metadata.max.age.ms": FRESH_MS, **settings, **fixed}
        reading = {
            "group.id": name,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": END_MS,
        }
        writing = {
            "acks": "all",
            "enable.idempotence": True,
            "partitioner": "murmur2_random",
            "delivery.timeout.ms": int(WRITE_SECONDS * 1000),
            "linger.ms": 1,
        }
        self.isolation_at_start = (
            IsolationLevel.READ_COMMITTED if ends_transactions else IsolationLevel.READ_UNCOMMITTED
        )
        self.admin = AdminClient(common)
        self._consumer = Consumer({**common, **reading})
        self._producer = Producer({**common, **writing})
        self._logs: dict[str, KafkaLog] = {}
        self._fresh: deque[tuple[KafkaLog, int]] = deque()
        self._followed: list[tuple[KafkaLog, int]] = []
        self._stopping = False
        self._starting = threading.Lock()
        self._threads = [
            threading.Thread(target=self._tail, name="internal-topics", daemon=True),
            threading.Thread(target=self._serve_deliveries, name="internal-topics-writer", daemon=True),
        ]

    def log(self, topic: InternalTopic) -> KafkaLog:
        """The log on a topic; it is made, or checked, when the log starts."""
        found = self._logs[topic.name] = KafkaLog(self, topic)
        return found

    def cluster_id(self) -> str:
        """The name of the Kafka cluster."""
        try:
            return str(self.admin.list_topics(timeout=WRITE_SECONDS).cluster_id)
        except KafkaException as error:
            raise unreachable(error) from error

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has; 0 when there is none."""
        try:
            found = self.admin.list_topics(timeout=LOOK_SECONDS).topics.get(topic)
        except KafkaException as error:
            raise unreachable(error) from error
        return 0 if found is None else len(found.partitions)

    def follow(self, log: KafkaLog, partitions: int) -> None:
        """Read a topic from its beginning and go on for ever."""
        self._fresh.append((log, partitions))
        with self._starting:
            if not self._threads[0].is_alive():
                for thread in self._threads:
                    thread.start()

    def send(self, topic: str, record: LogRecord, done: Any) -> None:
        """Hand a record to the producer; ``done(error, message)`` is called on the writer's thread."""
        while True:
            try:
                self._producer.produce(topic, key=record.key, value=record.value, on_delivery=done)
                return
            except BufferError:
                self._producer.poll(0.05)

    def flush(self, seconds: float) -> None:
        """Wait until all records that were sent are written, or for so long."""
        self._producer.flush(seconds)

    def end_offsets(self, topic: str, partitions: int, isolation: IsolationLevel) -> Future[Offsets]:
        """The next offset of each partition: after open transactions, or before the first of them."""
        return Ends(self.admin, topic, partitions, WRITE_SECONDS, unreachable, isolation).ask()

    def stop(self) -> None:
        """Write out what is pending and close the clients. Idempotent."""
        if self._stopping:
            return
        for log in self._logs.values():
            log.end_leading()
        self._producer.flush(5)
        self._stopping = True
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        self._consumer.close()
        for log in self._logs.values():
            log.give_up()

    def _serve_deliveries(self) -> None:
        while not self._stopping:
            self._producer.poll(POLL_SECONDS)

    def _tail(self) -> None:
        while not self._stopping:
            try:
                if self._fresh:
                    self._assign()
                first = self._consumer.poll(POLL_SECONDS)
                if first is not None:
                    self._deal_out([first, *self._consumer.consume(AT_ONCE, 0)])
            except Exception:
                logger.exception("Reading the internal topics failed and goes on")

    def _assign(self) -> None:
        """Read fresh logs, too. Only ever called on the reading thread: the client cannot do it beside a poll."""
        while self._fresh:
            log, partitions = self._fresh.popleft()
            self._followed += [(log, number) for number in range(partitions)]
        self._consumer.assign([TopicPartition(log.topic.name, n, log.position(n)) for log, n in self._followed])

    def _deal_out(self, messages: Sequence[Message]) -> None:
        by_topic: dict[str, list[Message]] = {}
        for message in messages:
            error = message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                logger.warning("Reading the internal topics: %s", error.str())
            elif message.topic() is not None:
                by_topic.setdefault(str(message.topic()), []).append(message)
        for topic, found in by_topic.items():
            self._logs[topic].take(found)


@dataclass
class _Wait:
    """Somebody waits until the tail has passed these offsets."""

    future: Future[None]
    until: Offsets = field(default_factory=dict)


class KafkaLog(Log):
    """One internal topic. Records of one key keep their order; several records are appended in the order given."""

    def __init__(self, logs: KafkaLogs, topic: InternalTopic) -> None:
        self.topic = topic
        self._logs = logs
        self._listener: Listener | None = None
        self._partitions = 0
        self._positions: Offsets = {}
        self._waits: list[_Wait] = []
        self._lock = threading.Lock()
        self._leader: LeaderWriter | None = None
        self._is_leaders: Callable[[LogRecord], bool] = lambda record: False

    def let_lead(self, writer: LeaderWriter, is_leaders: Callable[[LogRecord], bool]) -> None:
        """From now on batches with such records are written by the leader's writer, in a transaction each."""
        self._leader, self._is_leaders = writer, is_leaders

    def start(self, listener: Listener) -> int:
        """Make or check the topic and replay it. Raises a :class:`StorageError` that says what is wrong with it."""
        self._partitions = ensure_topic(self._logs.admin, self.topic, self._logs.complaints)
        self._listener = listener
        self._logs.follow(self, self._partitions)
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                self._read_to_end(self._logs.isolation_at_start).result(max(1.0, until - time.monotonic()))
                return self.position(0)
            except (KafkaLogUnavailable, FutureTimeoutError) as error:
                if time.monotonic() > until:
                    raise StorageError(
                        f"Topic '{self.topic.name}' ({self.topic.key}) could not be read to its end within "
                        f"{START_SECONDS:g} s. Is every partition online? {error}"
                    ) from error
                time.sleep(POLL_SECONDS)

    def flush(self, seconds: float) -> None:
        """Wait until what was appended to any topic of the worker is written, or for so long."""
        self._logs.flush(seconds)

    def wait_for_end(self, seconds: float) -> bool:
        """Wait until all is read that is there now; ``False`` when that takes longer."""
        try:
            self.read_to_end().result(seconds)
        except (StorageError, FutureTimeoutError) as error:
            logger.debug("Topic %s was not read to its end: %s", self.topic.name, error)
            return False
        return True

    def append(self, records: Sequence[LogRecord]) -> Future[None]:
        seen: Future[None] = Future()
        if not records:
            seen.set_result(None)
            return seen
        if self._leader is not None and any(map(self._is_leaders, records)):
            self._leader.write(records, partial(self._written, seen))
            return seen
        wait, left = _Wait(seen), [len(records)]

        def delivered(error: KafkaError | None, message: Message) -> None:
            left[0] -= 1
            if error is not None:
                _fail(seen, unreachable(KafkaException(error)))
            else:
                at, offset = message.partition(), message.offset()
                assert at is not None
                assert offset is not None
                wait.until[at] = max(wait.until.get(at, 0), offset + 1)
            if not left[0] and not seen.done():
                self._await(wait)

        for record in records:
            self._logs.send(self.topic.name, record, delivered)
        return seen

    def append_together(
        self,
        records: Sequence[LogRecord],
        settings: Mapping[str, Any],
        transactional_id: str,
        may_write: Callable[[], bool],
    ) -> Future[None]:
        """As :meth:`append`, but all or nothing: in one transaction of a client of its own with these settings.

        ``may_write`` is asked on another thread, right before the first record.
        """
        seen: Future[None] = Future()
        if not records:
            seen.set_result(None)
            return seen

        def write() -> None:
            try:
                ends = write_together(settings, transactional_id, self.topic.name, records, may_write)
            except Exception as error:
                self._written(seen, error, {})
            else:
                self._written(seen, None, ends)

        threading.Thread(target=write, name=f"writing-{transactional_id}", daemon=True).start()
        return seen

    def _written(self, seen: Future[None], error: BaseException | None, ends: Offsets) -> None:
        """A transaction has ended."""
        if error is None:
            self._await(_Wait(seen, ends))
        else:
            _fail(seen, error if isinstance(error, StorageError) else unreachable(error))

    def is_lost(self) -> bool:
        """Whether somebody has deleted the topic since, or made another one with fewer partitions. Blocks."""
        return self._logs.partitions(self.topic.name) < self._partitions

    def adopt(self) -> None:
        """Before the start: make the topic usable that a broker may have made by itself when it was deleted. Blocks."""
        compact_unless_told(self._logs.admin, self.topic)

    def read_to_end(self) -> Future[None]:
        """Ends when the listener was told of all that is in the topic now; open transactions have ended then."""
        return self._read_to_end(IsolationLevel.READ_UNCOMMITTED)

    def _read_to_end(self, isolation: IsolationLevel) -> Future[None]:
        seen: Future[None] = Future()
        until = time.monotonic() + RETRY_SECONDS

        def asked(ends: Future[Offsets]) -> None:
            error = ends.exception()
            if error is None:
                self._await(_Wait(seen, dict(ends.result())))
            elif time.monotonic() > until:
                _fail(seen, error)
            else:
                again = threading.Timer(POLL_SECONDS, ask)
                again.daemon = True
                again.start()

        def ask() -> None:
            self._logs.end_offsets(self.topic.name, self._partitions, isolation).add_done_callback(asked)

        ask()
        return seen

    def stop(self) -> None:
        self._listener = None

    def end_leading(self) -> None:
        if self._leader is not None:
            self._leader.stop()

    def give_up(self) -> None:
        """Nobody reads any more: whoever waits is told."""
        with self._lock:
            waits, self._waits = self._waits, []
        for wait in waits:
            _fail(wait.future, StorageError("The worker is stopping"))

    def take(self, messages: Sequence[Message]) -> None:
        """News from the topic. Runs on the reading thread."""
        entries: list[tuple[int, LogRecord]] = []
        passed: Offsets = {}
        for message in messages:
            at, offset = message.partition(), message.offset()
            assert at is not None
            assert offset is not None
            if message.error() is not None:
                passed[at] = max(offset, passed.get(at, 0))
                continue
            passed[at] = offset + 1
            key = message.key()
            if key is not None:
                entries.append((offset, LogRecord(_bytes(key), _bytes(message.value()))))
        if entries and self._listener is not None:
            try:
                self._listener(entries)
            except Exception:
                logger.exception("A listener failed on records of %s", self.topic.name)
        self._move(passed)

    def position(self, partition: int) -> int:
        """The next offset to be read."""
        with self._lock:
            return self._positions.get(partition, 0)

    def _await(self, wait: _Wait) -> None:
        with self._lock:
            if not self._is_past(wait):
                self._waits.append(wait)
                return
        _succeed(wait.future)

    def _move(self, passed: Offsets) -> None:
        with self._lock:
            for at, offset in passed.items():
                self._positions[at] = max(offset, self._positions.get(at, 0))
            over = [wait for wait in self._waits if self._is_past(wait)]
            self._waits = [wait for wait in self._waits if wait not in over]
        for wait in over:
            _succeed(wait.future)

    def _is_past(self, wait: _Wait) -> bool:
        return all(self._positions.get(at, 0) >= offset for at, offset in wait.until.items())


def unreachable(error: BaseException) -> StorageError:
    """What a client error means for the user."""
    cause = error.args[0] if error.args else error
    text = cause.str() if isinstance(cause, KafkaError) else str(error)
    return KafkaLogUnavailable(f"Kafka did not do it: {text}. Nothing is lost; try again when the broker answers.")


def _bytes(data: Any) -> Any:
    return data.encode() if isinstance(data, str) else data


def _succeed(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _fail(future: Future[None], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
