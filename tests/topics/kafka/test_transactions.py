"""Transactions of exactly-once sources: all or nothing, and one holder of an id."""

from __future__ import annotations

import pytest

from penstock.topics import kept
from penstock.topics.interface import TopicPartition
from penstock.topics.kafka.errors import ProducerFenced
from penstock.topics.kafka.home import KafkaHome
from penstock.topics.kafka.transactions import SessionLost, _sessions

from .world import KafkaWorld, row, table


def values(world: KafkaWorld, topic: str, count: int) -> list[bytes]:
    return [message.value() for message in world.consume(topic, count)]


@pytest.fixture
def topics(world: KafkaWorld) -> tuple[KafkaHome, str, str]:
    home, topic, offsets = world.connector(), f"{world.name}-records", f"{world.name}-offsets"
    home.ensure([topic, offsets], lambda _: {"partitions": "1"}).result(30)
    return home, topic, offsets


def test_records_and_offsets_become_visible_together(world: KafkaWorld, topics: tuple[KafkaHome, str, str]) -> None:
    home, topic, offsets = topics
    at = TopicPartition(topic, 0)
    home.transaction("one", "s", 1).open()
    home.transaction("one", "s", 1).write(at, table([row(b"a"), row(b"b")]))
    home.transaction("one", "s", 1).commit(offsets, [(b"key", b"1")])
    given_up = home.transaction("one", "s", 2)
    given_up.write(at, table([row(b"never")]))
    given_up.abort()
    home.transaction("one", "s", 3).write(at, table([row(b"also never")]))
    home.transaction("one", "s", 4).write(at, table([row(b"c")]))
    home.transaction("one", "s", 4).commit(offsets, [(b"key", b"2")])
    assert values(world, topic, 3) == [b"a", b"b", b"c"]
    assert values(world, offsets, 2) == [b"1", b"2"]
    kept.let_go_of_all()


def test_only_offsets_can_be_committed(world: KafkaWorld, topics: tuple[KafkaHome, str, str]) -> None:
    home, _, offsets = topics
    home.transaction("only", "s", 1).open()
    home.transaction("only", "s", 1).commit(offsets, [(b"key", b"1")])
    assert values(world, offsets, 1) == [b"1"]
    kept.let_go_of_all()


def test_a_zombie_cannot_write_after_somebody_took_over(world: KafkaWorld, topics: tuple[KafkaHome, str, str]) -> None:
    home, topic, offsets = topics
    at = TopicPartition(topic, 0)
    zombie = home.transaction("both", "old", 1)
    zombie.open()
    zombie.write(at, table([row(b"zombie")]))
    sleeping = _sessions.pop("both")
    heir = home.transaction("both", "new", 1)
    heir.open()
    heir.write(at, table([row(b"heir")]))
    heir.commit(offsets, [(b"key", b"heir")])
    holder, _sessions["both"] = _sessions["both"], sleeping
    with pytest.raises(ProducerFenced, match="newer producer with the same transactionalId"):
        zombie.commit(offsets, [(b"key", b"zombie")])
    _sessions["both"] = holder
    assert values(world, topic, 1) == [b"heir"]
    assert values(world, offsets, 1) == [b"heir"]
    kept.let_go_of_all()


def test_a_work_for_another_session_finds_nothing(world: KafkaWorld, topics: tuple[KafkaHome, str, str]) -> None:
    home, topic, offsets = topics
    home.transaction("lost", "s", 1).open()
    with pytest.raises(SessionLost):
        home.transaction("lost", "other", 1).write(TopicPartition(topic, 0), table([row(b"x")]))
    kept.let_go_of_all()
    with pytest.raises(SessionLost):
        home.transaction("lost", "s", 1).commit(offsets, [])


def test_dead_letters_are_outside(world: KafkaWorld, topics: tuple[KafkaHome, str, str]) -> None:
    home, topic, _ = topics
    dead = f"{world.name}-dead"
    home.ensure([dead], lambda _: {"partitions": "1"}).result(30)
    batch = home.transaction("dead", "s", 1, outside=dead)
    batch.open()
    batch.write(TopicPartition(topic, 0), table([row(b"record")]))
    batch.write(TopicPartition(dead, 0), table([row(b"letter")]))
    batch.finish()
    batch.abort()
    assert values(world, dead, 1) == [b"letter"]
    kept.let_go_of_all()
