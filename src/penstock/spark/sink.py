"""Runs one split of a sink task on an executor: read, convert, transform, put."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import pyarrow as pa

from penstock.api.batch import Batch, Column
from penstock.api.record import Record
from penstock.api.task import SinkContext, SinkTask

from .batchwise import BatchwiseChain, Passing
from .column_faults import ColumnFaults
from .columns import ColumnChain, Passed, count_runs, interleaved, merged
from .copies import Copy, copy_of
from .errors import SINK_TASK_CLASS, ErrorHandler, Stage, failure_of
from .frame_files import gather, stores_frames
from .origins import Origins, Place
from .parking import park, unpark
from .pieces import Piece
from .sink_rows import Converted, RowConverter
from .splits import Receipt, SinkWork
from .staging import Outbox
from .steps import Steps

_MAX_RUNS = 200
"""A piece that would fall apart into more batches is put as records."""


def run(work: SinkWork) -> Receipt:
    """One receipt, whatever happens: an exception becomes its failure."""
    errors = ErrorHandler(work.spec, Outbox(work.topic_partitions, default_count=1))
    receipt, faults = Receipt(), ColumnFaults()
    try:
        with copy_of(work.spec) as copy:
            _Pump(work, copy, errors, receipt, faults).run()
            if errors.fatal is not None:
                raise errors.fatal
    except Exception as error:
        receipt.state = None
        receipt.failure = failure_of(errors.fatal or error)
    receipt.dead_letters = errors.dead_letters.stage(work.stager)
    receipt.skipped, receipt.failed, receipt.retries = errors.skipped, errors.failed, errors.retries
    receipt.error_log = errors.log_lines()
    receipt.column_faults = faults.found()
    return receipt


class _Pump:
    """Moves the records of some ranges."""

    def __init__(
        self, work: SinkWork, copy: Copy, errors: ErrorHandler, receipt: Receipt, faults: ColumnFaults
    ) -> None:
        self._work = work
        self._copy = copy
        self._errors = errors
        self._receipt = receipt
        self._faults = faults
        self._coming = self._read()
        self._waiting: list[Piece] = []
        self._batches: list[Batch] = []
        self._dropped = 0
        self._steps = Steps("read", "convert", "transform", "put")
        self._origins = Origins(copy, work.spec.errors)
        takes_many = copy.chain.takes_many
        self._many = BatchwiseChain(copy.chain, errors, self._origins.at, faults) if takes_many else None
        self._columns = ColumnChain(copy.chain, faults)
        chain = None if takes_many else copy.chain
        self._rows = RowConverter(copy, chain, errors, self._origins, self._steps, receipt, faults)

    def run(self) -> None:
        task: SinkTask = self._copy.task
        spec = self._work.spec
        task.context = SinkContext(spec.connector, spec.task, self._work.state, self._report)
        with self._steps.recorded(self._receipt):
            if self._many is not None and self._park(self._many):
                return
            if stores_frames(task):
                self._receipt.state = gather(self._records(), spec)
            elif self._columns.usable and type(task).put_mixed is not SinkTask.put_mixed:
                self._receipt.state = task.put_mixed(self._mixed())
            elif self._by_columns():
                self._receipt.state = task.put_batches(self._prepared())
            elif type(task).put is SinkTask.put:
                self._receipt.state = task.put_batches(_as_batches(self._records()))
            else:
                self._receipt.state = task.put(self._records())
            self._steps.next("put")
            for _ in self._coming:
                self._steps.next("read")

    def _read(self) -> Iterator[Piece]:
        """The pieces of all ranges as they come. A failure ends the work, whatever a task makes of it."""
        try:
            self._work.reader.prepare(self._work.ranges)
            for wanted in self._work.ranges:
                for first, table in self._work.reader.stream(wanted):
                    for rows in table.to_batches():
                        self._receipt.read += len(rows)
                        self._receipt.bytes += rows.column("key").nbytes + rows.column("value").nbytes
                        piece = Piece(wanted.topic, wanted.partition, first, rows)
                        self._origins.read(piece)
                        yield piece
                        first += len(rows)
        except Exception as error:
            self._errors.fatal = error
            raise

    def _every_piece(self) -> Iterator[Piece]:
        """Those that wait, then those to come."""
        waiting, self._waiting = self._waiting, []
        yield from waiting
        while True:
            self._steps.next("put")
            piece = next(self._coming, None)
            self._steps.next("read")
            if piece is None:
                return
            yield piece

    def _read_all(self) -> list[Piece]:
        self._waiting += self._coming
        self._steps.next("read")
        return self._waiting

    def _park(self, many: BatchwiseChain[Place]) -> bool:
        """Whether the records now wait in front of a link that needs Spark."""
        place = many.frame_link(self._first_link)
        if place is None or not self._read_all():
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
            self._read_all()
            link = self._copy.chain.links[resumed.parked.place]
            yield many.run(unpark(many, link, resumed), self._first_link)
            return
        for piece in self._small_pieces():
            records = self._rows.convert(piece).records
            yield many.run([Passing(r, (r.topic, r.partition, r.offset)) for r in records])
            self._steps.next("transform")

    def _records_of_many(self, many: BatchwiseChain[Place]) -> Iterator[Record]:
        for passing in self._passing(many):
            self._receipt.written += len(passing)
            self._receipt.filtered += many.dropped
            many.dropped = 0
            for item in passing:
                self._origins.move(item.before, item.record)
                yield item.record

    def _by_columns(self) -> bool:
        """Whether every record could become columns, for a task that takes them; they then are in ``_batches``."""
        if not self._columns.usable or type(self._copy.task).put_batches is SinkTask.put_batches:
            return False
        for piece in self._read_all():
            passed = self._pass_columns(piece)
            groups = merged(passed.groups, self._faults)
            if len(groups) > 1 or len(passed.rest(len(piece.rows))) or any(group.batch.headers for group in groups):
                return False
            self._batches += [group.batch for group in groups]
            self._dropped += passed.dropped_count
        return True

    def _prepared(self) -> Iterator[Batch]:
        self._receipt.filtered += self._dropped
        for batch in self._batches:
            self._receipt.written += len(batch)
            self._steps.next("put")
            yield batch

    def _mixed(self) -> Iterator[Batch | Record]:
        """Every record that survives, in order, as columns where it can be. Pieces as in ``_records``.

        After a piece that had to be put as records, the next ones do not try columns, more and more of them.
        """
        torn = plain = 0
        for piece in self._small_pieces():
            plain -= 1
            passed = self._pass_columns(piece) if plain < 0 else Passed()
            groups = merged(passed.groups, self._faults)
            rest = passed.rest(len(piece.rows))
            found = self._rows.convert(piece, rest) if len(rest) else Converted([], [])
            if count_runs(groups, found.rows) > _MAX_RUNS:
                found = found.joined([self._rows.convert(piece, group.rows) for group in groups])
                groups = []
                torn += 1
                plain = 1 << min(torn, 6)
            self._receipt.filtered += passed.dropped_count
            self._receipt.written += sum(len(group.rows) for group in groups) + len(found.records)
            yield from interleaved(groups, found.rows, found.records)

    def _pass_columns(self, piece: Piece) -> Passed:
        """What of a piece can be converted and transformed as columns."""
        groups = piece.columns(self._copy, self._faults)
        self._steps.next("convert")
        passed = self._columns.run(groups)
        for group in passed.groups:
            self._origins.move_batch(piece.topic, group.batch)
        self._steps.next("transform")
        return passed

    def _records(self) -> Iterator[Record]:
        """Every record that survives, in order. A piece is converted as a whole before its first record is put."""
        if self._many is not None:
            yield from self._records_of_many(self._many)
            return
        for piece in self._small_pieces():
            records = self._rows.convert(piece).records
            self._receipt.written += len(records)
            yield from records

    def _small_pieces(self) -> Iterator[Piece]:
        for piece in self._every_piece():
            for small in piece.small():
                self._steps.next("put")
                yield small

    def _report(self, record: Record, error: Exception) -> None:
        """What ``context.report`` does: the task could not put this record."""
        self._errors.record_failed(error, Stage.TASK_PUT, SINK_TASK_CLASS, self._origins.of(record))


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
