"""Files of long records can be read in small pieces without reading much more."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.topics.interface import RAW_SCHEMA
from penstock.topics.segments import ROW_GROUP_BYTES, ROW_GROUP_ROWS, new_file, write_rows


@pytest.mark.parametrize("length", [1, 2000, 10_000_000])
def test_a_row_group_holds_some_thousand_rows_or_a_few_megabytes(tmp_path: Path, length: int) -> None:
    count = 3 if length > ROW_GROUP_BYTES else 40_000
    values = {"value": pa.array([b"x" * length] * count, RAW_SCHEMA.field("value").type)}
    columns = [values.get(field.name, pa.nulls(count, field.type)) for field in RAW_SCHEMA]
    path = tmp_path / "rows.parquet"
    with new_file(path) as writer:
        write_rows(writer, pa.table(columns, schema=RAW_SCHEMA))
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
    assert sum(groups) == count
    assert all(rows == 1 or (rows <= ROW_GROUP_ROWS and rows * length <= ROW_GROUP_BYTES) for rows in groups)
    assert len(groups) <= 1 + count * max(length + 100, ROW_GROUP_BYTES / ROW_GROUP_ROWS) // ROW_GROUP_BYTES + 1
