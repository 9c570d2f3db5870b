"""Executor side of tasks that give or take DataFrames: Parquet files between Spark and the way of the records."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.api.arrow import arrow_type, arrow_value
from penstock.api.errors import PluginError
from penstock.api.record import Record, Schema
from penstock.api.task import SinkTask, SourceItem, SourceTask, Split, Task

from .splits import TaskSpec

FILES = "frame.files"
ROWS = "frame.rows"
SCRATCH_KEY = "spark.scratch.path"
"""Where such files go; needed where driver and executors share no temporary folder."""

_ROWS_AT_ONCE = 10_000


def stores_frames(task: Task) -> bool:
    """Whether a sink task takes DataFrames."""
    return isinstance(task, SinkTask) and type(task).store is not SinkTask.store


def loads_frames(task: Task) -> bool:
    """Whether a source task gives DataFrames."""
    return isinstance(task, SourceTask) and type(task).load is not SourceTask.load


def read_rows(task: SourceTask, split: Split) -> Iterator[SourceItem]:
    """The records of one file that Spark wrote for a batch of a source."""
    with pq.ParquetFile(split.payload[ROWS], coerce_int96_timestamp_unit="us") as file:
        for rows in file.iter_batches(batch_size=_ROWS_AT_ONCE):
            yield from task.records(rows)


def scratch_folder(spec: TaskSpec) -> str:
    """The folder for files between executors and the driver."""
    folder = spec.task_target.settings.get(SCRATCH_KEY)
    return folder or os.path.join(tempfile.gettempdir(), f"penstock-frames-{os.getuid()}")


def gather(records: Iterable[Record], spec: TaskSpec) -> Mapping[str, Any]:
    """Write records to Parquet files, one for each run of records with the same schemas; the state names them."""
    folder = scratch_folder(spec)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    files = []
    for _, run in groupby(records, lambda record: (record.key_schema, record.value_schema)):
        path = os.path.join(folder, f"{uuid.uuid4().hex}.parquet")
        pq.write_table(_table(list(run)), path, compression="zstd")
        files.append(path)
    return {FILES: files}


def _table(records: list[Record]) -> pa.Table:
    first = records[0]
    columns = {
        "topic": pa.array([r.topic for r in records], pa.string()),
        "partition": pa.array([r.partition for r in records], pa.int32()),
        "offset": pa.array([r.offset for r in records], pa.int64()),
        "timestamp": pa.array([r.timestamp for r in records], pa.timestamp("ms", "UTC")),
        "key": _column([r.key for r in records], first.key_schema, first.topic, "keys"),
        "value": _column([r.value for r in records], first.value_schema, first.topic, "values"),
    }
    return pa.table(columns)


def _column(values: list[Any], schema: Schema | None, topic: str, what: str) -> pa.Array:
    try:
        if schema is not None:
            return pa.array([arrow_value(value, schema) for value in values], arrow_type(schema))
        array = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, AttributeError) as error:
        raise PluginError(
            f"The {what} of topic {topic} do not fit into one column: {error}. "
            f"Use a converter with schemas, or a transform that gives them one shape."
        ) from error
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array
