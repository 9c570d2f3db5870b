"""The brokers of a cluster as one client sees them: who leads what, and a connection to each that is needed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaError

from ...interface import TopicPartition
from .connection import Connection
from .errors import Answered
from .fields import Answer, Unreadable
from .options import Options
from .requests import METADATA, Api, Leader, Node, metadata_body, read_metadata

T = TypeVar("T")

LOST = (OSError, Unreadable)
"""What an exception is when a connection is of no use any more."""

_NO_LEADER = KafkaError.LEADER_NOT_AVAILABLE


class Brokers:
    """For one thread. Methods that talk to a broker raise ``OSError`` or ``Unreadable`` when that fails."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._connections: dict[int, Connection] = {}
        self._any: Connection | None = None
        self._nodes: dict[int, Node] = {}
        self._leaders: dict[TopicPartition, Leader] = {}
        self._partitions: dict[str, int] = {}

    def leader(self, at: TopicPartition) -> Leader:
        """Who takes and gives records of a partition. Raises :class:`Answered` when nobody does now."""
        found = self._leaders.get(at)
        if found is None:
            self._learn(at.topic)
            found = self._leaders.get(at)
        if found is None:
            raise Answered(_NO_LEADER)
        return found

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has. Raises :class:`Answered` when there is no such topic."""
        if topic not in self._partitions:
            self._learn(topic)
        return self._partitions[topic]

    def doubt(self) -> None:
        """Ask again who leads what."""
        self._leaders.clear()
        self._partitions.clear()

    def connection(self, node: int) -> Connection:
        """Raises :class:`Answered` for a broker that is not there now."""
        found = self._connections.get(node)
        if found is not None and found.is_stale:
            self.drop(node)
            found = None
        if found is None:
            where = self._nodes.get(node)
            if where is None:
                raise Answered(_NO_LEADER)
            found = self._connections[node] = Connection(where.host, where.port, self.options)
        return found

    def drop(self, node: int) -> None:
        """Close a connection that is of no use; what was asked there is not answered."""
        found = self._connections.pop(node, None)
        if found is not None:
            found.close()

    def ask_any(self, api: Api, body: bytes, read: Callable[[Answer], T]) -> T:
        """Ask whichever broker can be reached."""
        try:
            if self._any is not None and self._any.is_stale:
                self._any.close()
                self._any = None
            if self._any is None:
                self._any = self._reach()
            return read(self._any.ask(api, body))
        except LOST:
            if self._any is not None:
                self._any.close()
                self._any = None
            raise

    def meet(self, node: Node) -> Connection:
        """A connection to a broker that another broker spoke of."""
        if self._nodes.get(node.id) != node:
            self.drop(node.id)
            self._nodes[node.id] = node
        return self.connection(node.id)

    def close(self) -> None:
        for node in list(self._connections):
            self.drop(node)
        if self._any is not None:
            self._any.close()
            self._any = None

    def _learn(self, topic: str) -> None:
        found = self.ask_any(METADATA, metadata_body([topic]), read_metadata)
        for node in found.nodes.values():
            if self._nodes.get(node.id) != node:
                self.drop(node.id)
                self._nodes[node.id] = node
        if topic in found.errors:
            raise Answered(found.errors[topic])
        self._leaders.update(found.leaders)
        self._partitions.update(found.partitions)

    def _reach(self) -> Connection:
        places = [(node.host, node.port) for node in self._nodes.values()]
        random.shuffle(places)
        problem: Exception = OSError("no broker")
        for host, port in dict.fromkeys([*places, *self.options.servers]):
            try:
                return Connection(host, port, self.options)
            except LOST as error:
                problem = error
        raise problem


class Patience:
    """How long to go on trying, and how long to wait before the next time."""

    def __init__(self, options: Options, seconds: float | None = None) -> None:
        self._options = options
        self._seconds = seconds
        self.renew()

    def renew(self) -> None:
        """Something went well."""
        self._tries = 0
        self._until = None if self._seconds is None else time.monotonic() + self._seconds

    @property
    def is_over(self) -> bool:
        return self._until is not None and time.monotonic() > self._until

    def wait(self) -> None:
        """Before the next time; longer and longer, and not all at the same time."""
        longest = min(self._options.first_wait_seconds * 2**self._tries, self._options.longest_wait_seconds)
        self._tries = min(self._tries + 1, 16)
        time.sleep(longest * random.uniform(0.8, 1.2))
