"""Runs one split of a sink task on an executor: read, convert, transform, put."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.api.batch import Batch, Column
from penstock.api.converter import Converter
from penstock.api.record import Header, Record, Schema
from penstock.api.task import SinkContext, SinkTask

from .batchwise import BatchwiseChain, Passing
from .chain import reported_name
from .copies import Copy, copy_of
from .errors import SINK_TASK_CLASS, ErrorHandler, Origin, RecordSkipped, Stage, failure_of
from .frame_files import gather, stores_frames
from .parking import park, unpark
from .splits import Receipt, SinkWork
from .staging import Outbox, RawHeaders
from .steps import Steps
from .timestamps import checked_timestamp, has_negative

_ROWS_A_PIECE = 10_000

Decoded = tuple[Schema | None, Any]
Place = tuple[str, int | None, int | None]
"""Topic, partition and offset of a record as it was read."""


def run(work: SinkWork) -> Receipt:
    """One receipt, whatever happens: an exception becomes its failure."""
    errors = ErrorHandler(work.spec, Outbox(work.topic_partitions, default_count=1))
    receipt = Receipt()
    try:
        with copy_of(work.spec) as copy:
            _Pump(work, copy, errors, receipt).run()
            if errors.fatal is not None:
                raise errors.fatal
    except Exception as error:
        receipt.state = None
        receipt.failure = failure_of(errors.fatal or error)
    receipt.dead_letters = errors.dead_letters.stage(work.stager)
    receipt.skipped, receipt.failed, receipt.retries = errors.skipped, errors.failed, errors.retries
    receipt.error_log = errors.log_lines()
    return receipt


@dataclass(slots=True)
class _Piece:
    """Consecutive rows of one topic partition, and their columns if converters could decode them as such."""

    topic: str
    partition: int
    start: int
    rows: pa.RecordBatch
    batch: Batch | None = None

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


class _Pump:
    """Moves the records of some ranges."""

    def __init__(self, work: SinkWork, copy: Copy, errors: ErrorHandler, receipt: Receipt) -> None:
        self._work = work
        self._copy = copy
        self._errors = errors
        self._receipt = receipt
        self._pieces: list[_Piece] = []
        self._moved: dict[Place, tuple[str, int | None]] = {}
        self._steps = Steps("read", "convert", "transform", "put")
        self._header_name = reported_name(copy.header_converter)
        takes_many = copy.chain.takes_many
        self._many = BatchwiseChain(copy.chain, errors, self._origin_at) if takes_many else None

    def run(self) -> None:
        task: SinkTask = self._copy.task
        spec = self._work.spec
        task.context = SinkContext(spec.connector, spec.task, self._work.state, self._report)
        with self._steps.recorded(self._receipt):
            self._read()
            if self._many is not None and self._park(self._many):
                return
            if stores_frames(task):
                self._receipt.state = gather(self._records(), spec)
            elif self._by_columns():
                self._receipt.state = task.put_batches(self._batches())
            elif type(task).put is SinkTask.put:
                self._receipt.state = task.put_batches(_as_batches(self._records()))
            else:
                self._receipt.state = task.put(self._records())
            self._steps.next("put")

    def _read(self) -> None:
        for wanted in self._work.ranges:
            for first, table in self._work.reader.read(wanted):
                for rows in table.to_batches():
                    self._pieces.append(_Piece(wanted.topic, wanted.partition, first, rows))
                    self._receipt.read += len(rows)
                    self._receipt.bytes += rows.column("key").nbytes + rows.column("value").nbytes
                    first += len(rows)
        self._steps.next("read")

    def _park(self, many: BatchwiseChain[Place]) -> bool:
        """Whether the records now wait in front of a link that needs Spark."""
        place = many.frame_link(self._first_link)
        if place is None or not self._pieces:
            return False
        passing = [item for items in self._passing(many) for item in items]
        self._receipt.parked = park(many, place, self._copy.chain.links[place], passing, self._work.spec)
        self._receipt.filtered += many.dropped
        self._steps.next("transform")
        return True

    @property
    def _first_link(self) -> int:
        resumed = self._work.resumed
        return 0 if resumed is None else resumed.parked.place + 1

    def _passing(self, many: BatchwiseChain[Place]) -> Iterator[list[Passing[Place]]]:
        """The records at the end of the chain, or in front of the next link that needs Spark."""
        resumed = self._work.resumed
        if resumed is not None:
            link = self._copy.chain.links[resumed.parked.place]
            yield many.run(unpark(many, link, resumed), self._first_link)
            return
        for piece in self._small_pieces():
            records = self._convert_rows(piece)
            self._steps.next("convert")
            yield many.run([Passing(r, (r.topic, r.partition, r.offset)) for r in records])
            self._steps.next("transform")

    def _records_of_many(self, many: BatchwiseChain[Place]) -> Iterator[Record]:
        for passing in self._passing(many):
            self._receipt.written += len(passing)
            self._receipt.filtered += many.dropped
            many.dropped = 0
            for item in passing:
                self._remember_move(item.before, item.record)
                yield item.record

    def _by_columns(self) -> bool:
        """Whether every piece could be decoded as columns for a task that takes them."""
        if len(self._copy.chain) or type(self._copy.task).put_batches is SinkTask.put_batches:
            return False
        for piece in self._pieces:
            piece.batch = self._decode_piece(piece)
            if piece.batch is None:
                return False
        self._steps.next("convert")
        return True

    def _decode_piece(self, piece: _Piece) -> Batch | None:
        rows = piece.rows
        if piece.has_headers or has_negative(rows.column("timestamp")):
            return None
        value = _decode(self._copy.value_converter, piece.topic, rows.column("value"))
        key = None if value is None else _decode(self._copy.key_converter, piece.topic, rows.column("key"))
        if value is None or key is None:
            return None
        return Batch(
            topic=piece.topic,
            value=value,
            key=key,
            partition=pa.repeat(pa.scalar(piece.partition, pa.int32()), len(rows)),
            timestamp=rows.column("timestamp"),
            offset=pa.array(np.arange(piece.start, piece.start + len(rows), dtype=np.int64)),
        )

    def _batches(self) -> Iterator[Batch]:
        for piece in self._pieces:
            if piece.batch is not None and len(piece.batch):
                self._receipt.written += len(piece.batch)
                self._steps.next("put")
                yield piece.batch

    def _records(self) -> Iterator[Record]:
        """Every record that survives, in order. A piece is converted as a whole before its first record is put."""
        if self._many is not None:
            yield from self._records_of_many(self._many)
            return
        for piece in self._small_pieces():
            records = self._convert_rows(piece)
            self._receipt.written += len(records)
            yield from records

    def _small_pieces(self) -> Iterator[_Piece]:
        for piece in self._pieces:
            for start in range(0, len(piece.rows), _ROWS_A_PIECE):
                rows = piece.rows.slice(start, _ROWS_A_PIECE)
                self._steps.next("put")
                yield _Piece(piece.topic, piece.partition, piece.start + start, rows)

    def _convert_rows(self, piece: _Piece) -> list[Record]:
        keys = self._cells(self._copy.key_converter, Stage.KEY_CONVERTER, piece, "key")
        values = self._cells(self._copy.value_converter, Stage.VALUE_CONVERTER, piece, "value")
        has_headers = piece.has_headers
        chained = len(self._copy.chain) > 0 and self._many is None
        records = []
        for row, timestamp in enumerate(piece.rows.column("timestamp").to_pylist()):
            origin = partial(piece.origin, row)
            try:
                key_schema, key = keys(row)
                value_schema, value = values(row)
                headers = self._convert_headers(piece, row, origin) if has_headers else ()
                offset = piece.start + row
                if timestamp is not None and timestamp < 0:
                    timestamp = checked_timestamp(timestamp)
                record: Record | None = Record(
                    value, key, piece.topic, piece.partition, value_schema, key_schema, headers, timestamp, offset
                )
                if chained:
                    record = self._transform(record, origin)
            except RecordSkipped:
                continue
            if record is None:
                self._receipt.filtered += 1
            else:
                records.append(record)
        self._steps.next("convert")
        return records

    def _transform(self, record: Any, origin: Callable[[], Origin]) -> Record | None:
        self._steps.next("convert")
        changed = self._copy.chain.apply(record, self._errors, origin)
        self._steps.next("transform")
        if changed is not None:
            self._remember_move((record.topic, record.partition, record.offset), changed)
        return changed

    def _remember_move(self, before: Place, changed: Record) -> None:
        if (changed.topic, changed.partition) != before[:2]:
            self._moved[(changed.topic, changed.partition, changed.offset)] = before[:2]

    def _cells(self, converter: Converter, stage: Stage, piece: _Piece, name: str) -> Callable[[int], Decoded]:
        """Looks up the converted key or value of a row: the whole column at once where that works."""
        column = _decode(converter, piece.topic, piece.rows.column(name))
        if column is not None:
            schema, values = column.schema, column.array.to_pylist()
            return lambda row: (schema, values[row])
        cells = piece.rows.column(name).to_pylist()
        reported = reported_name(converter)

        def convert(row: int) -> Decoded:
            try:
                return converter.to_data(piece.topic, cells[row])
            except Exception as error:
                again = partial(converter.to_data, piece.topic, cells[row])
                return self._errors.recover(error, stage, reported, again, partial(piece.origin, row))

        return convert

    def _convert_headers(self, piece: _Piece, row: int, origin: Callable[[], Origin]) -> Sequence[Header]:
        headers = []
        for name, data in piece.raw_headers(row):
            call = partial(self._copy.header_converter.to_header, piece.topic, name, data)
            try:
                schema, value = call()
            except Exception as error:
                schema, value = self._errors.recover(error, Stage.HEADER_CONVERTER, self._header_name, call, origin)
            headers.append(Header(name, value, schema))
        return headers

    def _report(self, record: Record, error: Exception) -> None:
        """What ``context.report`` does: the task could not put this record."""
        self._errors.record_failed(error, Stage.TASK_PUT, SINK_TASK_CLASS, self._origin_of(record))

    def _origin_of(self, record: Record) -> Origin:
        place = (record.topic, record.partition, record.offset)
        return self._find((*self._moved.get(place, place[:2]), record.offset)) or self._made_up(record)

    def _origin_at(self, place: Place) -> Origin:
        return self._find(place) or Origin(*place)

    def _find(self, place: Place) -> Origin | None:
        topic, partition, offset = place
        for piece in self._pieces:
            if (
                (piece.topic, piece.partition) == (topic, partition)
                and offset is not None
                and 0 <= offset - piece.start < len(piece.rows)
            ):
                return piece.origin(offset - piece.start)
        return None

    def _made_up(self, record: Record) -> Origin:
        """For a record that the task made itself: its bytes come from the converters."""
        copy = self._copy
        return Origin(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            timestamp=record.timestamp,
            key=copy.key_converter.from_data(record.topic, record.key_schema, record.key),
            value=copy.value_converter.from_data(record.topic, record.value_schema, record.value),
            headers=[
                (h.key, copy.header_converter.from_header(record.topic, h.key, h.schema, h.value))
                for h in record.headers
            ],
        )


def _decode(converter: Converter, topic: str, data: pa.Array) -> Column | None:
    """The column; ``None`` also when a value fails, so that the row path finds out which one."""
    try:
        return converter.decode(topic, data)
    except Exception:
        return None


def _as_batches(records: Iterable[Record]) -> Iterator[Batch]:
    """Records as columns, for a task that takes nothing else; runs of one topic and schema become one batch."""
    for (topic, key_schema, value_schema), run in groupby(records, lambda r: (r.topic, r.key_schema, r.value_schema)):
        rows = list(run)
        yield Batch(
            topic=topic,
            value=Column(pa.array([r.value for r in rows]), value_schema),
            key=Column(pa.array([r.key for r in rows]), key_schema),
            partition=pa.array([r.partition for r in rows], pa.int32()),
            timestamp=pa.array([r.timestamp for r in rows], pa.int64()),
            offset=pa.array([r.offset for r in rows], pa.int64()),
        )
