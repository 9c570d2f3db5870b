"""What the driver knows of one Kafka cluster: its topics, and where the watched ones begin and end.

One admin client for all connectors with the same settings. Answers come from memory; a clock shared by all clusters
keeps what is in use up to date.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from penstock.storage.errors import PassingStorageError
from penstock.storage.kafka_complaints import Complaints
from penstock.storage.kafka_log_ends import told_offset

from ..interface import TopicPartition
from .clients import Clients
from .errors import is_late, text_of

logger = logging.getLogger(__name__)

END_SECONDS = 0.02
"""How often the ends of watched partitions are asked for, unless there are very many."""

SECONDS_A_PARTITION = 0.0005
START_SECONDS = 2.0
WATCH_SECONDS = 60.0
"""A topic that nobody asked for during this time is not watched any more."""

ANSWER_SECONDS = 30.0
BOUNDS_SECONDS = 2.0
"""How long bounds are waited for at first; longer after each time in vain. While the leader of one partition is gone,
the others are not answered either, and the client learns of its successor only for the next question."""

MISSING_SECONDS = 0.5
"""How often topics are looked for that somebody wants and that do not exist."""

_EARLIEST: Any = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: Any = OffsetSpec.latest()  # type: ignore[no-untyped-call]

_OWN_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")


@dataclass
class Bounds:
    """Where a partition begins and ends; ``None`` while unknown. ``asked`` is when the end was asked for."""

    start: int | None = None
    end: int | None = None
    asked: float = 0.0


class Cluster:
    """Thread-safe. ``news(topics)`` is called, on a client's thread, when watched topics grew or were found."""

    def __init__(
        self, clients: Clients, news: Callable[[set[str]], None], run: Callable[[Callable[[], None]], Any]
    ) -> None:
        self.settings = clients.admin
        self.admin = self._new_admin()
        self._level = IsolationLevel.READ_COMMITTED if clients.read_committed else IsolationLevel.READ_UNCOMMITTED
        self._metadata_seconds = clients.metadata_seconds
        self._news = news
        self._run = run
        self._lock = threading.Lock()
        self._topics: dict[str, int] = {}
        self._known = False
        self._listed = 0.0
        self._brokers: list[int] = []
        self._bounds: dict[TopicPartition, Bounds] = {}
        self._ids: dict[str, str] = {}
        self._lives: Counter[str] = Counter()
        self._watched: dict[str, float] = {}
        self._any_wanted = -WATCH_SECONDS
        self._asking: set[str] = set()
        self._next = {"ends": 0.0, "starts": 0.0, "topics": 0.0}
        self._patience = {"ends": BOUNDS_SECONDS, "starts": BOUNDS_SECONDS}

    def _new_admin(self) -> AdminClient:
        settings: dict[str, Any] = {**dict(self.settings), "error_cb": Complaints("admin client")}
        return AdminClient(settings)

    def renew(self, stale: AdminClient) -> None:
        """Replace an admin client that gets no answers: after a broker's restart some requests of an old one hang."""
        with self._lock:
            if self.admin is stale:
                self.admin = self._new_admin()

    # -- answers from memory

    def topics(self) -> dict[str, int]:
        """Topics and their partitions, without Kafka's own."""
        with self._lock:
            return dict(self._topics)

    @property
    def is_known(self) -> bool:
        """Whether topics were ever listed."""
        return self._known

    def topics_since(self, moment: float) -> dict[str, int] | None:
        """Topics and their partitions; ``None`` when they were not listed since then."""
        with self._lock:
            return dict(self._topics) if self._listed > moment else None

    def partitions(self, topic: str) -> int:
        with self._lock:
            return self._topics.get(topic, 0)

    def bounds(self, at: TopicPartition) -> Bounds:
        """What is known; asking makes sure that it is kept up to date for a while."""
        with self._lock:
            self._watch(at.topic)
            return self._bounds.get(at) or Bounds()

    def ends(self, topic: str) -> list[int | None]:
        """The next offset of each partition, as far as known."""
        with self._lock:
            self._watch(topic)
            count = self._topics.get(topic, 0)
            return [self._bounds.get(TopicPartition(topic, number), Bounds()).end for number in range(count)]

    def life(self, topic: str) -> int:
        """How often a watched topic was made anew since it is known: offsets of one life mean nothing in another."""
        with self._lock:
            return self._lives[topic]

    def _watch(self, topic: str) -> None:
        if topic not in self._watched:
            self._next = dict.fromkeys(self._next, 0.0)
        self._watched[topic] = time.monotonic()

    def wanted(self, topics: Iterable[str]) -> None:
        """Somebody waits for these topics to exist."""
        with self._lock:
            for topic in topics:
                self._watch(topic)

    def wanted_any(self) -> None:
        """Somebody waits for topics that have no name yet."""
        with self._lock:
            self._any_wanted = time.monotonic()

    # -- answers from the cluster: may block

    def refresh(self) -> None:
        """Ask for all topics. Raises ``ClusterUnavailable``."""
        asked = time.monotonic()
        try:
            listed = self.admin.list_topics(timeout=ANSWER_SECONDS)
        except KafkaException as error:
            raise ClusterUnavailable(error) from error
        found = listed.topics
        counts = {
            name: len(topic.partitions)
            for name, topic in found.items()
            if topic.error is None and name not in _OWN_TOPICS
        }
        ids = self._identified(counts)
        with self._lock:
            self._reborn(ids)
            grown = {name for name, count in counts.items() if count > self._topics.get(name, 0)}
            gone = self._topics.keys() - counts.keys()
            self._topics, first, self._known, self._listed = counts, not self._known, True, asked
            self._brokers = sorted(listed.brokers)
            for at in [at for at in self._bounds if at.topic in gone or at.partition >= counts.get(at.topic, 0)]:
                del self._bounds[at]
            if grown:
                self._next["ends"] = self._next["starts"] = 0.0
        if grown or first:
            self._news(grown)

    def _identified(self, existing: Collection[str]) -> dict[str, str]:
        """The ids of watched topics. Brokers before 2.8 have none; one that does not answer now will the next time."""
        with self._lock:
            watched = [topic for topic in self._watched if topic in existing]
        if not watched:
            return {}
        asked = self.admin.describe_topics(TopicCollection(watched), request_timeout=ANSWER_SECONDS)
        found = {}
        for topic, answer in asked.items():
            try:
                found[topic] = str(answer.result(ANSWER_SECONDS).topic_id)
            except (KafkaException, TimeoutError) as error:
                logger.debug("The id of %s could not be had: %s", topic, error)
        return found

    def _reborn(self, ids: Mapping[str, str]) -> None:
        """What is known of topics that somebody has deleted and made anew is not true any more."""
        for topic, id_ in ids.items():
            if self._ids.setdefault(topic, id_) != id_:
                self._ids[topic] = id_
                self._lives[topic] += 1
                for at in [at for at in self._bounds if at.topic == topic]:
                    del self._bounds[at]
                self._next["ends"] = self._next["starts"] = 0.0

    def a_broker(self) -> int:
        """The number of some broker."""
        if not self._brokers:
            self.refresh()
        return self._brokers[0] if self._brokers else 0

    def look_up(self, places: Collection[TopicPartition], starts: bool = False) -> dict[TopicPartition, int]:
        """The present ends (or starts) of some partitions. Raises ``ClusterUnavailable``."""
        patience, until = BOUNDS_SECONDS, time.monotonic() + ANSWER_SECONDS
        while True:
            asked = time.monotonic()
            try:
                answers = self._ask(places, starts, patience)
                found = {at: told_offset(answer.result(ANSWER_SECONDS)) for at, answer in answers.items()}
                break
            except (KafkaException, TimeoutError) as error:
                if time.monotonic() > until:
                    raise ClusterUnavailable(error) from error
                patience *= 2
                time.sleep(END_SECONDS)
        self._note(found, starts, asked)
        return found

    # -- upkeep, by the clock

    def tick(self, now: float) -> None:
        """Ask for what is due. Never blocks."""
        with self._lock:
            due = [what for what, when in self._next.items() if when <= now and what not in self._asking]
            if not due:
                return
            self._watched = {topic: asked for topic, asked in self._watched.items() if now - asked < WATCH_SECONDS}
            places = [TopicPartition(t, n) for t in self._watched for n in range(self._topics.get(t, 0))]
            missing = any(topic not in self._topics for topic in self._watched)
            waits = {
                "ends": max(END_SECONDS, SECONDS_A_PARTITION * len(places)),
                "starts": START_SECONDS,
                "topics": min(self._metadata_seconds, _missing_seconds(self._topics) if missing else 300.0),
            }
            for what in due:
                self._next[what] = now + waits[what]
            if not self._watched and self._known and now - self._any_wanted >= WATCH_SECONDS:
                return
            if "topics" in due:
                self._asking.add("topics")
        if "topics" in due:
            self._run(self._refresh_quietly)
        for what in ("ends", "starts"):
            if what in due and places:
                self._poll(what, places)

    def soon(self, topics: Collection[str]) -> None:
        """These topics have just been written to."""
        with self._lock:
            if any(topic in self._watched for topic in topics):
                self._next["ends"] = 0.0

    def _refresh_quietly(self) -> None:
        try:
            self.refresh()
        except ClusterUnavailable as error:
            logger.warning("The topics of the cluster could not be listed: %s", error)
        finally:
            with self._lock:
                self._asking.discard("topics")

    def _poll(self, what: str, places: list[TopicPartition]) -> None:
        starts = what == "starts"
        with self._lock:
            self._asking.add(what)
        left, found, lock, when = [len(places)], {}, threading.Lock(), time.monotonic()
        late: list[BaseException] = []

        def answered(at: TopicPartition, answer: Future[Any]) -> None:
            try:
                found[at] = told_offset(answer.result())
            except Exception as error:
                self._doubt(error)
                late.extend([error] if is_late(error) else [])
            with lock:
                left[0] -= 1
                last = not left[0]
            if last:
                with self._lock:
                    self._asking.discard(what)
                    self._patience[what] = min(2 * patience, ANSWER_SECONDS) if late else BOUNDS_SECONDS
                self._note(found, starts, when)

        patience = self._patience[what]
        try:
            asked = self._ask(places, starts, patience)
        except KafkaException as error:
            logger.warning("The cluster cannot be asked for offsets: %s", text_of(error))
            with self._lock:
                self._asking.discard(what)
            return
        for at, answer in asked.items():
            answer.add_done_callback(partial(answered, at))

    def _doubt(self, error: BaseException) -> None:
        """What is known of leaders may be out of date: look again soon."""
        logger.debug("An offset could not be had: %s", error)
        with self._lock:
            self._next["topics"] = min(self._next["topics"], time.monotonic() + MISSING_SECONDS)

    def _ask(
        self, places: Collection[TopicPartition], starts: bool, seconds: float
    ) -> dict[TopicPartition, Future[Any]]:
        spec = _EARLIEST if starts else _LATEST
        asked = {Place(at.topic, at.partition): spec for at in places}
        answers: Mapping[Place, Future[Any]] = self.admin.list_offsets(
            asked, isolation_level=self._level, request_timeout=seconds
        )
        return {TopicPartition(place.topic, place.partition): answer for place, answer in answers.items()}

    def _note(self, found: Mapping[TopicPartition, int], starts: bool, asked: float) -> None:
        """An answer that took its time does not count when a newer question was answered before it."""
        changed: set[str] = set()
        with self._lock:
            for at, offset in found.items():
                known = self._bounds.setdefault(at, Bounds())
                if starts:
                    if known.start is None:
                        changed.add(at.topic)
                    known.start = offset
                elif asked >= known.asked:
                    if known.end != offset:
                        changed.add(at.topic)
                    known.end, known.asked = offset, asked
        if changed:
            self._news(changed)


def _missing_seconds(topics: Collection[str]) -> float:
    return max(MISSING_SECONDS, len(topics) * 0.001)


class ClusterUnavailable(PassingStorageError):
    """Kafka did not answer; the same may well work later."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"Kafka did not answer: {text_of(error)}. Nothing is lost, it will be tried again.")
