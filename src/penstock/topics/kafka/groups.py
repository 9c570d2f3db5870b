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

from ..errors import GroupInUse, TopicError
from ..interface import TopicPartition
from .cluster import ANSWER_SECONDS, Cluster, ClusterUnavailable
from .committing import committer_for
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


@dataclass
class Group:
    """What is known of a group: positions, and for each task its newest state, its number, and where it is kept."""

    positions: dict[TopicPartition, int] = field(default_factory=dict)
    states: dict[int, State] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    carriers: dict[int, set[TopicPartition]] = field(default_factory=dict)


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
        """Ask for a group's positions and states. Blocks; raises ``ClusterUnavailable``."""
        try:
            places = self._committed(group)
        except (KafkaException, TimeoutError) as error:
            if is_passing(error):
                raise ClusterUnavailable(error) from error
            raise TopicError(f"The offsets of group {group} could not be read: {text_of(error)}") from error
        found = _group(places)
        with self._lock:
            self._known[group] = found
        return dict(found.positions)

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

    def commit(
        self, group: str, positions: Mapping[TopicPartition, int], task: int = 0, state: State | None = None
    ) -> Future[None]:
        """Move positions, with the task's state if it keeps one. Tried again while Kafka does not answer."""
        done: Future[None] = Future()
        try:
            places = self._places(group, positions, task, state)
        except TopicError as error:
            done.set_exception(error)
            return done
        if not places:
            done.set_result(None)
            return done
        self._send(group, places, done, time.monotonic() + PATIENCE_SECONDS)
        return done

    def alter(self, group: str, changes: Mapping[TopicPartition, int | None]) -> None:
        """Set or forget positions; what tasks remember stays while the group has positions. Blocks."""
        before = self.load(group)
        with self._lock:
            states = dict(self._known[group].states)
        changed = {at: offset for at, offset in changes.items() if offset is not None}
        others = {at: offset for at, offset in before.items() if at not in changes}
        carriers = [*changed.items(), *list(others.items())[: len(states)]]
        memories = [_metadata(group, task, 1, state) for task, state in states.items()]
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

    def _places(
        self, group: str, positions: Mapping[TopicPartition, int], task: int, state: State | None
    ) -> list[Place]:
        with self._lock:
            known = self._known.setdefault(group, Group())
            if state is None and task not in known.states:
                return [_place(at, offset) for at, offset in positions.items()]
            kept = known.states[task] if state is None else state
            number = known.numbers.get(task, 0) + 1
            carriers = known.carriers.get(task, set()) | positions.keys()
            metadata = _metadata(group, task, number, kept)
            wanted = {**{at: known.positions[at] for at in carriers if at in known.positions}, **positions}
            if wanted:
                known.states[task], known.numbers[task], known.carriers[task] = kept, number, set(wanted)
                known.positions.update(positions)
        return [_place(at, offset, metadata) for at, offset in wanted.items()]

    def _send(self, group: str, places: list[Place], done: Future[None], until: float) -> None:
        def answered(answer: Future[None]) -> None:
            if answer.cancelled():
                done.cancel()
                return
            error = answer.exception()
            if error is None:
                done.set_result(None)
            elif is_passing(error) and time.monotonic() < until:
                logger.warning("The offsets of group %s will be committed later: %s", group, text_of(error))
                self._later(RETRY_SECONDS, lambda: self._send(group, places, done, until))
            else:
                done.set_exception(_failure(error, group))

        try:
            asked = self._committer.commit(group, places)
        except Exception as error:
            done.set_exception(_failure(error, group))
            return
        asked.add_done_callback(answered)

    def _alter_now(self, group: str, places: list[Place]) -> None:
        try:
            self._committer.commit(group, places).result(ANSWER_SECONDS)
        except Exception as raised:
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
            found.carriers.setdefault(task, set()).add(at)
            if number >= found.numbers.get(task, 0):
                found.numbers[task], found.states[task] = number, state
    return found


def _metadata(group: str, task: int, number: int, state: State) -> str:
    kept: dict[str, Any] = {"task": task, "number": number, "state": state}
    text = json.dumps({"penstock": kept}, separators=(",", ":"))
    if len(text) > MOST_METADATA // 4:
        packed = b85encode(zlib.compress(json.dumps(state, separators=(",", ":")).encode())).decode()
        text = json.dumps({"penstock": {**kept, "state": packed}}, separators=(",", ":"))
    if len(text) > MOST_METADATA:
        raise StateTooLarge(
            f"Task {task} of group {group} wants to remember {len(text)} bytes with its offsets; Kafka keeps at most "
            f"{MOST_METADATA}"
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


def _failure(error: BaseException, group: str) -> Exception:
    cause = cause_of(error)
    if cause is not None and cause.code() in (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.NON_EMPTY_GROUP):
        return GroupInUse(group)
    if is_passing(error):
        return ClusterUnavailable(error)
    return TopicError(f"The offsets of group {group} could not be written: {text_of(error)}")
