"""Topics in Kafka, as the runtime sees them."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from penstock.storage.offset_store import OffsetStore

from ..errors import UnknownTopic
from ..interface import (
    Range,
    RangeReader,
    SinkCommit,
    SourceCommit,
    Staged,
    Stager,
    TopicHome,
    TopicPartition,
    Transaction,
)
from . import creation
from .clients import Clients
from .fetching import Estimates, next_ranges
from .groups import StateTooLarge
from .positions import Positions
from .reader import KafkaReader
from .shared import Shared
from .transactions import KafkaTransaction
from .writer import KafkaStager
from .written_topics import WrittenTopics

logger = logging.getLogger(__name__)


class KafkaHome(TopicHome):
    """A home for topics with the clients of one connector, or of the worker.

    Records are in Kafka as soon as they are staged; a commit writes the source offsets, in the store given, or the
    positions of a consumer group. The worker's own (``waits``) gives complete answers and may block; those of
    connectors answer from memory.
    """

    commits_records = False

    def __init__(
        self, clients: Clients, offsets: OffsetStore, shared: Shared | None = None, waits: bool = True
    ) -> None:
        self._clients = clients
        self._offsets = offsets
        self._owner = shared is None
        self._shared = shared or Shared()
        self._waits = waits
        reach = self._shared.reach(clients)
        self._cluster, self._groups = reach.cluster, reach.groups
        self._positions = Positions(clients, self._cluster, self._groups)
        self._estimates = Estimates()
        self._written_to = WrittenTopics(self._shared.reach(replace(clients, admin=clients.maker)).cluster)
        self._writer = f"{clients.connector}-{uuid.uuid4().hex}"

    def for_connector(self, clients: Any) -> KafkaHome:
        assert isinstance(clients, Clients)
        return KafkaHome(clients, self._offsets, self._shared, waits=False)

    def waiting(self) -> KafkaHome:
        return KafkaHome(self._clients, self._offsets, self._shared, waits=True)

    # -- commits

    def commit_source(self, commit: SourceCommit) -> Future[None]:
        try:
            writes = [self._offsets.put(commit.connector, commit.offsets)] if commit.offsets else []
        except Exception as error:
            return _failed(error)
        writes += [self._mark(other) for other in commit.also]
        self._shared.written({part.topic for part in commit.staged})
        return _all(writes)

    def commit_sink(self, commit: SinkCommit) -> Future[None]:
        if commit.staged:
            self._shared.written({part.topic for part in commit.staged})
        return _all([self._commit_group(commit), *(self._mark(other) for other in commit.also)])

    def discard(self, staged: Sequence[Staged]) -> None:
        """Nothing to free: they are in the topic, and those who read it see them twice."""

    def _commit_group(self, commit: SinkCommit) -> Future[None]:
        self._positions.committed(commit.positions)
        return self._groups.commit(commit)

    def _mark(self, commit: SinkCommit) -> Future[None]:
        """A note beside the records, which are out already: one that cannot be kept is no reason to send them again."""
        written = self._commit_group(commit)
        if not written.done() or not isinstance(written.exception(), StateTooLarge):
            return written
        logger.warning("%s. What was replayed will be shown as if it were not.", written.exception())
        return _all([])

    # -- topics

    def topics(self) -> Mapping[str, int]:
        if self._waits and not self._cluster.is_known:
            self._cluster.refresh()
        return self._cluster.topics()

    def topics_now(self) -> Mapping[str, int]:
        self._cluster.refresh()
        return self._cluster.topics()

    def partition_counts(self, usual: int) -> Mapping[str, int]:
        return {topic: count for topic, count in self._written_to.known().items() if count != usual}

    def want(self, topics: Collection[str]) -> None:
        self._cluster.wanted(topics)

    def want_new(self) -> None:
        self._cluster.wanted_any()

    def ensure(
        self, topics: Collection[str], settings: Callable[[str], Mapping[str, str]], always: bool = False
    ) -> Future[None]:
        may_create = always or self._clients.may_create
        return self._shared.run(lambda: self._written_to.ensure(topics, settings, may_create))

    def settings(self, topic: str) -> Mapping[str, str]:
        if topic not in self.topics():
            raise UnknownTopic(topic)
        return creation.settings(self._cluster, topic)

    def create_topic(
        self, topic: str, partitions: int | None = None, settings: Mapping[str, str] | None = None
    ) -> Future[None]:
        wanted = dict(settings or {})
        if partitions is not None:
            wanted["partitions"] = str(partitions)
        return self._shared.run(lambda: creation.create(self._cluster, topic, wanted))

    def alter_settings(self, topic: str, changes: Mapping[str, str | None]) -> Future[None]:
        return self._shared.run(lambda: creation.alter(self._cluster, topic, changes))

    def delete_topic(self, topic: str) -> Future[None]:
        return self._shared.run(lambda: creation.delete(self._cluster, topic))

    # -- reading

    def end_offsets(self, topic: str) -> Sequence[int]:
        ends = self._cluster.ends(topic)
        if self._waits and ends:
            places = [TopicPartition(topic, number) for number in range(len(ends))]
            found = self._cluster.look_up(places)
            return [found[at] for at in places]
        known = [end for end in ends if end is not None]
        return known if len(known) == len(ends) else []

    def start_offsets(self, topic: str) -> Sequence[int]:
        """The earliest offset kept of each partition. May block."""
        places = [TopicPartition(topic, number) for number in range(self.topics().get(topic, 0))]
        found = self._cluster.look_up(places, starts=True) if places else {}
        return [found[at] for at in places]

    def ranges(self, start: Mapping[TopicPartition, int | None], max_records: int, max_bytes: int) -> Sequence[Range]:
        if self._waits and start:
            self._cluster.look_up(start.keys(), starts=True)
            self._cluster.look_up(start.keys())
        spans = self._positions.spans(start)
        return next_ranges(spans, max_records, max_bytes, self._estimates)

    def observe(self, ranges: Sequence[Range], records: int, size: int) -> None:
        self._estimates.learn(ranges, records, size)

    # -- groups

    def positions(self, group: str) -> Mapping[TopicPartition, int]:
        return self._groups.positions(group) if self._waits else self._groups.load(group)

    def sink_state(self, group: str, task: int) -> Mapping[str, Any] | None:
        if self._waits:
            self._groups.load(group)
        return self._groups.state(group, task)

    def alter_positions(self, group: str, changes: Mapping[TopicPartition, int | None]) -> Future[None]:
        return self._shared.run(lambda: self._groups.alter(group, changes))

    def delete_group(self, group: str) -> Future[None]:
        return self._shared.run(lambda: self._groups.delete(group))

    # -- the rest

    def listen(self, listener: Callable[[set[str]], None]) -> None:
        self._shared.listen(listener)

    def stager(self) -> Stager:
        return KafkaStager(self._clients.producer, frozenset(self._written_to.known()), self._writer)

    def transaction(self, transactional_id: str, session: str, batch: int, outside: str = "") -> Transaction:
        return KafkaTransaction(
            self._clients.transactional,
            self._clients.producer,
            transactional_id,
            session,
            batch,
            frozenset(self._written_to.known()),
            outside,
        )

    def written(self, topics: set[str]) -> None:
        self._shared.written(topics)

    def reader(self) -> RangeReader:
        return KafkaReader(self._clients.consumer)

    def stop(self) -> None:
        if self._owner:
            self._shared.stop()


def _all(writes: Sequence[Future[None]]) -> Future[None]:
    """Ends when all of them have."""
    if len(writes) == 1:
        return writes[0]
    done: Future[None] = Future()
    if not writes:
        done.set_result(None)
        return done
    left, lock = [len(writes)], threading.Lock()

    def ended(write: Future[None]) -> None:
        with lock:
            left[0] -= 1
            last = not left[0]
        if last:
            error = next((w.exception() for w in writes if w.exception() is not None), None)
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

    for write in writes:
        write.add_done_callback(ended)
    return done


def _failed(error: Exception) -> Future[None]:
    future: Future[None] = Future()
    future.set_exception(error)
    return future
