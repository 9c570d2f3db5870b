"""Positions and states of several groups in one transaction."""

from __future__ import annotations

from penstock.topics.errors import TopicError
from penstock.topics.interface import SinkCommit, SourceCommit, Staged, TopicPartition

from .world import World, numbered

T0 = TopicPartition("t", 0)


def test_a_sink_commit_carries_others_along(world: World) -> None:
    other = SinkCommit("other", {T0: 2}, 3, {"seen": [1]})
    world.topics.commit_sink(SinkCommit("own", {T0: 1}, 0, {"n": 1}, also=[other])).result()
    world.reopen()
    assert (world.topics.positions("own"), world.topics.positions("other")) == ({T0: 1}, {T0: 2})
    assert world.topics.sink_state("other", 3) == {"seen": [1]}


def test_a_source_commit_carries_groups_along(world: World) -> None:
    other = SinkCommit("other", {}, 0, {"seen": 7})
    world.topics.commit_source(SourceCommit("c", [world.stage(numbered(0, 2))], also=[other])).result()
    for _ in range(2):
        assert world.values() == [0, 1]
        assert world.topics.sink_state("other", 0) == {"seen": 7}
        world.reopen()


def test_nothing_is_written_when_one_part_cannot_be(world: World) -> None:
    gone = Staged("t", 0, 1, 1, 0, path="no-such-file.parquet")
    commit = SinkCommit("own", {T0: 1}, staged=[gone], also=[SinkCommit("other", {T0: 2})])
    assert isinstance(world.topics.commit_sink(commit).exception(), TopicError)
    assert (world.topics.positions("own"), world.topics.positions("other")) == ({}, {})
    refused = SinkCommit("own", {T0: 1}, also=[SinkCommit("other", {}, 0, {"no": object()})])
    assert isinstance(world.topics.commit_sink(refused).exception(), TypeError)
    assert world.topics.positions("own") == {}
