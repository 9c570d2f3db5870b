"""Rows of a topic partition on their way into a sink."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.api.batch import Batch, Column

from .column_faults import ColumnFaults
from .columns import Group, Rows, decode_parts, pairs
from .copies import Copy
from .errors import Origin
from .staging import RawHeaders
from .timestamps import has_negative

_ROWS_A_PIECE = 10_000


@dataclass(slots=True)
class Piece:
    """Consecutive rows of one topic partition."""

    topic: str
    partition: int
    start: int
    rows: pa.RecordBatch

    def small(self) -> Iterator[Piece]:
        """The same rows in pieces of which each is converted as a whole before its first record is put."""
        for start in range(0, len(self.rows), _ROWS_A_PIECE):
            yield Piece(self.topic, self.partition, self.start + start, self.rows.slice(start, _ROWS_A_PIECE))

    def raw_headers(self, row: int) -> RawHeaders:
        headers = self.rows.column("headers")[row].as_py()
        return [(h["key"], h["value"]) for h in headers] if headers else ()

    def origin(self, row: int) -> Origin:
        """One row as it is in the topic."""
        rows = self.rows
        return Origin(
            topic=self.topic,
            partition=self.partition,
            offset=self.start + row,
            timestamp=rows.column("timestamp")[row].as_py(),
            key=rows.column("key")[row].as_py(),
            value=rows.column("value")[row].as_py(),
            headers=self.raw_headers(row),
        )

    @property
    def has_headers(self) -> bool:
        column = self.rows.column("headers")
        return column.null_count < len(column) and len(column.flatten()) > 0

    def columns(self, copy: Copy, faults: ColumnFaults) -> list[Group]:
        """The rows that converters can read as columns, each group with one schema."""
        usable = self._rows_without_headers()
        rows = self.rows if usable is None else self.rows.take(pa.array(usable))
        size = len(rows)
        if has_negative(rows.column("timestamp")):
            return []
        values = decode_parts(copy.value_converter, self.topic, rows.column("value"), faults)
        keys = decode_parts(copy.key_converter, self.topic, rows.column("key"), faults) if values else ()
        places = np.arange(size) if usable is None else usable
        whole = Batch(
            self.topic,
            value=Column(pa.nulls(size)),
            partition=pa.repeat(pa.scalar(self.partition, pa.int32()), size),
            timestamp=rows.column("timestamp"),
            offset=pa.array(places + self.start),
        )
        groups = []
        for chosen, key, value in pairs(keys, values, size):
            part = whole if len(chosen) == size else whole.take(pa.array(chosen))
            groups.append(Group(places[chosen], part.with_(key=key.column, value=value.column)))
        return groups

    def _rows_without_headers(self) -> Rows | None:
        """``None`` when no row has headers."""
        if not self.has_headers:
            return None
        lengths = self.rows.column("headers").value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        return np.flatnonzero(lengths == 0)
