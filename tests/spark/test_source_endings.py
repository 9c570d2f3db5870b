"""Transactions that a source ends amid a split."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.api import Progress, Record, Split, TransactionEnd
from penstock.spark.endings import OWN_OFFSETS_TOPIC, EndingInLane, EndingLater
from penstock.spark.splits import Receipt, SourceWork
from penstock.topics.errors import MissingTopics
from penstock.topics.interface import OffsetRecords, Staged, TopicPartition, Transaction

from .pumping import GIVEN, DropOnDrop, Given, spec_for, without_faults

COMMIT, ABORT = TransactionEnd.COMMIT, TransactionEnd.ABORT


@dataclass
class Told(Transaction):
    """Writes down what it is told."""

    known: tuple[str, ...] = ("t", "u")
    said: list[Any] = field(default_factory=list)

    @property
    def pin(self) -> str:
        return "told"

    def prepare(self, topics: Any) -> None:
        if missing := [topic for topic in topics if topic not in self.known]:
            raise MissingTopics(missing)

    def write(self, partition: TopicPartition, table: pa.Table) -> Staged:
        self.said.append([value.decode() for value in table.column("value").to_pylist()])
        return Staged(partition.topic, partition.partition, len(table), table.nbytes, 0)

    def open(self) -> None:
        raise NotImplementedError

    def commit(self, topic: str, records: OffsetRecords) -> None:
        self.said.append((topic, list(records)))

    def abort(self) -> None:
        self.said.append("abort")


def as_records(offsets: Any) -> OffsetRecords:
    return [(repr(partition).encode(), repr(offset).encode()) for partition, offset in offsets]


def at(offset: int, name: str = "f") -> Progress:
    return Progress({"p": name}, {"at": offset})


def record(value: str, topic: str = "t") -> Record:
    return Record(value, topic=topic)


def read(items: list[Any], ending: Any, told: Told, transforms: Any = ()) -> Receipt:
    spec = spec_for(Given, transforms=transforms)
    GIVEN[spec.key] = items
    return without_faults(SourceWork(spec, Split({"name": spec.key}), told, {}, None, ending).run())


def test_each_end_comes_after_its_records_and_with_its_offsets() -> None:
    told = Told()
    items = [record("a"), at(1), COMMIT, record("b"), record("c"), at(2), at(7, "g"), ABORT, record("d"), at(3)]
    ending = EndingInLane("offsets", as_records, [({"p": "before"}, {"at": 9})])
    receipt = read(items, ending, told)
    assert receipt.failure is None
    assert told.said == [
        ["a"],
        ("offsets", [(b"{'p': 'before'}", b"{'at': 9}"), (b"{'p': 'f'}", b"{'at': 1}")]),
        ["b", "c"],
        "abort",
        ("offsets", [(b"{'p': 'f'}", b"{'at': 2}"), (b"{'p': 'g'}", b"{'at': 7}")]),
        ["d"],
    ]
    assert [(each.how, len(each.staged), list(each.progress)) for each in receipt.ended] == [
        (COMMIT, 1, [({"p": "f"}, {"at": 1})]),
        (ABORT, 1, [({"p": "f"}, {"at": 2}), ({"p": "g"}, {"at": 7})]),
    ]
    assert list(receipt.progress) == [({"p": "f"}, {"at": 3})]
    assert [pair[1]["at"] for pair in receipt.reported] == [1, 2, 7, 3]
    assert [part.count for part in receipt.all_staged] == [1, 2, 1]


def test_a_home_that_commits_in_the_driver_gets_the_ends_with_the_receipt() -> None:
    told = Told()
    receipt = read([record("a"), at(1), COMMIT, record("b"), at(2)], EndingLater(), told)
    assert told.said == [["a"], ["b"]]
    assert [each.how for each in receipt.ended] == [COMMIT]


def test_an_end_without_records_commits_the_offsets() -> None:
    told = Told()
    receipt = read([record("drop"), at(1), COMMIT], EndingInLane("offsets", as_records), told, [DropOnDrop])
    assert told.said == [("offsets", [(b"{'p': 'f'}", b"{'at': 1}")])]
    assert receipt.all_staged == []


def test_an_end_that_does_not_say_how_far_its_records_go_is_refused() -> None:
    told = Told()
    receipt = read([record("a"), at(1), record("b"), COMMIT], EndingInLane("offsets", as_records), told)
    assert receipt.failure is not None
    assert "first yields the Progress" in receipt.failure.trace
    assert told.said == []


def test_a_worker_that_ends_transactions_itself_overlooks_commits_and_refuses_aborts() -> None:
    told = Told()
    receipt = read([record("a"), at(1), COMMIT, record("b"), COMMIT], None, told)
    assert (receipt.failure, told.said, receipt.ended) == (None, [["a", "b"]], ())
    refused = read([record("a"), at(1), ABORT], None, told)
    assert refused.failure is not None
    assert "transaction.boundary=connector" in refused.failure.trace


def test_nothing_is_written_before_every_topic_is_there() -> None:
    told = Told()
    items = [record("a"), at(1), COMMIT, record("b", "not-yet"), at(2), COMMIT]
    receipt = read(items, EndingInLane("offsets", as_records), told)
    assert (receipt.missing_topics, told.said) == (["not-yet"], [])


def test_records_for_the_offsets_topic_are_refused_before_any_is_written() -> None:
    told = Told()
    receipt = read([record("a"), at(1), COMMIT, record("b", "u")], EndingInLane("u", as_records), told)
    assert receipt.failure is not None
    assert OWN_OFFSETS_TOPIC in receipt.failure.trace
    assert told.said == []
