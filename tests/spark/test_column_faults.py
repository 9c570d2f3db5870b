"""A column form that raises changes no record, and is counted: nobody would notice otherwise that it is dead."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from penstock.api import Batch, Column, Converter, Predicate, Record, Transform
from penstock.api.record import Schema
from penstock.api.transform import RowsDeclined
from penstock.converters.string import StringConverter
from penstock.spark.column_faults import ColumnFault
from penstock.spark.splits import ErrorPolicy, PluginRef, Receipt, TaskSpec, TransformRef

from .chain_cases import KeepingMixed, json_spec
from .pumping import Given, Keeping, KeepingColumns, MemoryTopics, here, put_all, read_all, spec_for

ROWS = 7


class Louder(Transform):
    """Changes texts; its column form raises."""

    def apply(self, record: Record) -> Record | None:
        return record.with_(value=f"{record.value}!")

    def apply_batch(self, batch: Batch) -> Batch | None:
        raise KeyError("column")


class SecondRowOnly(Louder):
    """Declines the first row, then raises for the others."""

    def apply_batch(self, batch: Batch) -> Batch | None:
        if len(batch) == ROWS:
            raise RowsDeclined(pa.array([True] + [False] * (ROWS - 1)))
        raise KeyError("column")


class DeclinesNothing(Louder):
    """Says that some rows must go one by one, but not which."""

    def apply_batch(self, batch: Batch) -> Batch | None:
        raise RowsDeclined(pa.array([False] * len(batch)))


class LosesRows(Louder):
    """Gives fewer records than it got, and not none."""

    def apply_batch(self, batch: Batch) -> Batch | None:
        return batch.slice(0, 2)


class GivesNoBatch(Louder):
    """Gives something else."""

    def apply_batch(self, batch: Batch) -> Batch | None:
        return batch.value  # type: ignore[return-value]


class DeclinesAll(Louder):
    """Has no column form for these records, and says so."""

    def apply_batch(self, batch: Batch) -> Batch | None:
        return None


class Picky(Predicate):
    """Chooses every second text; its column form raises."""

    def test(self, record: Record) -> bool:
        return int(record.value[-1]) % 2 == 0

    def test_batch(self, batch: Batch) -> bool | pa.Array | None:
        raise ZeroDivisionError


class PickyBriefly(Picky):
    """Answers for fewer records than it was asked about."""

    def test_batch(self, batch: Batch) -> bool | pa.Array | None:
        return pa.array([True, False])


class PickyOddly(Picky):
    """Answers with something else."""

    def test_batch(self, batch: Batch) -> bool | pa.Array | None:
        return "yes"  # type: ignore[return-value]


class BadColumns(Converter):
    """Texts; its column forms raise."""

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else str(value).encode()

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return None, None if data is None else data.decode()

    def encode(self, topic: str, column: Column) -> pa.Array | None:
        raise LookupError(topic)

    def decode(self, topic: str, data: pa.Array) -> Column | None:
        raise LookupError(topic)


class Plain(StringConverter):
    """Strings, column by column, without a schema."""

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return None, None if data is None else data.decode()

    def decode(self, topic: str, data: pa.Array) -> Column | None:
        return Column(data.cast(pa.string()))


def chain_spec(task: type[Any], transform: type[Transform], predicate: type[Predicate] | None = None) -> TaskSpec:
    chosen = None if predicate is None else PluginRef(here(predicate))
    converter = PluginRef(here(Plain))
    plain = json_spec(task, [TransformRef("loud", PluginRef(here(transform)), chosen)], ErrorPolicy())
    key = f"faults-{task.__name__}-{transform.__name__}-{predicate and predicate.__name__}"
    return TaskSpec(key, "c", 0, plain.task_target, converter, converter, plain.header_converter, plain.transforms)


def put_texts(spec: TaskSpec, may_raise: bool = True) -> Receipt:
    topics = MemoryTopics()
    where = topics.store("t", [{"value": f"v{number}".encode()} for number in range(ROWS)])
    return put_all(topics, [where], spec, may_raise=may_raise)


def told(receipt: Receipt) -> list[tuple[str, str, int]]:
    return [(fault.plugin.rpartition(".")[2], fault.form, fault.rows) for fault in receipt.column_faults]


LOUD = [f"v{number}!" for number in range(ROWS)]
PICKED = [f"v{number}" + "!" * (number % 2 == 0) for number in range(ROWS)]


@pytest.mark.parametrize(
    ("transform", "rows", "why"),
    [
        (Louder, ROWS, "KeyError: 'column'"),
        (SecondRowOnly, ROWS - 1, "KeyError: 'column'"),
        (DeclinesNothing, ROWS, "ValueError: RowsDeclined declines no row"),
        (LosesRows, ROWS, "ValueError: 2 records came out of 7"),
        (GivesNoBatch, ROWS, "TypeError"),
    ],
)
def test_a_transform_that_raises_for_columns_is_counted_and_changes_no_outcome(
    transform: type[Transform], rows: int, why: str
) -> None:
    receipt = put_texts(chain_spec(KeepingMixed, transform))
    assert receipt.failure is None
    assert [record.value for record in Keeping.kept] == LOUD
    assert told(receipt) == [(transform.__name__, "apply_batch", rows)]
    assert why in receipt.column_faults[0].trace


@pytest.mark.parametrize("predicate", [Picky, PickyBriefly, PickyOddly])
def test_a_predicate_that_raises_for_columns_is_counted_and_changes_no_outcome(predicate: type[Predicate]) -> None:
    receipt = put_texts(chain_spec(KeepingMixed, Louder, predicate))
    assert [record.value for record in Keeping.kept] == PICKED
    assert told(receipt) == [(predicate.__name__, "test_batch", ROWS)]


@pytest.mark.parametrize("task", [KeepingMixed, KeepingColumns])
def test_declining_is_no_fault(task: type[Any]) -> None:
    put_texts(chain_spec(task, DeclinesAll), may_raise=False)
    assert [record.value for record in Keeping.kept] == LOUD


def test_a_converter_that_raises_reading_columns_is_counted_for_each_form() -> None:
    receipt = put_texts(spec_for(KeepingMixed, value_converter=here(BadColumns)))
    assert [record.value for record in Keeping.kept] == [f"v{number}" for number in range(ROWS)]
    assert told(receipt) == [("BadColumns", "decode_parts", ROWS), ("BadColumns", "decode", ROWS)]


def batch_of(values: Sequence[str]) -> Batch:
    return Batch("t", Column(pa.array(values)), key=Column(pa.array(values)))


def test_a_source_counts_transforms_and_converters_that_raise() -> None:
    plain = chain_spec(Given, Louder)
    topics = MemoryTopics()
    receipt = read_all(topics, [batch_of(["a", "b"]), batch_of(["c"])], plain, may_raise=True)
    assert topics.values("t") == [b"a!", b"b!", b"c!"]
    assert told(receipt) == [("Louder", "apply_batch", 3)]

    topics = MemoryTopics()
    spec = spec_for(Given, key_converter=here(BadColumns), value_converter=here(BadColumns))
    receipt = read_all(topics, [batch_of(["a", "b"])], spec, may_raise=True)
    assert [row["key"] for rows in topics.written.values() for row in rows] == [b"a", b"b"]
    assert told(receipt) == [("BadColumns", "encode", 2)]


class FailsInTheEnd(KeepingMixed):
    """Takes everything, then fails."""

    def put_mixed(self, items: Any) -> Any:
        super().put_mixed(items)
        raise OSError("disk gone")


def test_a_split_that_fails_tells_its_faults_too() -> None:
    receipt = put_texts(chain_spec(FailsInTheEnd, Louder))
    assert receipt.failure is not None
    assert told(receipt) == [("Louder", "apply_batch", ROWS)]


def test_a_receipt_stays_small_and_goes_on_through_a_job_of_spark() -> None:
    many = put_texts(chain_spec(KeepingMixed, Louder))
    whole = many.followed_by(many).followed_by(Receipt(column_faults=[ColumnFault("other", "decode", 2, "why")]))
    assert told(whole) == [("Louder", "apply_batch", 2 * ROWS), ("other", "decode", 2)]
    assert len(pickle.dumps(whole.column_faults)) < 4_000
