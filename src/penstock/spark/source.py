"""Runs one split of a source task on an executor: read, transform, convert, stage."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.batch import Batch
from penstock.api.errors import DataError, PluginError
from penstock.api.record import Record, Schema
from penstock.api.task import Progress, SourceItem, TransactionEnd
from penstock.topics.errors import MissingTopics

from .batchwise import BatchwiseChain, Passing
from .chain import keeps_pace, reported_name
from .column_faults import ColumnFaults
from .columns import ColumnChain, Group, Passed, Rows, encode_whole
from .copies import Copy, copy_of
from .endings import ONLY_ITS_OWN, Endings
from .errors import SOURCE_WORKER_CLASS, ErrorHandler, Origin, RecordSkipped, Stage, failure_of
from .frame_files import loads_frames, read_rows
from .parking import park, unpark
from .splits import Receipt, SourceWork
from .staging import Outbox, RawHeaders, RawRecord, staged_table, table_of
from .steps import Steps
from .timestamps import checked_timestamp, has_negative

_RECORDS_AT_ONCE = 10_000
_TOPIC_NAME = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}\Z")


def run(work: SourceWork) -> Receipt:
    """One receipt, whatever happens: an exception becomes its failure."""
    errors = ErrorHandler(work.spec, Outbox(work.topic_partitions, default_count=1))
    receipt, faults = Receipt(), ColumnFaults()
    try:
        with copy_of(work.spec) as copy:
            _Pump(work, copy, errors, receipt, faults).run()
    except MissingTopics as error:
        return Receipt(missing_topics=error.topics)
    except Exception as error:
        receipt.staged, receipt.progress, receipt.ended = (), (), ()
        receipt.failure = failure_of(error)
    receipt.dead_letters = errors.dead_letters.stage(work.stager)
    receipt.skipped, receipt.failed, receipt.retries = errors.skipped, errors.failed, errors.retries
    receipt.error_log = errors.log_lines()
    receipt.column_faults = faults.found()
    return receipt


class _Pump:
    """Moves the records of one split."""

    def __init__(
        self, work: SourceWork, copy: Copy, errors: ErrorHandler, receipt: Receipt, faults: ColumnFaults
    ) -> None:
        self._work = work
        self._copy = copy
        self._errors = errors
        self._receipt = receipt
        self._faults = faults
        self._outbox = self._new_outbox()
        self._progress: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
        self._steps = Steps("read", "transform", "convert", "write")
        self._chain = copy.chain if len(copy.chain) else None
        self._current = Record()
        self._current_origin = lambda: self._origin(self._current)
        self._key_name = reported_name(copy.key_converter)
        self._value_name = reported_name(copy.value_converter)
        self._header_name = reported_name(copy.header_converter)
        self._known_topics: set[str] = set()
        takes_many = copy.chain.takes_many
        self._many = BatchwiseChain(copy.chain, errors, self._origin, faults) if takes_many else None
        self._endings = self._may_end()
        self._told = 0
        self._waiting: list[Passing[Record]] = []
        self._columns = ColumnChain(copy.chain, faults)
        self._by_columns = self._columns.usable and keeps_pace(copy.value_converter, "from_data", "encode")

    def run(self) -> None:
        with self._steps.recorded(self._receipt):
            if self._work.resumed is None:
                self._read()
            if self._many is not None:
                self._finish_many(self._many)
            if self._endings is not None:
                self._receipt.ended = self._endings.stage(self._work.stager, self._outbox)
            self._receipt.staged = self._outbox.stage(self._work.stager)
            self._receipt.progress = list(self._progress.values())
            self._steps.next("write")

    def _read(self) -> None:
        for item in self._items():
            if isinstance(item, Progress):
                self._progress[repr(sorted(item.partition.items()))] = (item.partition, item.offset)
                self._told = self._receipt.read
            elif isinstance(item, Batch):
                self._receipt.read += len(item)
                self._take_batch(item)
            elif isinstance(item, TransactionEnd):
                self._end_transaction(item)
            else:
                self._receipt.read += 1
                self._add(self._take(item))

    def _new_outbox(self) -> Outbox:
        return Outbox(self._work.topic_partitions, self._work.spec.default_topic_partitions)

    def _may_end(self) -> Endings | None:
        if self._work.ending is None:
            return None
        place = None if self._many is None else self._many.frame_link(0)
        if place is not None:
            link = type(self._copy.chain.links[place].transform).__name__
            raise PluginError(
                f"The transform {link} needs Spark, which takes the records of a batch together: it cannot be used "
                "with transaction.boundary=connector"
            )
        return Endings(self._work.ending)

    def _end_transaction(self, how: TransactionEnd) -> None:
        if self._endings is None:
            if how is TransactionEnd.ABORT:
                raise PluginError(ONLY_ITS_OWN)
            return
        if self._told != self._receipt.read:
            raise PluginError(
                "A source that ends a transaction first yields the Progress that its last record has made: the two are "
                "committed together"
            )
        if self._many is not None:
            self._finish_many(self._many)
        self._endings.close(how, self._outbox, list(self._progress.values()))
        self._outbox, self._progress = self._new_outbox(), {}

    def _finish_many(self, many: BatchwiseChain[Record]) -> None:
        """Take the records that wait for others to the end of the chain, or to the next link that needs Spark."""
        first, passing, resumed = 0, self._waiting, self._work.resumed
        if resumed is not None:
            first = resumed.parked.place + 1
            passing = unpark(many, self._copy.chain.links[resumed.parked.place], resumed)
        self._waiting = []
        left = many.run(passing, first)
        self._receipt.filtered += many.dropped
        many.dropped = 0
        self._steps.next("transform")
        place = many.frame_link(first)
        if place is not None and left:
            self._receipt.parked = park(many, place, self._copy.chain.links[place], left, self._work.spec)
            return
        for item in left:
            self._current = item.before
            self._add(self._keep(item.record))

    def _items(self) -> Iterator[SourceItem]:
        task, split = self._copy.task, self._work.split
        items = iter(read_rows(task, split) if loads_frames(task) else task.read(split))
        while True:
            self._steps.skip()
            try:
                item = next(items)
            except StopIteration:
                return
            finally:
                self._steps.next("read")
            yield item

    def _take_batch(self, batch: Batch) -> None:
        """Transform, convert and keep a batch, as columns as far as they go."""
        if not self._by_columns:
            for record in batch.records():
                self._add(self._take(record))
            return
        for start in range(0, len(batch), _RECORDS_AT_ONCE):
            self._take_columns(batch.slice(start, _RECORDS_AT_ONCE))

    def _take_columns(self, batch: Batch) -> None:
        passed = self._columns.run([Group(np.arange(len(batch)), batch)])
        self._steps.next("transform")
        tables: dict[str, list[tuple[Rows, pa.Table]]] = {}
        encoded = [(group, table) for group in passed.groups if (table := self._encode(group.batch)) is not None]
        for group, table in encoded:
            tables.setdefault(group.batch.topic, []).append((group.rows, table))
            self._receipt.written += len(group.rows)
        self._receipt.filtered += passed.dropped_count
        self._steps.next("convert")
        rest = Passed([group for group, _ in encoded], passed.dropped).rest(len(batch))
        for topic, found in self._take_rows(batch, rest).items():
            numbers = np.array([number for number, _ in found])
            tables.setdefault(topic, []).append((numbers, table_of(record for _, record in found)))
        for topic, parts in tables.items():
            self._outbox.add_tables(topic, parts)

    def _take_rows(self, batch: Batch, rows: Rows) -> dict[str, list[tuple[int, RawRecord]]]:
        """What of some rows of a batch is left when they go one by one, by topic."""
        found: dict[str, list[tuple[int, RawRecord]]] = {}
        if len(rows):
            for number, record in zip(rows.tolist(), batch.take(pa.array(rows)).records(), strict=True):
                raw = self._take(record)
                if raw is not None:
                    found.setdefault(raw.topic, []).append((number, raw))
        return found

    def _encode(self, batch: Batch) -> pa.Table | None:
        """A batch in bytes; ``None`` when that is not possible, or not for all of it."""
        if not self._is_legal(batch.topic) or has_negative(batch.timestamp):
            return None
        value = encode_whole(self._copy.value_converter, batch.topic, batch.value, self._faults)
        key = None if value is None else self._encode_key(batch)
        headers = self._encode_headers(batch)
        if value is None or key is None or headers is None:
            return None
        now = pa.scalar(_now(), pa.int64())
        timestamp = pa.repeat(now, len(batch)) if batch.timestamp is None else batch.timestamp.fill_null(now)
        for column in (key, value):
            self._receipt.bytes += pc.sum(pc.binary_length(column), min_count=0).as_py()
        return staged_table(key, value, timestamp, batch.partition, headers)

    def _encode_headers(self, batch: Batch) -> RawHeaders | None:
        """The headers that all records share; ``None`` when one fails, which then each record reports."""
        convert = self._copy.header_converter.from_header
        found: list[tuple[str, bytes | None]] = []
        for name, value, schema in batch.headers:
            # No column form: an exception is the plain answer to a bad header, and comes again for each record.
            try:
                found.append((name, convert(batch.topic, name, schema, value)))
            except Exception:
                return None
        return found

    def _encode_key(self, batch: Batch) -> pa.Array | None:
        if batch.key is not None:
            return encode_whole(self._copy.key_converter, batch.topic, batch.key, self._faults)
        # As for headers: a converter that refuses null says so to each record.
        try:
            nothing = self._copy.key_converter.from_data(batch.topic, None, None)
        except Exception:
            return None
        return pa.repeat(pa.scalar(nothing, pa.binary()), len(batch))

    def _take(self, record: Record) -> RawRecord | None:
        """Transform and convert one record, unless it is dropped, fails and is tolerated, or waits for others."""
        if self._many is not None:
            self._wait(record, self._many)
            return None
        self._current = record
        if self._chain is not None:
            try:
                changed = self._chain.apply(record, self._errors, self._current_origin)
            except RecordSkipped:
                return None
            self._steps.next("transform")
            if changed is None:
                self._receipt.filtered += 1
                return None
            record = changed
        return self._keep(record)

    def _wait(self, record: Record, many: BatchwiseChain[Record]) -> None:
        self._waiting.append(Passing(record, record))
        if len(self._waiting) >= _RECORDS_AT_ONCE and many.frame_link(0) is None:
            self._finish_many(many)

    def _keep(self, record: Record) -> RawRecord | None:
        """Convert one record that passed the chain."""
        try:
            headers, key, value = self._convert(record)
            if record.topic not in self._known_topics and not self._is_legal(record.topic):
                self._refuse_topic(record.topic)
        except RecordSkipped:
            return None
        timestamp = record.timestamp
        if timestamp is not None and timestamp < 0:
            timestamp = checked_timestamp(timestamp)
        if timestamp is None:
            timestamp = _now()
        receipt = self._receipt
        receipt.written += 1
        receipt.bytes += (0 if key is None else len(key)) + (0 if value is None else len(value))
        self._steps.next("convert")
        return RawRecord(record.topic, key, value, headers, timestamp, record.partition)

    def _add(self, record: RawRecord | None) -> None:
        if record is not None:
            self._outbox.add(*record)

    def _convert(self, record: Record) -> tuple[RawHeaders, bytes | None, bytes | None]:
        headers = self._convert_headers(record) if record.headers else ()
        copy, topic, origin = self._copy, record.topic, self._current_origin
        try:
            key = copy.key_converter.from_data(topic, record.key_schema, record.key)
        except Exception as error:
            again = partial(copy.key_converter.from_data, topic, record.key_schema, record.key)
            key = self._errors.recover(error, Stage.KEY_CONVERTER, self._key_name, again, origin)
        try:
            value = copy.value_converter.from_data(topic, record.value_schema, record.value)
        except Exception as error:
            again = partial(copy.value_converter.from_data, topic, record.value_schema, record.value)
            value = self._errors.recover(error, Stage.VALUE_CONVERTER, self._value_name, again, origin)
        return headers, key, value

    def _convert_headers(self, record: Record) -> RawHeaders:
        convert, origin = self._copy.header_converter.from_header, self._current_origin
        raw = []
        for header in record.headers:
            call = partial(convert, record.topic, header.key, header.schema, header.value)
            try:
                data = call()
            except Exception as error:
                data = self._errors.recover(error, Stage.HEADER_CONVERTER, self._header_name, call, origin)
            raw.append((header.key, data))
        return raw

    def _is_legal(self, topic: str) -> bool:
        if topic not in self._known_topics:
            if not _TOPIC_NAME.match(topic):
                return False
            self._known_topics.add(topic)
        return True

    def _refuse_topic(self, topic: str) -> None:
        error = DataError(
            f"'{topic}' is not a legal topic name: use 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-'",
            "org.apache.kafka.common.errors.InvalidTopicException",
        )
        self._errors.record_failed(error, Stage.KAFKA_PRODUCE, SOURCE_WORKER_CLASS, self._origin(self._current))
        raise RecordSkipped

    def _origin(self, record: Record) -> Origin:
        """The record as the connector gave it, in bytes as far as the converters manage."""
        copy, topic = self._copy, record.topic
        headers = []
        for header in record.headers:
            data = _bytes(copy.header_converter.from_header, header.value, topic, header.key, header.schema)
            headers.append((header.key, data))
        return Origin(
            topic=topic,
            timestamp=record.timestamp,
            key=_bytes(copy.key_converter.from_data, record.key, topic, record.key_schema),
            value=_bytes(copy.value_converter.from_data, record.value, topic, record.value_schema),
            headers=headers,
            record=record,
        )


def _bytes(convert: Callable[..., bytes | None], value: Any, *where: str | Schema | None) -> bytes | None:
    try:
        return convert(*where, value)
    except Exception:
        return str(value).encode("utf-8", "replace")


def _now() -> int:
    return time.time_ns() // 1_000_000
