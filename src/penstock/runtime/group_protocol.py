"""The bytes that members of a Connect group exchange through the broker: Kafka Connect's, versions 0, 1 and 2."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

CONNECTOR = -1
"""The task number that stands for the connector instance itself."""

EAGER, COMPATIBLE, SESSIONED = 0, 1, 2
VERSIONS = {"default": EAGER, "compatible": COMPATIBLE, "sessioned": SESSIONED}
"""Protocol names as they are offered to the broker, with the version of the bytes."""

NO_ERROR = 0
CONFIG_MISMATCH = 1
"""The leader has not read as far in the config topic as some member: everybody reads on and joins again."""


class Unit(NamedTuple):
    """What is assigned: a connector instance (``task`` is :data:`CONNECTOR`) or one of its tasks."""

    connector: str
    task: int = CONNECTOR

    @property
    def is_connector(self) -> bool:
        return self.task == CONNECTOR


@dataclass(frozen=True)
class Assignment:
    """What the leader tells a member. ``delay_ms`` asks for a new round after that time; 0 does not."""

    leader: str
    leader_url: str
    offset: int
    assigned: frozenset[Unit] = frozenset()
    revoked: frozenset[Unit] = frozenset()
    delay_ms: int = 0
    error: int = NO_ERROR


@dataclass(frozen=True)
class MemberState:
    """What a member tells the leader: its URL, how far it has read the config topic, and what it runs."""

    url: str
    offset: int
    owned: frozenset[Unit] = frozenset()


class ProtocolError(ValueError):
    """Bytes that are no message of the group protocol."""


def offered(protocol: str) -> Sequence[str]:
    """The names a worker offers for its ``connect.protocol``, the preferred one first."""
    names = {"eager": ["default"], "compatible": ["compatible", "default"]}
    return names.get(protocol, ["sessioned", "compatible", "default"])


def write_member(state: MemberState, version: int, assignment: Assignment | None = None) -> bytes:
    """``assignment`` is what the member was last told; its units are replaced by those it owns."""
    parts = [struct.pack(">h", version), _text(state.url), struct.pack(">q", state.offset)]
    if version >= COMPATIBLE:
        allocation = None
        if state.owned:
            told = assignment or Assignment("", "", state.offset)
            owned = Assignment(told.leader, told.leader_url, told.offset, state.owned)
            allocation = write_assignment(owned, version)
        parts.append(_bytes(allocation))
    return b"".join(parts)


def read_member(data: bytes) -> MemberState:
    reader = _Reader(data)
    version = reader.number(">h")
    url, offset = reader.text(), reader.number(">q")
    owned: frozenset[Unit] = frozenset()
    if version >= COMPATIBLE:
        allocation = reader.bytes()
        owned = frozenset() if allocation is None else read_assignment(allocation).assigned
    return MemberState(url, offset, owned)


def write_assignment(assignment: Assignment, version: int) -> bytes:
    parts = [struct.pack(">hh", version, assignment.error), _text(assignment.leader), _text(assignment.leader_url)]
    parts += [struct.pack(">q", assignment.offset), _units(assignment.assigned)]
    if version >= COMPATIBLE:
        parts += [_units(assignment.revoked), struct.pack(">i", assignment.delay_ms)]
    return b"".join(parts)


def read_assignment(data: bytes) -> Assignment:
    reader = _Reader(data)
    version, error = reader.number(">h"), reader.number(">h")
    leader, url, offset = reader.text(), reader.text(), reader.number(">q")
    assigned = reader.units()
    revoked: frozenset[Unit] = frozenset()
    delay = 0
    if version >= COMPATIBLE:
        revoked, delay = reader.units(), reader.number(">i")
    return Assignment(leader, url, offset, assigned, revoked, delay, error)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _bytes(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def _units(units: Iterable[Unit]) -> bytes:
    by_connector: dict[str, list[int]] = {}
    for unit in sorted(units):
        by_connector.setdefault(unit.connector, []).append(unit.task)
    parts = [struct.pack(">i", len(by_connector))]
    for connector, tasks in by_connector.items():
        parts += [_text(connector), struct.pack(f">i{len(tasks)}i", len(tasks), *tasks)]
    return b"".join(parts)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, shape: str) -> int:
        try:
            (value,) = struct.unpack_from(shape, self._data, self._at)
        except struct.error as error:
            raise ProtocolError(f"A message of the worker group ends too early: {error}") from error
        self._at += struct.calcsize(shape)
        return int(value)

    def take(self, length: int) -> bytes:
        found = self._data[self._at : self._at + length]
        if len(found) != length:
            raise ProtocolError("A message of the worker group ends too early")
        self._at += length
        return found

    def text(self) -> str:
        length = self.number(">h")
        return "" if length < 0 else self.take(length).decode()

    def bytes(self) -> bytes | None:
        length = self.number(">i")
        return None if length < 0 else self.take(length)

    def units(self) -> frozenset[Unit]:
        found = set()
        for _ in range(self.number(">i")):
            connector = self.text()
            for _ in range(self.number(">i")):
                found.add(Unit(connector, self.number(">i")))
        return frozenset(found)
