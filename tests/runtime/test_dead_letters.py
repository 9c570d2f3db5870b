"""Reading the dead letters of a connector, and remembering which were replayed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.runtime.dead_letters import DeadLetterBox, Edit, Replayed, parse_id
from penstock.runtime.requests import BadRequest, NotFound
from penstock.topics.interface import RAW_SCHEMA, SourceCommit, TopicPartition
from tests.topics.world import World

PREFIX = "__connect.errors."


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    opened = World(tmp_path)
    yield opened
    opened.close()


def add(world: World, *connectors: str | None, partition: int = 0, partitions: int = 1) -> None:
    """A dead letter for each name; ``None`` for one without context."""
    rows = []
    for number, connector in enumerate(connectors):
        headers = [{"key": "own", "value": b"h"}]
        if connector is not None:
            context = {"topic": "in", "partition": "3", "offset": str(number), "task.id": "1"}
            context["connector.name"] = connector
            headers += [{"key": PREFIX + key, "value": value.encode()} for key, value in context.items()]
            headers.append({"key": PREFIX + "exception.message", "value": None})
        rows.append({"key": b"k", "value": str(number).encode(), "headers": headers, "timestamp": 5})
    table = pa.Table.from_pylist(rows, schema=RAW_SCHEMA)
    staged = world.topics.stager().write(TopicPartition("dead", partition), table)
    settings = {"partitions": str(partitions)}
    world.topics.commit_source(SourceCommit("x", [staged], (), lambda topic: settings)).result()


def test_a_letter_tells_what_is_known_of_it(world: World) -> None:
    add(world, "sink", None)
    first, second = DeadLetterBox(world.topics, "sink", "dead").page().letters
    assert (first.id, first.key, first.value, first.timestamp) == ("0-0", b"k", b"0", 5)
    assert (first.original, first.task, first.headers) == (("in", 3, 0), 1, [("own", b"h")])
    assert first.context["exception.message"] is None
    assert (second.original, second.task, dict(second.context)) == ((None, None, None), None, {})


def test_pages_follow_each_other_over_partitions(world: World) -> None:
    add(world, *["sink"] * 3, partitions=2)
    add(world, *["sink"] * 2, partition=1)
    box = DeadLetterBox(world.topics, "sink", "dead")
    found, after = [], None
    while True:
        page = box.page(after, 2)
        found.append([letter.id for letter in page.letters])
        after = page.next
        if after is None:
            break
    assert found == [["0-0", "0-1"], ["0-2", "1-0"], ["1-1"]]


def test_letters_of_others_in_a_shared_queue_are_left_out(world: World) -> None:
    add(world, "sink", "other", None, "sink")
    box = DeadLetterBox(world.topics, "sink", "dead")
    assert [letter.id for letter in box.page().letters] == ["0-0", "0-2", "0-3"]
    with pytest.raises(NotFound, match="There is no dead letter 0-1 of connector sink"):
        box.find(["0-1"])


def test_a_queue_that_is_not_there_yet_is_empty(world: World) -> None:
    page = DeadLetterBox(world.topics, "sink", "dead").page()
    assert (page.topic, page.letters, page.next) == ("dead", [], None)


def test_letters_are_found_by_their_ids(world: World) -> None:
    add(world, *["sink"] * 4)
    box = DeadLetterBox(world.topics, "sink", "dead")
    assert [letter.id for letter in box.find(["0-3", "0-1", "0-1"])] == ["0-1", "0-3"]
    for wrong in ("0-4", "1-0"):
        with pytest.raises(NotFound):
            box.find([wrong])
    for text in ("", "0", "a-1", "0-1-2", "-1-0", "0-9999999999999999999"):
        with pytest.raises(BadRequest, match="looks like 0-17"):
            parse_id(text)
    with pytest.raises(BadRequest, match="between 1 and 1000"):
        box.page(limit=0)


def test_what_was_replayed_is_remembered(world: World) -> None:
    add(world, *["sink"] * 5)
    box = DeadLetterBox(world.topics, "sink", "dead")
    letters = box.page().letters
    some = Replayed.load(world.topics, "sink", "dead").with_letters([letters[1], letters[2], letters[4]])
    assert some.spans == {0: [(1, 3), (4, 5)]}
    world.topics.commit_sink(some.commit("sink")).result()
    world.reopen()
    box = DeadLetterBox(world.topics, "sink", "dead")
    assert [letter.replayed for letter in box.page().letters] == [False, True, True, False, True]
    assert [letter.id for letter in box.open_letters()] == ["0-0", "0-3"]


def test_a_queue_made_anew_starts_without_memories(world: World) -> None:
    add(world, *["sink"] * 3)
    letters = DeadLetterBox(world.topics, "sink", "dead").page().letters
    world.topics.commit_sink(Replayed("dead").with_letters(letters).commit("sink")).result()
    world.topics.delete_topic("dead").result()
    add(world, "sink")
    assert [letter.replayed for letter in DeadLetterBox(world.topics, "sink", "dead").page().letters] == [False]
    assert Replayed.load(world.topics, "sink", "elsewhere").spans == {}


def test_letters_that_arrive_while_all_are_replayed_are_left_for_later(world: World) -> None:
    add(world, "sink", "sink")
    left = DeadLetterBox(world.topics, "sink", "dead").open_letters()
    assert next(left).id == "0-0"
    add(world, "sink")
    assert [letter.id for letter in left] == ["0-1"]


def test_edits_change_what_they_name(world: World) -> None:
    add(world, "sink")
    (letter,) = DeadLetterBox(world.topics, "sink", "dead").page().letters
    assert Edit().apply(letter) == letter
    edited = Edit(key=None, value=b"new").apply(letter)
    assert (edited.key, edited.value, edited.headers) == (None, b"new", letter.headers)
