"""What callers may ask of offsets, and what they are told: the rules alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from penstock.runtime import offsets as rules
from penstock.runtime.requests import BadRequest, OffsetEntry, TargetState
from penstock.topics.interface import TopicPartition


def sink(number: Any = 0, offset: Any = 5, topic: Any = "t") -> OffsetEntry:
    return OffsetEntry({"kafka_topic": topic, "kafka_partition": number}, {"kafka_offset": offset})


@pytest.mark.parametrize("given", [None, []])
def test_a_request_without_entries_is_refused(given: list[OffsetEntry] | None) -> None:
    with pytest.raises(BadRequest, match="need to be provided"):
        rules.require_entries(given)
    assert rules.require_entries([sink()]) == [sink()]


@pytest.mark.parametrize(
    ("target", "tasks"), [(TargetState.PAUSED, 0), (TargetState.STARTED, 0), (TargetState.STOPPED, 1)]
)
def test_offsets_change_only_while_nothing_runs(target: TargetState, tasks: int) -> None:
    with pytest.raises(BadRequest, match="'/connectors/c/stop'"):
        rules.require_stopped("c", target, tasks)
    rules.require_stopped("c", TargetState.STOPPED, 0)


def test_the_answer_says_whether_the_connector_has_looked() -> None:
    assert rules.done_message("altered", True) == "The offsets for this connector have been altered successfully"
    assert "framework-managed offsets for this connector have been reset" in rules.done_message("reset", False)


def test_positions_of_sinks_come_from_numbers_and_from_texts_as_java_reads_them() -> None:
    entries = [
        sink(0, 5),
        sink("1", "+7"),
        OffsetEntry({"kafka_topic": "t", "kafka_partition": 2}, None),
        sink(3, 2**63 - 1),
        sink(2**31 - 1, 0),
        sink(0, 6, "u"),
        sink(0, 8, "u"),
    ]
    assert rules.sink_changes("c", entries) == {
        TopicPartition("t", 0): 5,
        TopicPartition("t", 1): 7,
        TopicPartition("t", 2): None,
        TopicPartition("t", 3): 2**63 - 1,
        TopicPartition("t", 2**31 - 1): 0,
        TopicPartition("u", 0): 8,
    }
    assert rules.sink_changes("c", [sink(topic="7")]) == {TopicPartition("7", 0): 5}


NOT_NEGATIVE = "neither partition nor offset may be negative"
NOT_A_PARTITION = "Failed to parse the following Kafka partition value in the provided offsets: '{}'"
NOT_AN_OFFSET = "Failed to parse the following Kafka offset value in the provided offsets: '{}'"
TWO_KEYS = "must contain the keys 'kafka_topic' and 'kafka_partition'"


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (OffsetEntry(None, None), "The partition for a sink connector offset cannot be null or missing"),
        (OffsetEntry({"kafka_topic": "t"}, None), TWO_KEYS),
        (OffsetEntry({"kafka_partition": 1}, None), TWO_KEYS),
        (sink(topic=None), "Kafka topic names must be valid strings and may not be null"),
        (sink(topic=7), "may not be null. 'kafka_topic' is 7: if that is the name, put it in quotes"),
        (sink(topic=True), "'kafka_topic' is true"),
        (sink(topic=["t"]), "'kafka_topic' is ['t']"),
        (sink(None), "Kafka partitions must be valid numbers and may not be null"),
        (sink("one"), NOT_A_PARTITION.format("one")),
        (sink(True), NOT_A_PARTITION.format("true")),
        (sink(1.0), NOT_A_PARTITION.format("1.0")),
        (sink("٣"), NOT_A_PARTITION.format("٣")),
        (sink(2**31), NOT_A_PARTITION.format(2**31)),
        (sink(-(2**31) - 1), NOT_A_PARTITION.format(-(2**31) - 1)),
        (sink(-(2**31)), NOT_NEGATIVE),
        (OffsetEntry({"kafka_topic": "t", "kafka_partition": 0}, {}), "should either be null or contain the key"),
        (sink(0, "ten"), NOT_AN_OFFSET.format("ten")),
        (sink(0, ""), NOT_AN_OFFSET.format("")),
        (sink(0, 2**63), NOT_AN_OFFSET.format(2**63)),
        (sink(-1), NOT_NEGATIVE),
        (sink(0, "-1"), NOT_NEGATIVE),
    ],
)
def test_what_is_no_position_is_refused_with_the_reason(entry: OffsetEntry, text: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(text)):
        rules.sink_changes("c", [entry])


def test_partitions_that_are_not_there_are_named_with_those_that_are() -> None:
    topics = {"t": 1, "u": 3}
    rules.require_partitions("c", [TopicPartition("t", 0), TopicPartition("u", 2)], topics)
    with pytest.raises(BadRequest) as refused:
        rules.require_partitions("c", [TopicPartition(*at) for at in [("t", 0), ("t", 1), ("u", 3), ("v", 0)]], topics)
    assert str(refused.value) == (
        "Failed to modify offsets for sink connector c: there is no partition 1 of topic t (it has partition 0 alone), "
        "no partition 3 of topic u (it has partitions 0 to 2), no partition 0 of topic v (there is no such topic). No "
        "offset was changed. Correct the partition or leave it out, or make the topic first."
    )


def test_positions_are_shown_in_order() -> None:
    positions = {TopicPartition("u", 0): 1, TopicPartition("t", 1): 2, TopicPartition("t", 0): 3}
    assert rules.sink_entries(positions) == [sink(0, 3), sink(1, 2), sink(0, 1, "u")]


def test_source_offsets_are_maps_of_primitives_and_have_a_partition() -> None:
    entries = [OffsetEntry({"file": "a"}, {"line": 1}), OffsetEntry({"file": "b"}, None)]
    assert rules.source_changes(entries) == [({"file": "a"}, {"line": 1}), ({"file": "b"}, None)]
    for entry, text in [
        (OffsetEntry(None, {"line": 1}), "The partition for a source connector offset cannot be null or missing"),
        (OffsetEntry({"file": ["a"]}, {"line": 1}), "field file contains ARRAY"),
        (OffsetEntry({"file": "a"}, {"line": {}}), "field line contains MAP"),
    ]:
        with pytest.raises(BadRequest, match=text):
            rules.source_changes([entry])
