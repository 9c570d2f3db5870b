"""Chains with links that take many records at a time: the same outcome for each record, whatever travels with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from penstock.api.errors import RetriableError
from penstock.api.record import Record
from penstock.api.rows import Rows, from_rows, to_rows
from penstock.api.transform import FrameTransform, TableTransform

from .chain import Chain, Link, reported_name
from .column_faults import ColumnFaults
from .errors import ErrorHandler, Origin, RecordSkipped, Stage

Before = TypeVar("Before")


@dataclass(slots=True)
class Passing(Generic[Before]):
    """A record on its way; ``before`` is what its caller needs to tell where it came from."""

    record: Record
    before: Before


class BatchwiseChain(Generic[Before]):
    """Takes lists of records through a chain, up to the next link that needs Spark.

    A table that a transform refuses although it takes each of its records is a fault, and counted.
    """

    def __init__(
        self, chain: Chain, errors: ErrorHandler, origin: Callable[[Before], Origin], faults: ColumnFaults
    ) -> None:
        self._links = chain.links
        self._errors = errors
        self._origin = origin
        self._faults = faults
        self.dropped = 0

    def frame_link(self, start: int) -> int | None:
        """The place of the first link from ``start`` on that needs Spark."""
        later = range(start, len(self._links))
        return next((place for place in later if isinstance(self._links[place].transform, FrameTransform)), None)

    def run(self, passing: Sequence[Passing[Before]], start: int = 0) -> list[Passing[Before]]:
        """What is left of the records, in order, after the links from ``start`` to the next that needs Spark."""
        end = self.frame_link(start)
        left = list(passing)
        single: list[Link] = []
        for link in self._links[start:end]:
            if link.takes_tables and isinstance(link.transform, TableTransform):
                left = self._one_by_one(Chain(single), left)
                left = self._together(link, link.transform, left)
                single = []
            else:
                single.append(link)
        return self._one_by_one(Chain(single), left)

    def choose(self, link: Link, passing: Sequence[Passing[Before]]) -> tuple[list[int], list[list[Passing[Before]]]]:
        """The numbers of the records that a link takes, and for each record what is left of it without the link.

        Tombstones have no fields, so they are never taken; a predicate that fails costs its record.
        """
        chosen: list[int] = []
        left: list[list[Passing[Before]]] = []
        for number, item in enumerate(passing):
            try:
                takes = item.record.value is not None and self._guarded(link, item)
            except RecordSkipped:
                left.append([])
                continue
            left.append([] if takes else [item])
            if takes:
                chosen.append(number)
        return chosen, left

    def fail(self, link: Link, item: Passing[Before], error: Exception) -> None:
        """A record cannot pass a link. Raises what the policy says, unless the record is skipped."""
        name = reported_name(link.transform)
        self._errors.record_failed(error, Stage.TRANSFORMATION, name, self._origin(item.before))

    def _guarded(self, link: Link, item: Passing[Before]) -> bool:
        try:
            return link.chooses(item.record)
        except Exception as error:
            again = partial(link.chooses, item.record)
            origin = partial(self._origin, item.before)
            return self._errors.recover(error, Stage.TRANSFORMATION, reported_name(link.transform), again, origin)

    def _one_by_one(self, chain: Chain, passing: list[Passing[Before]]) -> list[Passing[Before]]:
        if not len(chain):
            return passing
        left = []
        for item in passing:
            try:
                changed = chain.apply(item.record, self._errors, partial(self._origin, item.before))
            except RecordSkipped:
                continue
            if changed is None:
                self.dropped += 1
            else:
                left.append(Passing(changed, item.before))
        return left

    def _together(
        self, link: Link, transform: TableTransform, passing: Sequence[Passing[Before]]
    ) -> list[Passing[Before]]:
        chosen, left = self.choose(link, passing)
        tables, bad = to_rows([item.record for item in passing], chosen)
        for row in bad:
            self.fail(link, passing[row.number], row.error)
        for rows in tables:
            gone = set(rows.numbers)
            for number, record in self._changed(transform, rows, passing, gone):
                left[number].append(Passing(record, passing[number].before))
                gone.discard(number)
            self.dropped += len(gone)
        return [item for items in left for item in items]

    def _changed(
        self, transform: TableTransform, rows: Rows, passing: Sequence[Passing[Before]], gone: set[int]
    ) -> Iterator[tuple[int, Record]]:
        """The changed records of a table. One that fails is halved until the records to blame are alone."""
        before = self._errors.failed
        try:
            yield from _attempt(transform, rows)
        except Exception as error:
            yield from self._without_the_blamed(transform, rows, error, passing, gone)
            if self._errors.failed == before and not isinstance(error, RetriableError):
                self._faults.count(reported_name(transform), "apply_rows", len(rows.numbers), error)

    def _without_the_blamed(
        self,
        transform: TableTransform,
        rows: Rows,
        error: Exception,
        passing: Sequence[Passing[Before]],
        gone: set[int],
    ) -> Iterator[tuple[int, Record]]:
        if len(rows.numbers) > 1:
            for half in halves(rows):
                try:
                    yield from _attempt(transform, half)
                except Exception as again:
                    yield from self._without_the_blamed(transform, half, again, passing, gone)
            return
        name = reported_name(transform)
        origin = partial(self._origin, passing[rows.numbers[0]].before)
        attempt = partial(_attempt, transform, rows)
        try:
            yield from self._errors.recover(error, Stage.TRANSFORMATION, name, attempt, origin)
        except RecordSkipped:
            gone.discard(rows.numbers[0])


def _attempt(transform: TableTransform, rows: Rows) -> list[tuple[int, Record]]:
    return list(from_rows(rows, transform.apply_rows(rows.table)))


def halves(rows: Rows) -> list[Rows]:
    """The same rows in two tables."""
    middle = len(rows.numbers) // 2
    return [
        Rows(rows.table.slice(0, middle), rows.records, rows.numbers[:middle]),
        Rows(rows.table.slice(middle), rows.records, rows.numbers[middle:]),
    ]
