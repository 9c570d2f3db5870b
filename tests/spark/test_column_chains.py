"""Columns are a faster way to the same outcome: whatever the records, the chain and the errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api import Batch, Record
from penstock.connectors.file.sink import _blocks
from penstock.converters.json import shape_book
from penstock.spark.splits import ErrorPolicy, Receipt, TransformRef

from .chain_cases import (
    DEAD_LETTERS,
    LAST_TIMESTAMP,
    KeepingMixed,
    chains,
    enveloped_lists,
    exact,
    json_spec,
    struct_batches,
    value_lists,
)
from .pumping import Given, Keeping, MemoryTopics, put_all, read_all

_keys = count()


@pytest.fixture(autouse=True)
def _small_batches_take_columns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_book, "FEWEST_ROWS", 1)


class KeepingBlocks(Keeping):
    """Takes columns and records, and keeps what a file sink would write for them."""

    written = b""

    def put_mixed(self, items: Iterable[Record | Batch]) -> Mapping[str, Any] | None:
        KeepingBlocks.written = b"".join(_blocks(items))
        return {}


def sink_outcome(
    task: type[Any],
    values: list[bytes | None],
    transforms: list[TransformRef],
    errors: ErrorPolicy,
    schemas: str = "false",
) -> tuple[Any, ...]:
    """All that can be seen from outside of putting some values."""
    topics = MemoryTopics()
    rows = [{"value": value, "timestamp": 1_700_000_000_000 + at} for at, value in enumerate(values)]
    where = topics.store("t", rows, first=7)
    receipt = put_all(topics, [where], json_spec(task, transforms, errors, f"chain-{next(_keys)}", schemas))
    return [exact(record) for record in Keeping.kept], counts(receipt), topics.written


def counts(receipt: Receipt) -> tuple[Any, ...]:
    failure = None if receipt.failure is None else receipt.failure.trace.splitlines()[:2]
    done = (receipt.read, receipt.written, receipt.filtered, receipt.state) if failure is None else None
    return receipt.skipped, receipt.failed, receipt.retries, list(receipt.error_log), done, failure


@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(value_lists(), chains(), st.sampled_from([DEAD_LETTERS, ErrorPolicy(), ErrorPolicy(tolerate_all=True)]))
def test_a_sink_gets_the_same_records_either_way(
    values: list[bytes | None], transforms: list[TransformRef], errors: ErrorPolicy
) -> None:
    plain = sink_outcome(Keeping, values, transforms, errors)
    assert sink_outcome(KeepingMixed, values, transforms, errors) == plain


@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(enveloped_lists(), chains(), st.sampled_from([DEAD_LETTERS, ErrorPolicy(), ErrorPolicy(tolerate_all=True)]))
def test_a_sink_gets_the_same_records_with_schemas_either_way(
    values: list[bytes | None], transforms: list[TransformRef], errors: ErrorPolicy
) -> None:
    plain = sink_outcome(Keeping, values, transforms, errors, schemas="true")
    assert sink_outcome(KeepingMixed, values, transforms, errors, schemas="true") == plain


def source_outcome(
    items: list[Any], transforms: list[TransformRef], errors: ErrorPolicy, schemas: str
) -> tuple[Any, ...]:
    """All that can be seen from outside of reading some items."""
    topics = MemoryTopics()
    spec = json_spec(Given, transforms, errors, key=f"chain-{next(_keys)}", schemas=schemas)
    receipt = read_all(topics, items, spec)
    for row in (row for rows in topics.written.values() for row in rows):
        if row["timestamp"] > LAST_TIMESTAMP:
            row["timestamp"] = "now"
    return counts(receipt), receipt.bytes if receipt.failure is None else None, topics.written


@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(
    st.lists(struct_batches(), max_size=3),
    chains(),
    st.sampled_from([DEAD_LETTERS, ErrorPolicy(), ErrorPolicy(tolerate_all=True)]),
    st.sampled_from(["true", "false"]),
)
def test_a_source_writes_the_same_records_either_way(
    batches: list[Batch], transforms: list[TransformRef], errors: ErrorPolicy, schemas: str
) -> None:
    records = [record for batch in batches for record in batch.records()]
    plain = source_outcome(records, transforms, errors, schemas)
    assert source_outcome(list(batches), transforms, errors, schemas) == plain


@pytest.mark.integration
@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.tuples(value_lists(), st.just("false")) | st.tuples(enveloped_lists(), st.just("true")), chains())
def test_a_file_gets_the_same_lines_either_way(
    given: tuple[list[bytes | None], str], transforms: list[TransformRef]
) -> None:
    values, schemas = given
    lines = []
    for task in (Keeping, KeepingBlocks):
        _, counted, _ = sink_outcome(task, values, transforms, ErrorPolicy(tolerate_all=True), schemas)
        assert counted[-1] is None
        lines.append(b"".join(_blocks(Keeping.kept)) if task is Keeping else KeepingBlocks.written)
    assert lines[0] == lines[1]
