"""Executor side of links that need Spark: records wait in files while the driver runs the link, then go on."""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.api.errors import DataError
from penstock.api.record import Record
from penstock.api.rows import ROW, Rows, from_rows, is_inferred, to_rows

from .batchwise import BatchwiseChain, Passing
from .chain import Link
from .frame_files import scratch_folder
from .parked import ROW_BITS, Outcome, Parked, ParkedTable, Resumed
from .splits import TaskSpec

_RECORDS = "records.pickle"
_CONTENT = attrgetter(*(field.name for field in fields(Record)))
"""A record as a tuple, which is quicker to write and read than the record."""


def park(many: BatchwiseChain[Any], place: int, link: Link, passing: Sequence[Passing[Any]], spec: TaskSpec) -> Parked:
    """Write records down in front of a link. Those that cannot be rows fail at once."""
    chosen, left = many.choose(link, passing)
    records = [item.record for item in passing]
    tables, bad = to_rows(records, chosen)
    for row in bad:
        many.fail(link, passing[row.number], row.error)
    folder = os.path.join(scratch_folder(spec), uuid.uuid4().hex)
    os.makedirs(folder, mode=0o700)
    with open(os.path.join(folder, _RECORDS), "wb") as file:
        waiting = (
            [_CONTENT(record) for record in records],
            [item.before for item in passing],
            [bool(items) for items in left],
            [rows.numbers for rows in tables],
        )
        pickle.dump(waiting, file, protocol=pickle.HIGHEST_PROTOCOL)
    return Parked(place, folder, [_written(folder, n, rows) for n, rows in enumerate(tables)])


def _written(folder: str, number: int, rows: Rows) -> ParkedTable:
    path = os.path.join(folder, f"rows-{number}.parquet")
    pq.write_table(rows.table, path, compression="zstd")
    return ParkedTable(path, rows.table.schema, is_inferred(rows.table))


def unpark(many: BatchwiseChain[Any], link: Link, resumed: Resumed) -> list[Passing[Any]]:
    """The records behind the link, in order. Rows that failed are reported; rows that are gone were dropped."""
    with open(os.path.join(resumed.parked.folder, _RECORDS), "rb") as file:
        contents, befores, spared, members = pickle.load(file)
    records = [Record(*content) for content in contents]
    left = [
        [Passing(record, before)] if stays else []
        for record, before, stays in zip(records, befores, spared, strict=True)
    ]
    for table, numbers, outcome in zip(resumed.parked.tables, members, resumed.outcomes, strict=True):
        gone = set(numbers)
        if outcome.fault is not None or outcome.faults:
            for number in numbers:
                fault = outcome.fault or outcome.faults.get(number)
                if fault is not None:
                    gone.discard(number)
                    many.fail(
                        link, Passing(records[number], befores[number]), DataError(fault.message, fault.exception)
                    )
        if outcome.files:
            rows = Rows(pq.read_table(table.path), records, numbers)
            for number, record in from_rows(rows, _result(outcome)):
                left[number].append(Passing(record, befores[number]))
                gone.discard(number)
        many.dropped += len(gone)
    return [item for items in left for item in items]


def _result(outcome: Outcome) -> pa.Table:
    """The rows that Spark wrote for one table, in the order of the records."""
    parts = []
    for path in outcome.files:
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            parts.append(file.read())
    table = pa.concat_tables(parts)
    numbers = pc.bit_wise_and(table.column(ROW), (1 << ROW_BITS) - 1)
    table = table.set_column(table.column_names.index(ROW), ROW, numbers)
    places = pa.table({"number": numbers, "place": pa.array(range(len(table)), pa.int64())})
    return table.take(pc.sort_indices(places, [("number", "ascending"), ("place", "ascending")]))
