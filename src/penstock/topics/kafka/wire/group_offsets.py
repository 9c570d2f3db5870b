"""Positions of consumer groups that have no members, as a simple consumer commits them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from confluent_kafka import KafkaError

from ...interface import TopicPartition
from .brokers import LOST, Brokers
from .errors import Answered
from .fields import Answer
from .options import Options
from .requests import (
    DELETE_GROUPS,
    FIND_COORDINATOR,
    GROUP_COORDINATOR,
    OFFSET_COMMIT,
    Api,
    Node,
    delete_group_body,
    find_coordinator_body,
    offset_commit_body,
    read_delete_group,
    read_find_coordinator,
    read_offset_commit,
)

T = TypeVar("T")

_ELSEWHERE = frozenset([KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR])


class Position(NamedTuple):
    """An offset, and what is kept with it."""

    offset: int
    metadata: str | None = None


class GroupOffsets:
    """For one thread. Each call is one try: it raises ``Answered``, or ``OSError`` when a broker cannot be reached."""

    def __init__(self, options: Options) -> None:
        self._brokers = Brokers(options)
        self._coordinators: dict[str, Node] = {}

    def commit(self, group: str, positions: Mapping[TopicPartition, Position]) -> None:
        """All of them, or none if there is an error."""
        plain = {at: (position.offset, position.metadata) for at, position in positions.items()}
        self._ask(group, OFFSET_COMMIT, offset_commit_body(group, plain), read_offset_commit)

    def delete(self, group: str) -> None:
        """Forget a group."""
        self._ask(group, DELETE_GROUPS, delete_group_body(group), read_delete_group)

    def close(self) -> None:
        self._brokers.close()

    def _ask(self, group: str, api: Api, body: bytes, read: Callable[[Answer], int]) -> None:
        try:
            error = read(self._brokers.meet(self._coordinator(group)).ask(api, body))
            if error:
                raise Answered(error)
        except LOST:
            self._coordinators.clear()
            self._brokers.close()
            raise
        except Answered as answered:
            if answered.code in _ELSEWHERE:
                self._coordinators.pop(group, None)
            raise

    def _coordinator(self, group: str) -> Node:
        found = self._coordinators.get(group)
        if found is None:
            body = find_coordinator_body(group, GROUP_COORDINATOR)
            error, found = self._brokers.ask_any(FIND_COORDINATOR, body, read_find_coordinator)
            if error:
                raise Answered(error)
            self._coordinators[group] = found
        return found
