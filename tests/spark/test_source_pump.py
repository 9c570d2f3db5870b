"""What becomes of the records of a source split."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from penstock.api import Batch, Column, Progress, Record, RetriableError
from penstock.api.record import OPTIONAL_STRING
from penstock.spark.splits import ErrorPolicy
from penstock.topics.interface import TopicPartition

from .pumping import (
    Down,
    DropOnDrop,
    FailOnBad,
    Given,
    MemoryTopics,
    Reroute,
    RowsOnly,
    TwiceFlaky,
    header,
    here,
    read_all,
    spec_for,
)


def lines(*values: str | None, topic: str = "t") -> Batch:
    return Batch(topic, Column(pa.array(values, pa.string()), OPTIONAL_STRING))


def test_records_are_staged_in_order_with_keys_headers_and_timestamps() -> None:
    topics = MemoryTopics()
    items = [
        Record("one", "k", "t", headers=[header("h", "x"), header("h", None)], timestamp=5),
        Record(None, None, "t"),
    ]
    before = int(time.time() * 1000)
    receipt = read_all(topics, items, spec_for(Given))
    first, second = topics.written[TopicPartition("t", 0)]
    assert first == {
        "key": b"k",
        "value": b"one",
        "headers": [{"key": "h", "value": b"x"}, {"key": "h", "value": None}],
        "timestamp": 5,
    }
    assert (second["key"], second["value"], second["headers"]) == (None, None, None)
    assert before <= second["timestamp"] <= time.time() * 1000
    assert (receipt.read, receipt.written, receipt.failure) == (2, 2, None)
    assert set(receipt.seconds) == {"read", "transform", "convert", "write"}


def test_columns_and_rows_give_the_same_records() -> None:
    batch = Batch(
        "t",
        Column(pa.array(["a", None, "c"]), OPTIONAL_STRING),
        Column(pa.array(["k", "k", None]), OPTIONAL_STRING),
        timestamp=pa.array([1, 2, 3]),
    )
    fast, slow = MemoryTopics(), MemoryTopics()
    read_all(fast, [batch], spec_for(Given))
    read_all(slow, list(batch.records()), spec_for(Given))
    assert len(fast.written[TopicPartition("t", 0)]) == 3
    assert fast.written == slow.written


def test_rows_and_columns_keep_their_order_when_they_alternate() -> None:
    topics = MemoryTopics()
    read_all(topics, [Record("1", topic="t"), lines("2", "3"), Record("4", topic="t")], spec_for(Given))
    assert topics.values("t") == [b"1", b"2", b"3", b"4"]


def test_a_converter_without_columns_gets_the_values_one_by_one() -> None:
    topics = MemoryTopics()
    receipt = read_all(topics, [lines("a", "b")], spec_for(Given, value_converter=here(RowsOnly)))
    assert topics.values("t") == [b"a", b"b"]
    assert receipt.written == 2


def test_a_bad_value_in_a_column_costs_itself_only() -> None:
    topics = MemoryTopics()
    spec = spec_for(Given, value_converter=here(RowsOnly), errors=ErrorPolicy(tolerate_all=True))
    receipt = read_all(topics, [lines("a", "bad", "c")], spec)
    assert topics.values("t") == [b"a", b"c"]
    assert (receipt.written, receipt.skipped, receipt.failure) == (2, 1, None)


def test_dropped_records_are_counted_and_not_written() -> None:
    topics = MemoryTopics()
    receipt = read_all(topics, [lines("a", "drop", "c")], spec_for(Given, transforms=[DropOnDrop]))
    assert topics.values("t") == [b"a", b"c"]
    assert (receipt.filtered, receipt.written) == (1, 2)


def test_progress_keeps_the_last_offset_of_each_partition() -> None:
    items = [Progress({"f": 1}, {"p": 1}), Progress({"f": 2}, {"p": 9}), lines("a"), Progress({"f": 1}, {"p": 2})]
    receipt = read_all(MemoryTopics(), items, spec_for(Given))
    assert list(receipt.progress) == [({"f": 1}, {"p": 2}), ({"f": 2}, {"p": 9})]


def test_a_failing_record_without_tolerance_fails_the_split_and_stages_nothing() -> None:
    topics = MemoryTopics()
    receipt = read_all(topics, [lines("a", "bad", "c")], spec_for(Given, transforms=[FailOnBad]))
    assert receipt.failure is not None
    first, second, *rest = receipt.failure.trace.splitlines()
    assert first == "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler"
    assert second == "Caused by: org.apache.kafka.connect.errors.DataException: cannot take bad"
    assert rest[0] == "Traceback (most recent call last):"
    assert (topics.written, receipt.staged) == ({}, ())


def test_a_failed_source_record_becomes_a_dead_letter_as_it_was_before_the_transforms() -> None:
    topics = MemoryTopics()
    policy = ErrorPolicy(tolerate_all=True, dead_letter_topic="dead", dead_letter_headers=True)
    spec = spec_for(Given, transforms=[Reroute, FailOnBad], errors=policy)
    receipt = read_all(topics, [Record("bad", "k", "t", timestamp=7, headers=[header("h", "x")])], spec)
    (letter,) = topics.written[TopicPartition("dead", 0)]
    assert (letter["key"], letter["value"], letter["timestamp"]) == (b"k", b"bad", 7)
    headers = [(h["key"], h["value"]) for h in letter["headers"]]
    assert headers[0] == ("h", b"x")
    context = dict(headers[1:])
    assert context["__connect.errors.topic"] == b"t"
    assert context["__connect.errors.stage"] == b"TRANSFORMATION"
    assert context["__connect.errors.class.name"] == f"{FailOnBad.__module__}.FailOnBad".encode()
    assert [part.topic for part in receipt.dead_letters] == ["dead"]
    assert receipt.staged == []


def test_a_plugin_that_raises_while_reading_gives_its_traceback() -> None:
    topics = MemoryTopics()
    receipt = read_all(topics, [lines("a"), ValueError("disk on fire")], spec_for(Given))
    assert receipt.failure is not None
    assert receipt.failure.trace.splitlines()[0] == "ValueError: disk on fire"
    assert "in read" in receipt.failure.trace
    assert (receipt.failure.retriable, topics.written) == (False, {})


def test_a_retriable_error_while_reading_is_a_retriable_failure() -> None:
    receipt = read_all(MemoryTopics(), [RetriableError("busy")], spec_for(Given))
    assert receipt.failure is not None
    assert receipt.failure.retriable


def test_a_missing_class_is_a_failure_not_an_exception() -> None:
    receipt = read_all(MemoryTopics(), [], spec_for("nowhere.at_all:Task"))
    assert receipt.failure is not None
    assert "nowhere" in receipt.failure.trace


def test_a_retriable_record_error_is_retried_until_it_works() -> None:
    topics = MemoryTopics()
    policy = ErrorPolicy(retry_timeout_ms=5_000, retry_delay_max_ms=2)
    receipt = read_all(topics, [lines("a")], spec_for(Given, transforms=[TwiceFlaky], errors=policy))
    assert topics.values("t") == [b"a"]
    assert (receipt.retries, receipt.failed) == (2, 0)


def test_retries_end_with_the_timeout() -> None:
    policy = ErrorPolicy(tolerate_all=True, retry_timeout_ms=40, retry_delay_max_ms=10)
    receipt = read_all(MemoryTopics(), [lines("a")], spec_for(Given, transforms=[Down], errors=policy))
    assert receipt.retries >= 1
    assert (receipt.skipped, receipt.failure) == (1, None)


def test_without_tolerance_a_record_is_never_dropped_when_retries_end() -> None:
    receipt = read_all(MemoryTopics(), [lines("a")], spec_for(Given, transforms=[Down]))
    assert receipt.failure is not None
    assert "RetriableException: still down" in receipt.failure.trace


def test_error_log_lines_name_task_stage_and_class() -> None:
    policy = ErrorPolicy(tolerate_all=True, log=True, log_messages=True)
    receipt = read_all(MemoryTopics(), [lines("bad")], spec_for(Given, transforms=[FailOnBad], errors=policy))
    (line,) = receipt.error_log
    name = f"{FailOnBad.__module__}.FailOnBad"
    assert line.startswith(
        f"Error encountered in task c-0. Executing stage 'TRANSFORMATION' with class '{name}', "
        "where source record is = "
    )
    assert "value='bad'" in line.splitlines()[0]


def test_a_topic_name_that_kafka_refuses_is_a_record_level_error() -> None:
    topics = MemoryTopics()
    spec = spec_for(Given, errors=ErrorPolicy(tolerate_all=True))
    receipt = read_all(topics, [lines("a", topic="no spaces"), lines("b"), Record("c", topic="..")], spec)
    assert topics.values("t") == [b"b"]
    assert receipt.skipped == 2


def test_an_explicit_partition_that_does_not_exist_fails_with_a_way_out() -> None:
    receipt = read_all(MemoryTopics(), [Record("a", topic="t", partition=3)], spec_for(Given), {"t": 2})
    assert receipt.failure is not None
    assert "partition 3 of topic t, which has 2 partition(s)" in receipt.failure.trace


@pytest.mark.parametrize("as_columns", [True, False])
def test_keyed_records_go_where_kafka_sends_them(as_columns: bool) -> None:
    topics = MemoryTopics()
    batch = Batch("t", Column(pa.array(["v"] * 3), OPTIONAL_STRING), Column(pa.array(["foobar", "21", "21"])))
    items = [batch] if as_columns else list(batch.records())
    read_all(topics, items, spec_for(Given), {"t": 10})
    places = {row["key"]: at.partition for at, rows in topics.written.items() for row in rows}
    # Kafka's own murmur2 of these keys: -790332482 and -973932308.
    assert places == {b"foobar": (-790332482 & 0x7FFFFFFF) % 10, b"21": (-973932308 & 0x7FFFFFFF) % 10}
