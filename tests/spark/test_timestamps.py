"""Negative timestamps: -1 is none at all, others fail the task whatever is tolerated."""

from __future__ import annotations

import pytest

from penstock.api import Record, SinkTask, SourceTask
from penstock.spark.splits import ErrorPolicy, Failure

from .pumping import Given, Keeping, KeepingColumns, MemoryTopics, put_all, read_all, spec_for

TOLERANT = ErrorPolicy(tolerate_all=True, dead_letter_topic="dead")
FATAL = "org.apache.kafka.common.InvalidRecordException: Invalid record timestamp -5"


def _first_line(failure: Failure | None) -> str:
    assert failure is not None
    return failure.trace.splitlines()[0]


@pytest.mark.parametrize("task", [Keeping, KeepingColumns])
def test_a_sink_fails_at_a_negative_timestamp(task: type[SinkTask]) -> None:
    topics = MemoryTopics()
    where = topics.store("t", [{"value": b"a"}, {"value": b"b", "timestamp": -5}])
    receipt = put_all(topics, [where], spec_for(task, errors=TOLERANT))
    assert _first_line(receipt.failure) == FATAL
    assert receipt.dead_letters == []


@pytest.mark.parametrize("task", [Keeping, KeepingColumns])
def test_a_sink_takes_minus_one_as_no_timestamp(task: type[SinkTask]) -> None:
    topics = MemoryTopics()
    where = topics.store("t", [{"value": b"a", "timestamp": -1}, {"value": b"b", "timestamp": 0}])
    assert put_all(topics, [where], spec_for(task)).failure is None
    assert [record.timestamp for record in Keeping.kept] == [None, 0]


def test_a_source_fails_at_a_negative_timestamp() -> None:
    task: type[SourceTask] = Given
    topics = MemoryTopics()
    receipt = read_all(topics, [Record(value="a", topic="t", timestamp=-5)], spec_for(task, errors=TOLERANT))
    assert _first_line(receipt.failure) == FATAL
    assert not topics.written
