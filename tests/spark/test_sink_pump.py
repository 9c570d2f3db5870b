"""What becomes of the records of a sink split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import pyarrow as pa

from penstock.api import Batch, DataError, Record, RetriableError, SinkTask
from penstock.api.record import OPTIONAL_STRING
from penstock.spark.splits import ErrorPolicy
from penstock.topics.interface import Range, TopicPartition

from .pumping import (
    DropOnDrop,
    FailOnBad,
    Keeping,
    KeepingColumns,
    MemoryTopics,
    Reroute,
    RowsOnly,
    here,
    put_all,
    spec_for,
)

TOLERANT = ErrorPolicy(tolerate_all=True, dead_letter_topic="dead", dead_letter_headers=True)


def values(*texts: str) -> list[dict[str, Any]]:
    return [{"value": text.encode()} for text in texts]


def test_records_arrive_in_order_with_all_they_had() -> None:
    topics = MemoryTopics()
    headers = [{"key": "h", "value": b"x"}]
    first = topics.store("t", [{"key": b"k", "value": b"a", "headers": headers, "timestamp": 5}], first=10)
    second = topics.store("u", [{"value": None}], first=3, partition=2)
    receipt = put_all(topics, [first, second], spec_for(Keeping))
    one, two = Keeping.kept
    assert (one.topic, one.partition, one.offset, one.timestamp) == ("t", 0, 10, 5)
    assert (one.key, one.value, one.value_schema) == ("k", "a", OPTIONAL_STRING)
    assert [(h.key, h.value) for h in one.headers] == [("h", "x")]
    assert (two.topic, two.partition, two.offset, two.value) == ("u", 2, 3, None)
    assert (receipt.read, receipt.written, receipt.state) == (2, 2, {"count": 2})
    assert set(receipt.seconds) == {"read", "convert", "transform", "put"}


def test_columns_and_rows_give_the_same_records() -> None:
    rows = [{"key": b"k", "value": b"a"}, {"value": b"\xc3\xa4"}, {"key": b"", "value": None, "timestamp": 9}]
    topics = MemoryTopics()
    where = [topics.store("t", rows, first=4), topics.store("t", rows, first=90)]
    KeepingColumns.batches = 0
    put_all(topics, where, spec_for(KeepingColumns))
    fast = list(Keeping.kept)
    assert KeepingColumns.batches == 2
    put_all(topics, where, spec_for(Keeping))
    assert fast == Keeping.kept
    assert [record.offset for record in fast] == [4, 5, 6, 90, 91, 92]


def test_a_value_that_is_no_utf8_takes_the_whole_split_to_rows() -> None:
    topics = MemoryTopics()
    where = [topics.store("t", values("a")), topics.store("t", [{"value": b"\xff"}], first=1)]
    KeepingColumns.batches = 0
    put_all(topics, where, spec_for(KeepingColumns))
    assert KeepingColumns.batches == 0
    assert [record.value for record in Keeping.kept] == ["a", "\ufffd"]


class OnlyColumns(SinkTask):
    def put_batches(self, batches: Iterable[Batch]) -> Mapping[str, Any] | None:
        return {"values": [value for batch in batches for value in batch.value.array.to_pylist()]}


def test_a_task_that_only_takes_columns_gets_rows_as_columns() -> None:
    topics = MemoryTopics()
    where = topics.store("t", values("a", "drop", "c"))
    receipt = put_all(topics, [where], spec_for(OnlyColumns, transforms=[DropOnDrop]))
    assert receipt.state == {"values": ["a", "c"]}
    assert receipt.filtered == 1


def test_a_bad_record_costs_itself_and_becomes_a_dead_letter_in_its_own_bytes() -> None:
    topics = MemoryTopics()
    rows = [{"value": b"a"}, {"key": b"k", "value": b"bad", "timestamp": 8}, {"value": b"c"}]
    receipt = put_all(
        topics, [topics.store("t", rows, first=5)], spec_for(Keeping, value_converter=here(RowsOnly), errors=TOLERANT)
    )
    assert [record.value for record in Keeping.kept] == ["a", "c"]
    (letter,) = topics.written[TopicPartition("dead", 0)]
    assert (letter["key"], letter["value"], letter["timestamp"]) == (b"k", b"bad", 8)
    headers = [(h["key"].removeprefix("__connect.errors."), h["value"]) for h in letter["headers"]]
    assert headers[:8] == [
        ("topic", b"t"),
        ("partition", b"0"),
        ("offset", b"6"),
        ("connector.name", b"c"),
        ("task.id", b"0"),
        ("stage", b"VALUE_CONVERTER"),
        ("class.name", f"{RowsOnly.__module__}.RowsOnly".encode()),
        ("exception.class.name", b"java.lang.NullPointerException"),
    ]
    assert headers[8] == ("exception.message", None)
    assert headers[9][1].startswith(b"java.lang.NullPointerException\nTraceback")
    assert (receipt.skipped, receipt.failed, receipt.failure) == (1, 1, None)


def test_without_tolerance_nothing_is_put_and_the_fatal_record_is_still_reported() -> None:
    topics = MemoryTopics()
    policy = ErrorPolicy(dead_letter_topic="dead")
    receipt = put_all(
        topics, [topics.store("t", values("a", "bad", "bad"))], spec_for(Keeping, transforms=[FailOnBad], errors=policy)
    )
    assert receipt.failure is not None
    assert Keeping.kept == []
    assert receipt.state is None
    assert topics.values("dead") == [b"bad"]


class Swallowing(SinkTask):
    def put(self, records: Iterable[Record]) -> Mapping[str, Any] | None:
        try:
            list(records)
        except Exception:
            return {"fine": True}
        return None


def test_a_task_cannot_hide_that_a_record_failed() -> None:
    topics = MemoryTopics()
    spec = spec_for(Swallowing, transforms=[FailOnBad])
    receipt = put_all(topics, [topics.store("t", values("bad"))], spec)
    assert receipt.failure is not None
    assert (receipt.state, "Tolerance exceeded" in receipt.failure.trace) == (None, True)


class FailingTopics(MemoryTopics):
    """The second chunk of a range cannot be read; ``log`` tells when chunks were read and records put."""

    log: ClassVar[list[str]] = []
    fails = True

    def stream(self, rows: Range) -> Iterator[tuple[int, pa.Table]]:
        for number, chunk in enumerate(super().stream(rows)):
            if number and self.fails:
                raise RetriableError("the broker is gone")
            self.log.append(f"read {number}")
            yield chunk

    def store_two(self) -> Range:
        self.log.clear()
        self.store("t", values("a"), first=0)
        self.store("t", values("b"), first=1)
        return Range("t", 0, 0, 2)


class Logging(SinkTask):
    def put(self, records: Iterable[Record]) -> Mapping[str, Any] | None:
        FailingTopics.log += (f"put {record.value}" for record in records)
        return None


class Leaving(SinkTask):
    def put(self, records: Iterable[Record]) -> Mapping[str, Any] | None:
        return {"first": next(iter(records)).value}


def test_a_task_cannot_hide_that_records_could_not_be_read() -> None:
    topics = FailingTopics()
    receipt = put_all(topics, [topics.store_two()], spec_for(Swallowing))
    assert receipt.failure is not None
    assert (receipt.state, receipt.failure.retriable) == (None, True)
    assert "the broker is gone" in receipt.failure.trace


def test_a_chunk_is_put_before_the_next_is_read() -> None:
    topics = FailingTopics()
    topics.fails = False
    put_all(topics, [topics.store_two()], spec_for(Logging))
    assert topics.log == ["read 0", "put a", "read 1", "put b"]


def test_what_a_task_leaves_unread_counts_as_read() -> None:
    topics = FailingTopics()
    topics.fails = False
    receipt = put_all(topics, [topics.store_two()], spec_for(Leaving))
    assert (receipt.state, receipt.read) == ({"first": "a"}, 2)


class Reporting(SinkTask):
    def put(self, records: Iterable[Record]) -> Mapping[str, Any] | None:
        for record in records:
            if record.value != "a":
                self.context.report(record, DataError("no room"))
        return {"was": dict(self.context.state or {}), "task": self.context.task}


def test_reported_records_become_dead_letters_of_the_put_stage_even_when_rerouted() -> None:
    topics = MemoryTopics()
    where = topics.store("t", values("a", "b"), first=40)
    receipt = put_all(topics, [where], spec_for(Reporting, transforms=[Reroute], errors=TOLERANT), {"n": 1})
    (letter,) = topics.written[TopicPartition("dead", 0)]
    context = {h["key"]: h["value"] for h in letter["headers"]}
    assert letter["value"] == b"b"
    assert context["__connect.errors.topic"] == b"t"
    assert context["__connect.errors.offset"] == b"41"
    assert context["__connect.errors.stage"] == b"TASK_PUT"
    assert context["__connect.errors.class.name"] == b"org.apache.kafka.connect.sink.SinkTask"
    assert receipt.state == {"was": {"n": 1}, "task": 0}


def test_reporting_without_tolerance_fails_the_task() -> None:
    topics = MemoryTopics()
    receipt = put_all(topics, [topics.store("t", values("b"))], spec_for(Reporting))
    assert receipt.failure is not None
    assert "Caused by: org.apache.kafka.connect.errors.DataException: no room" in receipt.failure.trace


class Refusing(SinkTask):
    def put(self, records: Iterable[Record]) -> Mapping[str, Any] | None:
        raise RetriableError("come back later")


def test_a_retriable_put_is_a_retriable_failure() -> None:
    topics = MemoryTopics()
    receipt = put_all(topics, [topics.store("t", values("b"))], spec_for(Refusing, errors=TOLERANT))
    assert receipt.failure is not None
    assert receipt.failure.retriable
    assert receipt.failure.trace.startswith("org.apache.kafka.connect.errors.RetriableException: come back later\n")


def test_log_lines_show_the_consumed_record() -> None:
    topics = MemoryTopics()
    policy = ErrorPolicy(tolerate_all=True, log=True, log_messages=True)
    where = topics.store("t", values("bad"), first=3)
    receipt = put_all(topics, [where], spec_for(Keeping, value_converter=here(RowsOnly), errors=policy))
    assert receipt.error_log[0].splitlines()[0] == (
        "Error encountered in task c-0. Executing stage 'VALUE_CONVERTER' with class "
        f"'{RowsOnly.__module__}.RowsOnly', where consumed record is "
        "{topic='t', partition=0, offset=3, timestamp=1700000000000, timestampType=CreateTime}."
    )


def test_a_chunked_table_is_read_as_one() -> None:
    topics = MemoryTopics()
    where = topics.store("t", values("a", "b"))
    _, table = topics.stored[TopicPartition("t", 0)][0]
    topics.stored[TopicPartition("t", 0)] = [(0, pa.concat_tables([table, table]))]
    put_all(topics, [where], spec_for(Keeping))
    assert [(record.offset, record.value) for record in Keeping.kept] == [(0, "a"), (1, "b"), (2, "a"), (3, "b")]
