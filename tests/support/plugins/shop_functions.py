"""Functions for PythonFunction, as a user has them in plugin.path."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api import Record


def greet(record: Record) -> Record:
    """Adds a greeting."""
    return record.with_(value={**record.value, "greeting": f"Hello {record.value['name']}"})


def expensive(rows: pa.Table) -> pa.Table:
    """Keeps what costs more than ten."""
    return rows.filter(pc.greater(rows.column("amount"), 10))
