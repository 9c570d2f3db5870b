"""Consumer groups without members: positions of sinks, and in their metadata what sinks remember.

Positions are committed as a simple consumer does, so Kafka's own tools show and change them.
A sink's state travels in the metadata of each position of its task: it is written with them or not at all.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import zlib
from base64 import b85decode, b85encode
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Place

from penstock.storage.errors import PassingStorageError

from ..errors import GroupInUse, TopicError
from ..interface import SinkCommit, TopicPartition
from .cluster import ANSWER_SECONDS, Cluster, ClusterUnavailable
from .committing import Committer, committer_for
from .errors import cause_of, is_passing, text_of
from .offset_deletion import delete_positions

logger = logging.getLogger(__name__)

MOST_METADATA = 4000
"""Kafka keeps at most 4,096 bytes with a position (``offset.metadata.max.bytes``)."""

RETRY_SECONDS = 0.5
PATIENCE_SECONDS = 300.0

_AT_ONCE = 5000
_CONSUMERS = 8

State = Mapping[str, Any]


class StateTooLarge(TopicError):
    """A task wants to remember more than Kafka keeps with a position."""


class CommitNotAllowed(PassingStorageError):
    """Others may have the tasks of this worker by now."""

    def __init__(self, group: str) -> None:
        super().__init__(f"The offsets of group {group} were not committed: other workers may run its tasks by now.")


@dataclass
class Group:
    """What is known of a group: positions when it was read, and for each task its newest state and its number."""

    positions: dict[TopicPartition, int] = field(default_factory=dict)
    states: dict[int, State] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Memory:
    """A state on its way into the metadata of positions."""

    task: int
    number: int
    state: State


class _Sending:
    """One commit, tried until Kafka has it, says no, or may not be asked any more."""

    def __init__(
        self,
        cluster: Cluster,
        committer: Committer,
        later: Callable[[float, Callable[[], None]], None],
        commit: SinkCommit,
        places: list[Place],
        done: Future[None],
    ) -> None:
        self._cluster = cluster
        self._committer = committer
        self._later = later
        self._group = commit.group
        self._is_allowed = commit.is_allowed
        self._places = places
        self._done = done
        self._until = time.monotonic() + PATIENCE_SECONDS

    def go(self) -> None:
        """Begin, or try again."""
        if not self._places:
            self._done.set_result(None)
            return
        if not self._is_allowed():
            self._done.set_exception(CommitNotAllowed(self._group))
            return
        try:
            asked = self._committer.commit(self._group, self._places)
        except Exception as error:
            self._done.set_exception(_failure(error, self._group))
            return
        asked.add_done_callback(self._answered)

    def _answered(self, answer: Future[None]) -> None:
        if answer.cancelled():
            self._done.cancel()
            return
        error = answer.exception()
        if error is None:
            self._done.set_result(None)
        elif is_passing(error) and time.monotonic() < self._until:
            logger.warning("The offsets of group %s will be committed later: %s", self._group, text_of(error))
            self._later(RETRY_SECONDS, self._look_and_go if _is_unknown_topic(error) else self.go)
        else:
            self._done.set_exception(_failure(error, self._group))

    def _look_and_go(self) -> None:
        """Positions in topics that somebody has deleted cannot be kept, and need not be."""
        try:
            self._cluster.refresh()
        except ClusterUnavailable as error:
            logger.debug("Topics could not be listed: %s", error)
        else:
            existing = self._cluster.topics()
            self._places = [place for place in self._places if place.partition < existing.get(place.topic, 0)]
        self.go()


class Groups:
    """The groups of one cluster. ``later(seconds, function)`` calls back, off the callers' threads."""

    def __init__(self, cluster: Cluster, later: Callable[[float, Callable[[], None]], None]) -> None:
        self._cluster = cluster
        self._later = later
        self._lock = threading.Lock()
        self._known: dict[str, Group] = {}
        self._few = threading.Semaphore(_CONSUMERS)
        self._committer = committer_for(cluster)

    def stop(self) -> None:
        """What was not committed will not be."""
        self._committer.stop()

    def load(self, group: str) -> dict[TopicPartition, int]:
        """Ask for a group's positions and states, and go on from these. Blocks; raises ``ClusterUnavailable``.

        Only for those who commit for the group: what is read beside a commit may be older than what it has written.
        """
        found = self._read(group)
        with self._lock:
            self._known[group] = found
        return dict(found.positions)

    def positions(self, group: str) -> dict[TopicPartition, int]:
        """A group's positions, for others. Blocks; raises ``ClusterUnavailable``."""
        return dict(self._read(group).positions)

    def _read(self, group: str) -> Group:
        try:
            places = self._committed(group)
        except (KafkaException, TimeoutError) as error:
            if is_passing(error):
                raise ClusterUnavailable(error) from error
            raise TopicError(f"The offsets of group {group} could not be read: {text_of(error)}") from error
        return _group(places)

    def _committed(self, group: str) -> list[Place]:
        """Positions in all topics there are, through a consumer that never joins.

        The admin client can list them, too, but librdkafka (2.16) takes the whole process down when the coordinator
        of the group has moved.
        """
        self._cluster.refresh()
        places = [Place(topic, n) for topic, count in self._cluster.topics().items() for n in range(count)]
        settings: dict[str, Any] = {**dict(self._cluster.settings), "group.id": group, "enable.auto.commit": False}
        with self._few:
            consumer = Consumer(settings)
            try:
                return [
                    place
                    for start in range(0, len(places), _AT_ONCE)
                    for place in consumer.committed(places[start : start + _AT_ONCE], timeout=ANSWER_SECONDS)
                ]
            finally:
                consumer.close()

    def state(self, group: str, task: int) -> State | None:
        """The newest state of a task, once the group was loaded."""
        with self._lock:
            known = self._known.get(group)
            return None if known is None else known.states.get(task)

    def commit(self, commit: SinkCommit) -> Future[None]:
        """Move positions, with the task's state if it keeps one. Tried again while Kafka does not answer.

        Whichever of a task's positions are lost later, its newest state must be with the others: they are written, too.
        """
        done: Future[None] = Future()
        memory = self._next_memory(commit)
        positions = dict(commit.positions) if memory is None else {**commit.unchanged, **commit.positions}
        try:
            metadata = None if memory is None else _metadata(commit.group, memory)
        except TopicError as error:
            done.set_exception(error)
            return done
        places = [_place(at, offset, metadata) for at, offset in positions.items()]
        _Sending(self._cluster, self._committer, self._later, commit, places, done).go()
        written: Future[None] = Future()
        done.add_done_callback(lambda ended: self._written(commit.group, memory, ended, written))
        return written

    def pin(self, group: str, at: TopicPartition, offset: int) -> Future[None]:
        """Give a partition its first position. One try: a later one could undo what was committed meanwhile."""
        return self._committer.commit(group, [_place(at, offset)])

    def _next_memory(self, commit: SinkCommit) -> _Memory | None:
        with self._lock:
            known = self._known.setdefault(commit.group, Group())
            state = known.states.get(commit.task) if commit.state is None else commit.state
            return None if state is None else _Memory(commit.task, known.numbers.get(commit.task, 0) + 1, state)

    def _written(self, group: str, memory: _Memory | None, ended: Future[None], written: Future[None]) -> None:
        """A state counts when it is in Kafka: a batch that has to be repeated begins with the one before."""
        if ended.cancelled():
            written.cancel()
            return
        error = ended.exception()
        if error is not None:
            written.set_exception(error)
            return
        if memory is not None:
            with self._lock:
                known = self._known.setdefault(group, Group())
                known.states[memory.task], known.numbers[memory.task] = memory.state, memory.number
        written.set_result(None)

    def alter(self, group: str, changes: Mapping[TopicPartition, int | None]) -> None:
        """Set or forget positions; what tasks remember stays while the group has positions. Blocks."""
        before = self.load(group)
        with self._lock:
            known = self._known[group]
            memories = [
                _metadata(group, _Memory(task, known.numbers[task] + 1, state)) for task, state in known.states.items()
            ]
        changed = {at: offset for at, offset in changes.items() if offset is not None}
        others = {at: offset for at, offset in before.items() if at not in changes}
        carriers = [*changed.items(), *list(others.items())[: len(memories)]]
        if carriers:
            pairs = zip_longest(carriers, memories[: len(carriers)])
            self._alter_now(group, [_place(at, offset, metadata) for (at, offset), metadata in pairs])
        self._forget(group, [at for at, offset in changes.items() if offset is None and at in before])
        self.load(group)

    def _forget(self, group: str, places: Sequence[TopicPartition]) -> None:
        if not places:
            return
        from kafka.errors import GroupIdNotFoundError, GroupSubscribedToTopicError, NonEmptyGroupError

        try:
            delete_positions(self._cluster.settings, group, places)
        except GroupIdNotFoundError:
            return
        except (NonEmptyGroupError, GroupSubscribedToTopicError) as error:
            raise GroupInUse(group) from error
        except Exception as error:
            raise TopicError(f"Offsets of group {group} could not be forgotten: {error}") from error

    def delete(self, group: str) -> None:
        """Forget a group and its states. Blocks; a group that is not there is no error."""
        try:
            self._committer.delete(group).result(ANSWER_SECONDS)
        except Exception as error:
            cause = cause_of(error)
            code = None if cause is None else cause.code()
            if code == KafkaError.NON_EMPTY_GROUP:
                raise GroupInUse(group) from error
            if code != KafkaError.GROUP_ID_NOT_FOUND:
                raise _failure(error, group) from error
        with self._lock:
            self._known.pop(group, None)

    def _alter_now(self, group: str, places: list[Place]) -> None:
        try:
            self._committer.commit(group, places).result(ANSWER_SECONDS)
        except Exception as raised:
            if _is_unknown_topic(raised):
                raise TopicError(
                    f"Not all offsets of group {group} were written, for one of the partitions is not there: "
                    f"{text_of(raised)}. Look at the offsets, then set them again."
                ) from raised
            raise _failure(raised, group) from raised


