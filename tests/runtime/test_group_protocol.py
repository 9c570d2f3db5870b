"""The bytes of the group protocol, against bytes laid out by hand as Kafka Connect's schemas say."""

from __future__ import annotations

import struct

import pytest

from penstock.runtime.group_protocol import (
    COMPATIBLE,
    CONFIG_MISMATCH,
    EAGER,
    SESSIONED,
    Assignment,
    MemberState,
    ProtocolError,
    Unit,
    offered,
    read_assignment,
    read_member,
    write_assignment,
    write_member,
)


def text(value: str) -> bytes:
    return struct.pack(">h", len(value.encode())) + value.encode()


def ints(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


UNITS = frozenset([Unit("a"), Unit("a", 0), Unit("a", 1), Unit("b", 2)])
UNITS_BYTES = ints(2) + text("a") + ints(3, -1, 0, 1) + text("b") + ints(1, 2)


def test_a_member_of_the_eager_protocol() -> None:
    written = write_member(MemberState("http://h:1/", 7, UNITS), EAGER)
    assert written == struct.pack(">h", 0) + text("http://h:1/") + struct.pack(">q", 7)
    assert read_member(written) == MemberState("http://h:1/", 7)


@pytest.mark.parametrize("version", [COMPATIBLE, SESSIONED])
def test_a_member_tells_what_it_runs(version: int) -> None:
    told = Assignment("leader", "http://l:1/", 5)
    written = write_member(MemberState("http://h:1/", 7, UNITS), version, told)
    inner = struct.pack(">hh", version, 0) + text("leader") + text("http://l:1/") + struct.pack(">q", 5)
    inner += UNITS_BYTES + ints(0) + ints(0)
    head = struct.pack(">h", version) + text("http://h:1/") + struct.pack(">q", 7)
    assert written == head + ints(len(inner)) + inner
    assert read_member(written) == MemberState("http://h:1/", 7, UNITS)


def test_a_member_without_work_sends_null() -> None:
    written = write_member(MemberState("u", 0), SESSIONED)
    assert written.endswith(ints(-1))
    assert read_member(written) == MemberState("u", 0)


def test_an_assignment_of_the_eager_protocol() -> None:
    written = write_assignment(Assignment("l", "u", 9, UNITS), EAGER)
    assert written == struct.pack(">hh", 0, 0) + text("l") + text("u") + struct.pack(">q", 9) + UNITS_BYTES
    assert read_assignment(written) == Assignment("l", "u", 9, UNITS)


def test_an_assignment_tells_what_to_give_up_and_when_to_come_again() -> None:
    given = Assignment("l", "u", 9, UNITS, frozenset([Unit("c", 4)]), 1500, CONFIG_MISMATCH)
    written = write_assignment(given, SESSIONED)
    head = struct.pack(">hh", 2, 1) + text("l") + text("u") + struct.pack(">q", 9)
    assert written == head + UNITS_BYTES + ints(1) + text("c") + ints(1, 4) + ints(1500)
    assert read_assignment(written) == given


def test_null_arrays_of_java_workers_are_empty() -> None:
    written = struct.pack(">hh", 1, 0) + text("l") + text("u") + struct.pack(">q", 9) + ints(-1, -1, 0)
    assert read_assignment(written) == Assignment("l", "u", 9)


def test_names_of_any_letters_survive() -> None:
    units = frozenset([Unit("bestell-ströme ☃", 3)])
    written = write_assignment(Assignment("l", "u", 0, units), SESSIONED)
    assert read_assignment(written).assigned == units


@pytest.mark.parametrize("length", range(0, 40, 7))
def test_bytes_that_end_early_are_refused(length: int) -> None:
    written = write_assignment(Assignment("leader", "url", 0, UNITS), SESSIONED)
    with pytest.raises(ProtocolError):
        read_assignment(written[:length])


@pytest.mark.parametrize(
    ("protocol", "names"),
    [
        ("eager", ["default"]),
        ("compatible", ["compatible", "default"]),
        ("sessioned", ["sessioned", "compatible", "default"]),
    ],
)
def test_the_preferred_protocol_is_offered_first(protocol: str, names: list[str]) -> None:
    assert offered(protocol) == names
