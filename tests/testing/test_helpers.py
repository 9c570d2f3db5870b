"""The helpers that authors of transforms use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.api import DataError, Predicate, Record, Transform
from penstock.api.record import OPTIONAL_INT64, struct_schema
from penstock.api.transform import TableTransform
from penstock.converters import StringConverter
from penstock.testing import Failed, Step, decoded, encoded, records, run_chain, run_transform
from penstock.transforms.mask_field import MaskFieldValue
from penstock.transforms.sql import Sql


class Half(Transform):
    """Halves even numbers, drops zero."""

    def apply(self, record: Record) -> Record | None:
        if record.value % 2:
            raise DataError(f"{record.value} is odd")
        return record.with_(value=record.value // 2) if record.value else None


class Big(Predicate):
    """Chooses numbers from a limit on."""

    def configure(self, settings: Mapping[str, Any]) -> None:
        self._limit = int(settings["limit"])

    def test(self, record: Record) -> bool:
        return bool(record.value >= self._limit)


class Doubled(TableTransform):
    """Twice the value."""

    def apply_rows(self, rows: pa.Table) -> pa.Table:
        return rows.set_column(rows.column_names.index("_value"), "_value", pc.multiply(rows.column("_value"), 2))


def test_a_transform_runs_on_records() -> None:
    outcome = run_transform(Half, records([4, 0, 8]))
    assert (outcome.values, outcome.dropped, outcome.failed) == ([2, 4], 1, [])
    assert [record.offset for record in outcome.records] == [0, 2]


def test_errors_are_raised_or_kept() -> None:
    with pytest.raises(DataError, match="3 is odd"):
        run_transform(Half, records([2, 3]))
    given = records([2, 3, 4])
    outcome = run_transform(Half, given, tolerance="all")
    assert outcome.values == [1, 2]
    assert [(failed.record, str(failed.error)) for failed in outcome.failed] == [(given[1], "3 is odd")]
    assert isinstance(outcome.failed[0], Failed)
    with pytest.raises(ValueError, match="none or all"):
        run_transform(Half, [], tolerance="some")


def test_a_chain_has_predicates_and_tables() -> None:
    steps = [Doubled, Step(Half, predicate=Big, predicate_settings={"limit": "8"})]
    assert run_chain(steps, records([1, 4, 5])).values == [2, 4, 5]
    negated = Step(Half, predicate=Big, predicate_settings={"limit": "8"}, negate=True)
    assert run_chain([negated], records([4, 9])).values == [2, 9]


def test_values_are_read_and_written_as_in_a_topic() -> None:
    found = decoded(['{"a": 1, "b": "x"}', None, b'{"b": 2}'])
    assert [record.value for record in found] == [{"a": 1, "b": "x"}, None, {"b": 2}]
    assert [record.offset for record in found] == [0, 1, 2]
    masked = run_transform(MaskFieldValue, found[:1], {"fields": "b"})
    assert encoded(masked.records) == [b'{"a":1,"b":""}']
    text = StringConverter()
    text.configure_for({}, is_key=False)
    assert encoded(decoded(["x"], text), text) == [b"x"]


@pytest.mark.integration
def test_sql_needs_nothing_more() -> None:
    schema = struct_schema(("n", OPTIONAL_INT64))
    given = records([{"n": 1}, {"n": 0}, {"n": 4}], schema)
    outcome = run_transform(Sql, given, {"select": "n, 8 / n AS share"}, tolerance="all")
    assert outcome.values == [{"n": 1, "share": 8.0}, {"n": 4, "share": 2.0}]
    assert "DIVIDE_BY_ZERO" in str(outcome.failed[0].error)
