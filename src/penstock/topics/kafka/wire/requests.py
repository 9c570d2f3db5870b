"""The requests we make: each knows its number, its version, its body and how to read its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...interface import TopicPartition
from .fields import Answer, array, int8, int16, int32, int64, string

READ_COMMITTED = 1
GROUP_COORDINATOR, TRANSACTION_COORDINATOR = 0, 1


class Api(NamedTuple):
    """A kind of request, and the one version of it that we speak."""

    key: int
    version: int


PRODUCE = Api(0, 8)
FETCH = Api(1, 11)
METADATA = Api(3, 7)
OFFSET_COMMIT = Api(8, 5)
FIND_COORDINATOR = Api(10, 2)
SASL_HANDSHAKE = Api(17, 1)
API_VERSIONS = Api(18, 0)
INIT_PRODUCER_ID = Api(22, 1)
ADD_PARTITIONS_TO_TXN = Api(24, 1)
END_TXN = Api(26, 1)
SASL_AUTHENTICATE = Api(36, 0)
DELETE_GROUPS = Api(42, 1)


class Node(NamedTuple):
    """A broker."""

    id: int
    host: str
    port: int


class Leader(NamedTuple):
    """Who leads a partition, and since which change."""

    node: int
    epoch: int


@dataclass(frozen=True)
class Metadata:
    """What a broker knows of the cluster. ``errors`` are codes of topics and partitions that cannot be used now."""

    nodes: Mapping[int, Node]
    leaders: Mapping[TopicPartition, Leader]
    partitions: Mapping[str, int]
    errors: Mapping[str, int]


def metadata_body(topics: Sequence[str]) -> bytes:
    """Topics that do not exist are not created."""
    return array(map(string, topics)) + int8(0)


def read_metadata(answer: Answer) -> Metadata:
    answer.int32()
    nodes = {node.id: node for node in answer.array(lambda: _node_with_rack(answer))}
    answer.string()
    answer.int32()
    leaders: dict[TopicPartition, Leader] = {}
    partitions: dict[str, int] = {}
    errors: dict[str, int] = {}

    def partition(topic: str) -> None:
        answer.int16()
        at = TopicPartition(topic, answer.int32())
        leader = Leader(answer.int32(), answer.int32())
        for _ in ("replicas", "in-sync replicas", "offline replicas"):
            answer.array(answer.int32)
        if leader.node >= 0:
            leaders[at] = leader

    def topic() -> None:
        error, name = answer.int16(), answer.text()
        answer.int8()
        partitions[name] = len(answer.array(lambda: partition(name)))
        if error:
            errors[name] = error

    answer.array(topic)
    return Metadata(nodes, leaders, partitions, errors)


def _node_with_rack(answer: Answer) -> Node:
    node = Node(answer.int32(), answer.text(), answer.int32())
    answer.string()
    return node


class Wanted(NamedTuple):
    """Where to read a partition from."""

    at: TopicPartition
    offset: int
    epoch: int


@dataclass(frozen=True)
class FetchLimits:
    """Kafka's ``fetch.max.wait.ms``, ``fetch.min.bytes``, ``fetch.max.bytes`` and ``max.partition.fetch.bytes``."""

    wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 16 << 20
    partition_bytes: int = 4 << 20


@dataclass(frozen=True)
class Fetched:
    """What came of a partition. ``end`` is the first offset that may not be read (yet); the records lie in the answer
    from ``first_byte`` to ``last_byte``; ``aborted`` are producers and the first offsets of what they took back.
    """

    at: TopicPartition
    error: int
    end: int
    aborted: Sequence[tuple[int, int]]
    first_byte: int
    last_byte: int


def fetch_body(wanted: Sequence[Wanted], limits: FetchLimits, isolation: int) -> bytes:
    """Without a fetch session: each request says all it wants."""
    topics: dict[str, list[bytes]] = {}
    for one in wanted:
        place = int32(one.at.partition) + int32(one.epoch) + int64(one.offset) + int64(-1)
        topics.setdefault(one.at.topic, []).append(place + int32(limits.partition_bytes))
    places = array(string(topic) + array(found) for topic, found in topics.items())
    head = int32(-1) + int32(limits.wait_ms) + int32(limits.min_bytes) + int32(limits.max_bytes) + int8(isolation)
    return head + int32(0) + int32(-1) + places + array([]) + string("")