def _place(at: TopicPartition, offset: int, metadata: str | None = None) -> Place:
    if metadata is None:
        return Place(at.topic, at.partition, offset)
    return Place(at.topic, at.partition, offset, metadata)


def _group(places: list[Place]) -> Group:
    found = Group()
    for place in places:
        if place.offset < 0:
            continue
        at = TopicPartition(place.topic, place.partition)
        found.positions[at] = place.offset
        memory = _memory(place.metadata)
        if memory is not None:
            task, number, state = memory
            if number >= found.numbers.get(task, 0):
                found.numbers[task], found.states[task] = number, state
    return found


def _metadata(group: str, memory: _Memory) -> str:
    task, state = memory.task, memory.state
    kept: dict[str, Any] = {"task": task, "number": memory.number, "state": state}
    text = json.dumps({"penstock": kept}, separators=(",", ":"))
    if len(text) > MOST_METADATA // 4:
        packed = b85encode(zlib.compress(json.dumps(state, separators=(",", ":")).encode())).decode()
        text = json.dumps({"penstock": {**kept, "state": packed}}, separators=(",", ":"))
    if len(text) > MOST_METADATA:
        raise StateTooLarge(
            f"Task {task} of group {group} wants to remember {len(text)} bytes with its offsets; Kafka keeps at most "
            f"{MOST_METADATA}. A task with fewer partitions has less to remember: raise tasks.max"
        )
    return text


def _memory(metadata: str | None) -> tuple[int, int, State] | None:
    if not metadata or not metadata.startswith('{"penstock":'):
        return None
    try:
        found = json.loads(metadata)["penstock"]
        state = found["state"]
        if isinstance(state, str):
            state = json.loads(zlib.decompress(b85decode(state)))
        return int(found["task"]), int(found["number"]), dict(state)
    except (ValueError, KeyError, TypeError, zlib.error):
        logger.warning("Ignoring what is kept with an offset: %s", metadata[:200])
        return None


def _is_unknown_topic(error: BaseException) -> bool:
    cause = cause_of(error)
    return cause is not None and cause.code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def _failure(error: BaseException, group: str) -> Exception:
    cause = cause_of(error)
    if cause is not None and cause.code() in (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.NON_EMPTY_GROUP):
        return GroupInUse(group)
    if is_passing(error):
        return ClusterUnavailable(error)
    return TopicError(f"The offsets of group {group} could not be written: {text_of(error)}")
