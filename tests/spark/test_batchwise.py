"""Transforms that take many records at a time: every record gets what it would have got alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from penstock.api import ConfigError, Record
from penstock.runtime.plugins import PluginKind, Plugins
from penstock.spark.splits import ErrorPolicy, PluginRef, Receipt, TaskSpec, TransformRef
from penstock.transforms.python_function import PythonFunction
from tests.spark import table_functions

from .pumping import Given, Keeping, MemoryTopics, put_all, read_all, spec_for

TOLERANT = ErrorPolicy(tolerate_all=True, dead_letter_topic="dead", dead_letter_headers=True)
JSON = PluginRef("penstock.converters.json.converter:JsonConverter", {"schemas.enable": "false"})


def function(name: str, takes: str = "table", predicate: PluginRef | None = None) -> TransformRef:
    settings = {"function": f"tests.spark.table_functions:{name}", "takes": takes}
    target = "penstock.transforms.python_function:PythonFunction"
    return TransformRef(name, PluginRef(target, settings), predicate)


def spec_of(task: type[Any], *links: TransformRef, errors: ErrorPolicy | None = None) -> TaskSpec:
    return replace(spec_for(task, errors=errors), value_converter=JSON, transforms=links)


def put(
    values: list[Any], *links: TransformRef, errors: ErrorPolicy | None = None, may_raise: bool = False
) -> tuple[Receipt, list[Any]]:
    topics = MemoryTopics()
    where = topics.store("t", [{"value": None if value is None else json.dumps(value).encode()} for value in values])
    receipt = put_all(topics, [where], spec_of(Keeping, *links, errors=errors), may_raise=may_raise)
    return receipt, [record.value for record in Keeping.kept]


def numbers(*found: int) -> list[dict[str, int]]:
    return [{"n": n} for n in found]


def test_a_function_gets_all_records_at_once() -> None:
    table_functions.CALLS.clear()
    receipt, found = put(numbers(*range(10)), function("doubled"))
    assert found == numbers(0, 4, 8, 12, 16)
    assert (receipt.read, receipt.written, receipt.filtered) == (10, 5, 5)
    assert [record.offset for record in Keeping.kept] == [0, 2, 4, 6, 8]
    assert table_functions.CALLS == [10]


def test_tombstones_and_spared_records_keep_their_place() -> None:
    small = PluginRef("tests.spark.test_batchwise:IsSmall")
    receipt, found = put([{"n": 2}, None, {"n": 20}, {"n": 3}, {"n": 4}], function("doubled", predicate=small))
    assert found == [{"n": 4}, None, {"n": 20}, {"n": 8}]
    assert receipt.filtered == 1


def test_a_bad_record_costs_itself() -> None:
    receipt, found = put(numbers(*range(40)), function("picky"), function("doubled"), errors=TOLERANT)
    assert found == numbers(*(2 * n for n in range(0, 40, 2)))
    assert (receipt.skipped, receipt.filtered) == (1, 19)


def test_without_tolerance_it_fails_the_task() -> None:
    receipt, _ = put(numbers(12, 13), function("picky"))
    assert receipt.failure is not None
    assert "ValueError: thirteen brings bad luck" in receipt.failure.trace


def test_what_may_succeed_later_is_tried_again() -> None:
    table_functions.CALLS.clear()
    policy = ErrorPolicy(retry_timeout_ms=5000, retry_delay_max_ms=1)
    receipt, found = put(numbers(1), function("flaky"), errors=policy)
    assert (found, receipt.retries) == (numbers(1), 1)


def test_a_table_that_is_refused_though_none_of_its_records_is_counts_as_a_fault() -> None:
    receipt, found = put(numbers(*range(7)), function("timid"), may_raise=True)
    assert found == numbers(*range(7))
    (fault,) = receipt.column_faults
    assert (fault.form, fault.rows) == ("apply_rows", 7)
    assert fault.plugin.endswith("PythonFunction")
    assert "ValueError: too many" in fault.trace
    topics = MemoryTopics()
    records = [Record({"n": n}, str(n), "t") for n in range(7)]
    receipt = read_all(topics, records, spec_of(Given, function("timid")), may_raise=True)
    assert [(fault.form, fault.rows) for fault in receipt.column_faults] == [("apply_rows", 7)]


def test_a_table_that_passes_later_or_of_which_a_record_is_to_blame_is_no_fault() -> None:
    table_functions.CALLS.clear()
    receipt, found = put(numbers(1, 2, 3, 4), function("tired"))
    assert (found, table_functions.CALLS) == (numbers(1, 2, 3, 4), [4, 2, 2])
    receipt, found = put(numbers(12, 13, 14), function("picky"), errors=TOLERANT)
    assert (found, receipt.skipped, receipt.column_faults) == (numbers(12, 14), 1, [])


def test_functions_of_single_records_and_of_tables_mix() -> None:
    _, found = put(["a", "", "b"], function("shout", takes="record"))
    assert found == ["A", "B"]
    hoist = TransformRef("hoist", PluginRef("penstock.transforms.hoist_field:HoistFieldValue", {"field": "n"}))
    _, found = put([4, 5, 6], hoist, function("doubled"))
    assert found == numbers(8, 12)


def test_a_source_does_the_same() -> None:
    topics = MemoryTopics()
    records = [Record({"n": n}, str(n), "t") for n in (*range(25_000), 13)]
    receipt = read_all(topics, records, spec_of(Given, function("picky"), function("doubled"), errors=TOLERANT))
    expected = [2 * n for n in range(0, 25_000, 2)]
    assert [json.loads(value or b"{}")["n"] for value in topics.values("t")] == expected
    assert (receipt.read, receipt.written, receipt.filtered, receipt.skipped) == (25_001, 12_500, 12_499, 2)
    assert topics.values("dead") == [b'{"n":13}'] * 2


def test_what_a_function_returns_is_checked() -> None:
    receipt, _ = put(["a"], function("wrong", takes="record"))
    assert receipt.failure is not None
    assert "table_functions:wrong returned str, not a Record or None" in receipt.failure.trace
    receipt, _ = put(numbers(1), function("shout"))
    assert receipt.failure is not None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("tests.spark.table_functions:nothing", "has no function nothing"),
        ("tests.spark.table_functions:NOT_A_FUNCTION", "has no function NOT_A_FUNCTION"),
        ("no_such_module_anywhere:f", "cannot be imported: ModuleNotFoundError"),
        ("os:_exit", "Functions of Python itself cannot be used"),
        ("/some/file.py", "does not name a function: write module:name"),
        ("", "does not name a function"),
    ],
)
def test_a_wrong_function_is_refused_with_the_reason(path: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        PythonFunction().configure({"function": path})


def test_it_is_found_by_its_name() -> None:
    assert Plugins().find("PythonFunction", PluginKind.TRANSFORMATION).load() is PythonFunction


class IsSmall:
    """Chooses numbers below ten."""

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Nothing to configure."""

    def test(self, record: Record) -> bool:
        return record.value is not None and record.value["n"] < 10
