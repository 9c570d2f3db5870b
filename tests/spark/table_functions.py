"""Functions that the tests of PythonFunction name in configurations."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api import Record, RetriableError

CALLS: list[int] = []


def shout(record: Record) -> Record | None:
    """Upper case; nothing for an empty text."""
    return record.with_(value=record.value.upper()) if record.value else None


def wrong(record: Record) -> Any:
    """Not what was asked for."""
    return record.value


def doubled(rows: pa.Table) -> pa.Table:
    """Twice the number, without the odd ones."""
    CALLS.append(len(rows))
    even = rows.filter(pc.equal(pc.bit_wise_and(rows.column("n"), 1), 0))
    return even.set_column(even.column_names.index("n"), "n", pc.multiply(even.column("n"), 2))


def picky(rows: pa.Table) -> pa.RecordBatch:
    """Fails at thirteen."""
    if pc.any(pc.equal(rows.column("n"), 13)).as_py():
        raise ValueError("thirteen brings bad luck")
    return rows.to_batches()[0]


def flaky(rows: pa.Table) -> pa.Table:
    """Fails until a single row was tried twice."""
    CALLS.append(len(rows))
    if CALLS.count(1) < 2:
        raise RetriableError("not yet")
    return rows


def timid(rows: pa.Table) -> pa.Table:
    """Fails for many rows at a time, though for none of them."""
    if len(rows) > 2:
        raise ValueError("too many")
    return rows


def tired(rows: pa.Table) -> pa.Table:
    """Fails the first time it gets many rows, as what will pass does."""
    CALLS.append(len(rows))
    if len(CALLS) == 1:
        raise RetriableError("not yet")
    return rows


NOT_A_FUNCTION = 5
