"""Rows of topics to records, one by one: convert, transform, and have the error policy decide about those that fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from time import perf_counter
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.api.converter import Converter
from penstock.api.record import Header, Record, Schema

from .chain import Chain, reported_name
from .column_faults import ColumnFaults
from .columns import Rows, decode_whole
from .copies import Copy
from .errors import ErrorHandler, Origin, RecordSkipped, Stage
from .origins import Origins
from .pieces import Piece
from .splits import Receipt
from .steps import Steps
from .timestamps import checked_timestamp


class Converted(NamedTuple):
    """Records that survived, and which rows of the piece they were."""

    rows: list[int]
    records: list[Record]

    def joined(self, others: Sequence[Converted]) -> Converted:
        """These and other rows of the piece, in order."""
        everything = [*zip(self.rows, self.records, strict=True)]
        for other in others:
            everything += zip(other.rows, other.records, strict=True)
        everything.sort(key=itemgetter(0))
        return Converted([row for row, _ in everything], [record for _, record in everything])


class _Cells(NamedTuple):
    """Keys or values of rows: already converted, all with one schema, or to be converted with a function."""

    cells: list[Any]
    schema: Schema | None
    convert: Callable[[str, bytes | None], tuple[Schema | None, Any]] | None


class RowConverter:
    """The plain way of a sink's records. ``chain`` is what they pass here, or ``None``."""

    def __init__(
        self,
        copy: Copy,
        chain: Chain | None,
        errors: ErrorHandler,
        origins: Origins,
        steps: Steps,
        receipt: Receipt,
        faults: ColumnFaults,
    ) -> None:
        self._copy = copy
        self._chain = chain if chain is not None and len(chain) else None
        self._errors = errors
        self._origins = origins
        self._steps = steps
        self._receipt = receipt
        self._faults = faults
        self._key_name = reported_name(copy.key_converter)
        self._value_name = reported_name(copy.value_converter)
        self._header_name = reported_name(copy.header_converter)

    def convert(self, piece: Piece, wanted: Rows | None = None) -> Converted:
        """All rows of a piece, or some. Raises :class:`ToleranceExceeded` when the policy says so."""
        rows = piece.rows if wanted is None else piece.rows.take(pa.array(wanted))
        places: Sequence[int] = range(len(rows)) if wanted is None else wanted.tolist()
        keys = _cells(self._copy.key_converter, piece.topic, rows.column("key"), self._faults)
        values = _cells(self._copy.value_converter, piece.topic, rows.column("value"), self._faults)
        timestamps = rows.column("timestamp").to_pylist()
        found = Converted([], [])
        self._steps.next("convert")
        transforming = self._convert(piece, places, keys, values, timestamps, found)
        self._steps.next("convert")
        self._steps.shift("convert", "transform", transforming)
        return found

    def _convert(
        self,
        piece: Piece,
        places: Sequence[int],
        keys: _Cells,
        values: _Cells,
        timestamps: list[int | None],
        found: Converted,
    ) -> float:
        """Convert and transform; returns the seconds that the chain took."""
        topic, partition, start, has_headers = piece.topic, piece.partition, piece.start, piece.has_headers
        key_schema, value_schema, chain = keys.schema, values.schema, self._chain
        seconds, row = 0.0, 0

        def origin() -> Origin:
            return piece.origin(row)

        for row, key, value, timestamp in zip(places, keys.cells, values.cells, timestamps, strict=True):
            try:
                if keys.convert is not None:
                    key_schema, key = self._key(keys.convert, topic, key, origin)
                if values.convert is not None:
                    value_schema, value = self._value(values.convert, topic, value, origin)
                headers = self._headers(piece, row, origin) if has_headers else ()
                if timestamp is not None and timestamp < 0:
                    timestamp = checked_timestamp(timestamp)
                record: Record | None = Record(
                    value, key, topic, partition, value_schema, key_schema, headers, timestamp, start + row
                )
                if chain is not None:
                    began = perf_counter()
                    record = chain.apply(record, self._errors, origin, owned=True)  # type: ignore[arg-type]
                    seconds += perf_counter() - began
            except RecordSkipped:
                continue
            if record is None:
                self._receipt.filtered += 1
                continue
            if record.topic is not topic or record.partition is not partition:
                self._origins.move((topic, partition, start + row), record)
            found.rows.append(row)
            found.records.append(record)
        return seconds

    def _key(self, convert: Any, topic: str, data: bytes | None, origin: Callable[[], Origin]) -> Any:
        try:
            return convert(topic, data)
        except Exception as error:
            again = partial(convert, topic, data)
            return self._errors.recover(error, Stage.KEY_CONVERTER, self._key_name, again, origin)

    def _value(self, convert: Any, topic: str, data: bytes | None, origin: Callable[[], Origin]) -> Any:
        try:
            return convert(topic, data)
        except Exception as error:
            again = partial(convert, topic, data)
            return self._errors.recover(error, Stage.VALUE_CONVERTER, self._value_name, again, origin)

    def _headers(self, piece: Piece, row: int, origin: Callable[[], Origin]) -> Sequence[Header]:
        headers = []
        for name, data in piece.raw_headers(row):
            call = partial(self._copy.header_converter.to_header, piece.topic, name, data)
            try:
                schema, value = call()
            except Exception as error:
                schema, value = self._errors.recover(error, Stage.HEADER_CONVERTER, self._header_name, call, origin)
            headers.append(Header(name, value, schema))
        return headers


def _cells(converter: Converter, topic: str, data: pa.Array, faults: ColumnFaults) -> _Cells:
    """The cells of a column, converted all at once where that works."""
    column = decode_whole(converter, topic, data, faults)
    if column is not None:
        return _Cells(column.values(), column.schema, None)
    return _Cells(data.to_pylist(), None, converter.to_data)
