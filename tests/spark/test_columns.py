"""The pieces of which columns' way through a chain is made, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.api import Batch, Column, Converter, Predicate, Record, Transform
from penstock.api.batch import Part
from penstock.api.record import INT64, STRING, Header, Schema
from penstock.api.transform import RowsDeclined
from penstock.spark import columns
from penstock.spark.chain import Chain, Link
from penstock.spark.column_faults import ColumnFaults
from penstock.spark.columns import ColumnChain, Group, Passed, common_type, count_runs, interleaved, merged, pairs


def batch_of(*values: Any, key: Sequence[Any] | None = None, **more: Any) -> Batch:
    return Batch("t", Column(pa.array(values)), None if key is None else Column(pa.array(key)), **more)


def group_of(rows: Sequence[int], *values: Any, **more: Any) -> Group:
    return Group(np.array(rows, np.int64), batch_of(*values, **more))


def shown(groups: Sequence[Group]) -> list[tuple[list[int], list[Any]]]:
    return [(group.rows.tolist(), group.batch.value.array.to_pylist()) for group in groups]


class Adding(Transform):
    """Adds to numbers; drops all where one is 13, declines rows above a hundred, all where one is a thousand."""

    def __init__(self, number: int = 1) -> None:
        self.number = number

    def apply(self, record: Record) -> Record | None:
        raise AssertionError("not here")

    def apply_batch(self, batch: Batch) -> Batch | None:
        values = batch.value.array.to_pylist()
        if 1000 in values:
            return None
        if 13 in values:
            return batch.slice(0, 0)
        if max(values) > 100:
            raise RowsDeclined(pa.array([value > 100 for value in values]))
        return batch.with_(value=Column(pa.array([value + self.number for value in values])))


class Even(Predicate):
    """Chooses even numbers, of zeros all at once, and does not know of a thousand."""

    def test(self, record: Record) -> bool:
        raise AssertionError("not here")

    def test_batch(self, batch: Batch) -> bool | pa.Array | None:
        values = batch.value.array.to_pylist()
        if 1000 in values:
            return None
        return True if set(values) == {0} else pa.array([value % 2 == 0 for value in values])


class ChangedSince(Adding):
    """Changes records otherwise than its column form, which it has from elsewhere."""

    def apply(self, record: Record) -> Record | None:
        raise AssertionError("not here either")


class ChangedWithin(Adding):
    """Changes sides of records otherwise than a column form of such."""

    def change(self, value: Any) -> Any:
        raise AssertionError("not here either")


class OddSince(Even):
    """Chooses otherwise than its column form."""

    def test(self, record: Record) -> bool:
        raise AssertionError("not here either")


def run(links: Sequence[Link], *groups: Group, faults: ColumnFaults | None = None) -> Passed:
    found = faults or ColumnFaults()
    passed = ColumnChain(Chain(links), found).run(groups)
    assert faults is not None or found.found() == []
    return passed


def test_groups_go_through_all_links() -> None:
    passed = run([Link(Adding(1)), Link(Adding(20))], group_of([0, 2], 5, 6), group_of([5], 7))
    assert shown(passed.groups) == [([0, 2], [26, 27]), ([5], [28])]
    assert passed.rest(6).tolist() == [1, 3, 4]
    assert passed.dropped_count == 0


def test_a_predicate_divides_a_group_and_both_sides_go_on() -> None:
    links = [Link(Adding(20), Even()), Link(Adding(1))]
    assert shown(run(links, group_of([0, 1, 2], 2, 3, 4)).groups) == [([0, 2], [23, 25]), ([1], [4])]
    negated = [Link(Adding(20), Even(), negate=True), Link(Adding(1))]
    assert shown(run(negated, group_of([0, 1, 2], 2, 3, 4)).groups) == [([1], [24]), ([0, 2], [3, 5])]


def test_a_predicate_may_answer_for_all_or_not_at_all() -> None:
    assert shown(run([Link(Adding(), Even())], group_of([0, 1], 0, 0)).groups) == [([0, 1], [1, 1])]
    assert shown(run([Link(Adding(), Even(), negate=True)], group_of([0, 1], 0, 0)).groups) == [([0, 1], [0, 0])]
    assert run([Link(Adding(), Even())], group_of([0, 1], 1000, 0)).groups == []


def test_dropped_rows_are_counted_and_those_that_are_declined_are_left() -> None:
    passed = run(
        [Link(Adding())], group_of([0, 1], 13, 1), group_of([2, 3], 1, 500), group_of([4], 1000), group_of([5], 101)
    )
    assert shown(passed.groups) == [([2], [2])]
    assert [rows.tolist() for rows in passed.dropped] == [[0, 1]]
    assert passed.dropped_count == 2
    assert passed.rest(6).tolist() == [3, 4, 5]


def test_a_fault_of_our_own_is_counted_and_costs_only_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    run_group = ColumnChain._run

    def clumsy(self: ColumnChain, group: Group, place: int, passed: Passed) -> None:
        run_group(self, group, place, passed)
        if len(group.rows) == 3:
            raise RuntimeError("three")

    monkeypatch.setattr(ColumnChain, "_run", clumsy)
    faults = ColumnFaults()
    groups = group_of([0], 1), group_of([1, 2, 3], 1, 2, 3), group_of([4], 13)
    passed = run([Link(Adding())], *groups, faults=faults)
    assert (shown(passed.groups), passed.dropped_count, passed.rest(5).tolist()) == ([([0], [2])], 1, [1, 2, 3])
    assert [(fault.form, fault.rows) for fault in faults.found()] == [("ColumnChain.run", 3)]


@pytest.mark.parametrize(
    ("links", "usable"),
    [
        ([], True),
        ([Link(Adding())], True),
        ([Link(Adding(), Even())], True),
        ([Link(ChangedSince())], False),
        ([Link(ChangedWithin())], False),
        ([Link(Adding()), Link(Adding(), OddSince())], False),
        ([Link(ChangedSince(), Even())], False),
    ],
)
def test_a_chain_takes_columns_when_all_their_forms_are_those_of_the_records(links: list[Link], usable: bool) -> None:
    assert ColumnChain(Chain(links), ColumnFaults()).usable is usable


class Texts(Converter):
    """Texts; no column for the topic ``odd``, and a fault for ``broken``."""

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        raise AssertionError("not here")

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        raise AssertionError("not here")

    def decode(self, topic: str, data: pa.Array) -> Column | None:
        if topic == "broken":
            raise LookupError(topic)
        return None if topic == "odd" else Column(data.cast(pa.string()))

    def encode(self, topic: str, column: Column) -> pa.Array | None:
        if topic == "broken":
            raise LookupError(topic)
        return None if topic == "odd" else column.array.cast(pa.binary())


class FirstOnly(Texts):
    """Reads the first row as a column."""

    def decode_parts(self, topic: str, data: pa.Array) -> Sequence[Part]:
        if topic == "broken":
            raise LookupError(topic)
        return [Part(np.array([0]), Column(data.slice(0, 1).cast(pa.string())))]


class ReadsOtherwise(Texts):
    """Reads values otherwise than the column form it inherits."""

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        raise AssertionError("not here either")


class ReadsOtherwiseSince(FirstOnly):
    """The same, with a form for whole columns, but not for parts."""

    def to_data(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        raise AssertionError("not here either")

    def decode(self, topic: str, data: pa.Array) -> Column | None:
        return Column(data.cast(pa.string()))


class WritesOtherwise(Texts):
    """Writes values otherwise than the column form it inherits."""

    def from_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        raise AssertionError("not here either")


BYTES = pa.array([b"a", b"b"])


def test_columns_are_read_as_far_as_a_converter_has_a_form_for_them() -> None:
    faults = ColumnFaults()

    def parts(converter: Converter, topic: str = "t") -> list[tuple[list[int], list[Any]]]:
        found = columns.decode_parts(converter, topic, BYTES, faults)
        return [(part.rows.tolist(), part.column.array.to_pylist()) for part in found]

    assert parts(Texts()) == [([0, 1], ["a", "b"])]
    assert parts(FirstOnly()) == [([0], ["a"])]
    assert parts(ReadsOtherwise()) == parts(ReadsOtherwiseSince()) == parts(Texts(), "odd") == []
    whole = columns.decode_whole(Texts(), "t", BYTES, faults)
    assert whole is not None
    assert whole.array.to_pylist() == ["a", "b"]
    assert columns.decode_whole(ReadsOtherwise(), "t", BYTES, faults) is None
    assert columns.decode_whole(Texts(), "odd", BYTES, faults) is None
    assert faults.found() == []
    assert parts(FirstOnly(), "broken") == []
    assert columns.decode_whole(Texts(), "broken", BYTES, faults) is None
    assert [(fault.form, fault.rows) for fault in faults.found()] == [("decode_parts", 2), ("decode", 2)]


def test_columns_are_written_where_a_converter_has_a_form_for_them() -> None:
    faults, column = ColumnFaults(), Column(pa.array(["a", "b"]))
    written = columns.encode_whole(Texts(), "t", column, faults)
    assert written is not None
    assert written.to_pylist() == [b"a", b"b"]
    assert columns.encode_whole(WritesOtherwise(), "t", column, faults) is None
    assert columns.encode_whole(Texts(), "odd", column, faults) is None
    assert faults.found() == []
    assert columns.encode_whole(Texts(), "broken", column, faults) is None
    assert [(fault.form, fault.rows) for fault in faults.found()] == [("encode", 2)]


def order(groups: Sequence[Group], rows: Sequence[int]) -> list[Any]:
    records = [Record(f"r{row}") for row in rows]
    found = interleaved(groups, rows, records)
    return [item.value.array.to_pylist() if isinstance(item, Batch) else item.value for item in found]


def test_groups_and_records_come_in_the_order_of_their_rows() -> None:
    groups = [group_of([0, 1, 5], 0, 1, 5), group_of([3, 6], 3, 6)]
    assert order(groups, [2, 4, 7, 8]) == [[0, 1], "r2", [3], "r4", [5], [6], "r7", "r8"]
    assert count_runs(groups, [2, 4, 7, 8]) == 7
    assert order(groups, []) == [[0, 1], [3], [5], [6]]
    assert count_runs(groups, []) == 4
    assert order(groups[:1], [2]) == [[0, 1], "r2", [5]]
    assert order([], [1, 2]) == ["r1", "r2"]
    assert order([], []) == []
    (only,) = interleaved(groups[:1], [], [])
    assert only is groups[0].batch, "one group alone is not copied"


def part_of(rows: Sequence[int], *values: Any) -> Part:
    return Part(np.array(rows, np.int64), Column(pa.array(values), STRING))


def test_keys_and_values_meet_where_both_are_columns() -> None:
    def met(keys: Sequence[Part], values: Sequence[Part], size: int) -> list[tuple[list[int], list[Any], list[Any]]]:
        found = []
        for rows, key, value in pairs(keys, values, size):
            assert key.rows.tolist() == value.rows.tolist() == rows.tolist()
            assert key.column.schema == value.column.schema == STRING
            found.append((rows.tolist(), key.column.array.to_pylist(), value.column.array.to_pylist()))
        return found

    whole = part_of([0, 1, 2, 3], "k0", "k1", "k2", "k3")
    values = [part_of([0, 3], "v0", "v3"), part_of([1], "v1")]
    assert met([whole], values, 4) == [([0, 3], ["k0", "k3"], ["v0", "v3"]), ([1], ["k1"], ["v1"])]
    keys = [part_of([0, 1], "k0", "k1"), part_of([3], "k3")]
    assert met(keys, values, 4) == [([0], ["k0"], ["v0"]), ([3], ["k3"], ["v3"]), ([1], ["k1"], ["v1"])]
    assert met([whole], [part_of([0, 1, 2, 3], *"abcd")], 4) == [([0, 1, 2, 3], ["k0", "k1", "k2", "k3"], [*"abcd"])]


def merge(*groups: Group) -> list[Group]:
    faults = ColumnFaults()
    found = merged(list(groups), faults)
    assert faults.found() == []
    return found


def numbers(*values: int) -> pa.Array:
    return pa.array(values, pa.int64())


def test_groups_that_can_share_columns_become_one_in_the_order_of_their_rows() -> None:
    first = group_of([3, 4], {"a": 3}, {"a": None}, key=["k3", "k4"], timestamp=numbers(30, 40), offset=numbers(3, 4))
    second = group_of([1], {"a": None}, key=[None], timestamp=numbers(10), offset=numbers(1))
    third = group_of([0], "text")
    found = merge(first, second, third)
    assert shown(found) == [([1, 3, 4], [{"a": None}, {"a": 3}, {"a": None}]), ([0], ["text"])]
    whole = found[0].batch
    assert whole.key is not None
    assert whole.key.array.to_pylist() == [None, "k3", "k4"]
    assert (whole.timestamp.to_pylist(), whole.offset.to_pylist(), whole.partition) == ([10, 30, 40], [1, 3, 4], None)
    assert whole.topic == "t"
    assert found[1] is third


def test_groups_without_keys_share_columns_with_others() -> None:
    found = merge(group_of([1], 1), group_of([0], 0, key=["k"]), group_of([2], 2))
    assert shown(found) == [([0, 1, 2], [0, 1, 2])]
    assert found[0].batch.key is not None
    assert found[0].batch.key.array.to_pylist() == ["k", None, None]


@pytest.mark.parametrize(
    "other",
    [
        Group(np.array([1]), Batch("u", Column(pa.array([1])))),
        Group(np.array([1]), Batch("t", Column(pa.array([1])), headers=[Header("h", 1)])),
        Group(np.array([1]), Batch("t", Column(pa.array([1]), INT64))),
        Group(np.array([1]), Batch("t", Column(pa.array([1])), Column(pa.array(["k"]), STRING))),
        Group(np.array([1]), Batch("t", Column(pa.array([1])), timestamp=numbers(7))),
        Group(np.array([1]), Batch("t", Column(pa.array([1])), offset=numbers(7))),
        Group(np.array([1]), Batch("t", Column(pa.array([1])), partition=pa.array([7], pa.int32()))),
        Group(np.array([1]), Batch("t", Column(pa.array(["1"])))),
    ],
)
def test_groups_that_differ_stay_apart(other: Group) -> None:
    one = group_of([0], 0)
    assert merge(one, other) == [one, other]
    assert merge(other, one) == [other, one]


def test_keys_without_a_common_type_keep_groups_apart() -> None:
    one, other = group_of([0], 0, key=["k"]), group_of([1], 1, key=[1])
    assert merge(one, other) == [one, other]


def test_groups_are_merged_as_long_as_they_fit_into_one(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, keyed = [group_of([0], 1), group_of([1], 2)], [group_of([0], 1, key=[1]), group_of([1], 2, key=[2])]
    monkeypatch.setattr(columns, "_MAX_BYTES", 16)
    assert len(merge(*plain)) == 1
    assert len(merge(*keyed)) == 2
    monkeypatch.setattr(columns, "_MAX_BYTES", 15)
    assert len(merge(*plain)) == 2
    assert merged(plain[:1], ColumnFaults()) == plain[:1]


def test_groups_that_cannot_be_merged_stay_and_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(groups: list[Group]) -> list[Group]:
        raise RuntimeError("no")

    monkeypatch.setattr(columns, "_merged", broken)
    faults, groups = ColumnFaults(), [group_of([0], 1), group_of([1, 2], 2, 3)]
    assert merged(groups, faults) is groups
    assert [(fault.form, fault.rows) for fault in faults.found()] == [("merged", 3)]


NULL, NUMBER, TEXT = pa.null(), pa.int64(), pa.string()


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (NUMBER, NUMBER, NUMBER),
        (NUMBER, NULL, NUMBER),
        (NULL, NUMBER, NUMBER),
        (NUMBER, TEXT, None),
        (pa.struct([("a", NUMBER)]), NUMBER, None),
        (NUMBER, pa.struct([("a", NUMBER)]), None),
        (pa.struct([("a", NULL)]), pa.struct([("a", NUMBER)]), pa.struct([("a", NUMBER)])),
        (
            pa.struct([("a", NULL), ("b", TEXT)]),
            pa.struct([("a", NUMBER), ("b", NULL)]),
            pa.struct([("a", NUMBER), ("b", TEXT)]),
        ),
        (pa.struct([("a", NUMBER)]), pa.struct([("b", NUMBER)]), None),
        (pa.struct([("a", NUMBER)]), pa.struct([("a", NUMBER), ("b", NUMBER)]), None),
        (pa.struct([("a", NUMBER), ("b", TEXT)]), pa.struct([("a", NUMBER), ("b", NUMBER)]), None),
    ],
)
def test_types_that_hold_the_values_of_both(one: pa.DataType, other: pa.DataType, expected: pa.DataType | None) -> None:
    assert common_type(one, other) == expected