def read_fetch(answer: Answer, isolation: int) -> tuple[int, list[Fetched]]:
    """An error of the whole, and the partitions."""
    answer.int32()
    error = answer.int16()
    answer.int32()
    found: list[Fetched] = []

    def partition(topic: str) -> None:
        at = TopicPartition(topic, answer.int32())
        code, high, stable = answer.int16(), answer.int64(), answer.int64()
        answer.int64()
        aborted = answer.array(lambda: (answer.int64(), answer.int64()))
        answer.int32()
        first, last = answer.blob()
        found.append(Fetched(at, code, stable if isolation == READ_COMMITTED else high, aborted, first, last))

    def topic() -> None:
        name = answer.text()
        answer.array(lambda: partition(name))

    answer.array(topic)
    return error, found


class Pieces(NamedTuple):
    """A body whose records are sent from where they lie."""

    head: bytes
    records: Sequence[Any]

    @property
    def size(self) -> int:
        return len(self.head) + sum(len(part) for part in self.records)


def produce_body(transactional_id: str | None, timeout_ms: int, at: TopicPartition, records: Sequence[Any]) -> Pieces:
    """One batch, to be written by all in-sync replicas."""
    head = string(transactional_id) + int16(-1) + int32(timeout_ms)
    head += int32(1) + string(at.topic) + int32(1) + int32(at.partition)
    return Pieces(head + int32(sum(len(part) for part in records)), records)


def read_produce(answer: Answer) -> tuple[int, str]:
    """Error and its explanation, if there is one."""
    found: list[tuple[int, str]] = []

    def partition() -> None:
        answer.int32()
        error = answer.int16()
        for _ in ("base offset", "log append time", "log start offset"):
            answer.int64()
        texts = answer.array(lambda: (answer.int32(), answer.string()))
        found.append((error, answer.string() or next((text for _, text in texts if text), "")))

    def topic() -> None:
        answer.string()
        answer.array(partition)

    answer.array(topic)
    return found[0]


def find_coordinator_body(key: str, kind: int) -> bytes:
    return string(key) + int8(kind)


def read_find_coordinator(answer: Answer) -> tuple[int, Node]:
    answer.int32()
    error = answer.int16()
    answer.string()
    return error, Node(answer.int32(), answer.text(), answer.int32())


def init_producer_id_body(transactional_id: str | None, timeout_ms: int) -> bytes:
    return string(transactional_id) + int32(timeout_ms)


def read_init_producer_id(answer: Answer) -> tuple[int, int, int]:
    """Error, producer id, epoch."""
    answer.int32()
    return answer.int16(), answer.int64(), answer.int16()


def add_partition_body(transactional_id: str, producer: int, epoch: int, at: TopicPartition) -> bytes:
    topics = array([string(at.topic) + array([int32(at.partition)])])
    return string(transactional_id) + int64(producer) + int16(epoch) + topics


def read_add_partition(answer: Answer) -> int:
    """The error of the one partition that was asked for."""
    answer.int32()
    errors = answer.array(lambda: (answer.string(), answer.array(lambda: (answer.int32(), answer.int16()))))
    return errors[0][1][0][1]


def end_transaction_body(transactional_id: str, producer: int, epoch: int, commit: bool) -> bytes:
    return string(transactional_id) + int64(producer) + int16(epoch) + int8(commit)


def read_end_transaction(answer: Answer) -> int:
    answer.int32()
    return answer.int16()


def offset_commit_body(group: str, positions: Mapping[TopicPartition, tuple[int, str | None]]) -> bytes:
    """Offsets with what is kept with them, for a group without members."""
    topics: dict[str, list[bytes]] = {}
    for at, (offset, metadata) in positions.items():
        topics.setdefault(at.topic, []).append(int32(at.partition) + int64(offset) + string(metadata))
    return string(group) + int32(-1) + string("") + array(string(name) + array(cells) for name, cells in topics.items())


def read_offset_commit(answer: Answer) -> int:
    """The first error."""
    answer.int32()
    topics = answer.array(lambda: (answer.string(), answer.array(lambda: (answer.int32(), answer.int16()))))
    return next((error for _, partitions in topics for _, error in partitions if error), 0)


def delete_group_body(group: str) -> bytes:
    return array([string(group)])


def read_delete_group(answer: Answer) -> int:
    answer.int32()
    return answer.array(lambda: (answer.string(), answer.int16()))[0][1]


def read_api_versions(answer: Answer) -> dict[int, tuple[int, int]]:
    """The versions that a broker speaks, oldest and newest, of each kind of request."""
    answer.int16()
    return {key: (low, high) for key, low, high in answer.array(lambda: _versions(answer))}


def _versions(answer: Answer) -> tuple[int, int, int]:
    return answer.int16(), answer.int16(), answer.int16()
