"""Rows of the stream as records: in order within each table, in columns as far as that goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from penstock.api import Batch, Column

from . import pgoutput
from .catalog import Table
from .pgoutput import UNCHANGED, Begin, Row
from .shape import Moment, Shape
from .tuples import Texts, cells

_FULL, _NEW = ord("O"), ord("N")

Fetch = Callable[[Table, Sequence[Row]], list[Row]]
"""New rows of a table with values in place of those that the stream left out."""


class Changes:
    """Collects the changes of one table in one state of its columns; what is complete waits in ``ready``.

    Most messages are kept as they are, and decoded together. A delete is followed by a tombstone. Tombstones are
    collected and come after the changes collected with them; the next change of a key that has one comes after both, so
    that each key sees its own in order.

    Large values that an update left as they were are marked. Where a mark would be taken for the value they are asked
    for (``fetch``): in columns whose type has none, and in rows that readers do not know, which have a new key or come
    while ``in_gap``.
    """

    def __init__(self, shape: Shape, flat: bool, tombstones: bool, fetch: Fetch) -> None:
        self.shape = shape
        self.ready: list[Batch] = []
        self.in_gap = False
        self._fetch = fetch
        self._flat = flat
        self._tombstones = (tombstones or flat) and bool(shape.key_places)
        self._clear()

    def _clear(self) -> None:
        self._ops: list[str] = []
        self._begins: list[Begin] = []
        self._raw: list[bytes] = []
        self._rows: dict[int, tuple[Row | None, Row | None]] = {}
        self._gone: dict[tuple[object, ...], Row] = {}
        self._asked: list[int] = []

    def add(self, data: bytes, begin: Begin) -> None:
        """Take one message of an insert, update or delete."""
        kind = data[0]
        if data[5] == _NEW and not self._gone and not self.in_gap:
            self._ops.append("c" if kind == pgoutput.INSERT else "u")
            self._raw.append(data)
            self._begins.append(begin)
        elif kind == pgoutput.INSERT:
            self._put("c", pgoutput.new_row(data), None, begin)
        elif kind == pgoutput.UPDATE:
            self._update(data, begin)
        else:
            self._delete(pgoutput.old_row(data)[1], begin)

    def truncate(self, begin: Begin) -> None:
        """The table was emptied."""
        self.flush()
        values = self.shape.values(["t"], self.shape.no_rows(1), self.shape.no_rows(1), _moment([begin]))
        self.ready.append(Batch(self.shape.topic, values))

    def flush(self) -> None:
        """Make everything collected so far ready."""
        if self._ops:
            self.ready.append(self._batch())
        if self._gone:
            keys = self.shape.keys(self.shape.rows(list(self._gone.values())))
            self.ready.append(Batch(self.shape.topic, Column(pa.nulls(len(self._gone))), keys))
        self._clear()

    def _batch(self) -> Batch:
        shape, count = self.shape, len(self._ops)
        columns = self._ask_for_values()
        before = None
        if self._rows:
            new, old = zip(*self._rows.values(), strict=True)
            after, keyed = shape.rows(new), shape.rows([o if n is None else n for n, o in zip(new, old, strict=True)])
            before = shape.rows(old) if any(row is not None for row in old) else None
        if self._raw:
            rows = shape.rows_of_cells(columns)
            if self._rows:
                order = self._order()
                after = pa.concat_arrays([rows, after]).take(order)
                keyed = pa.concat_arrays([rows, keyed]).take(order)
                if before is not None:
                    before = pa.concat_arrays([shape.no_rows(len(rows)), before]).take(order)
            else:
                after = keyed = rows
        values = shape.values(
            self._ops, after, shape.no_rows(count) if before is None else before, _moment(self._begins)
        )
        return Batch(shape.topic, values, shape.keys(keyed))

    def _ask_for_values(self) -> Sequence[Texts]:
        """Have the values that must be known; the columns of messages that are decoded together.

        A message that lacks one is decoded alone.
        """
        width = len(self.shape.table.columns)
        columns = cells(self._raw, width) if self._raw else []
        lacking = self.shape.rows_without_mark(columns) if self._raw and self.shape.key_places else []
        if lacking:
            single = set(lacking)
            together = [place for place in range(len(self._ops)) if place not in self._rows]
            for number in lacking:
                self._rows[together[number]] = (pgoutput.new_row(self._raw[number]), None)
                self._asked.append(together[number])
            self._rows = dict(sorted(self._rows.items()))
            self._raw = [data for number, data in enumerate(self._raw) if number not in single]
            columns = cells(self._raw, width) if self._raw else []
        if self._asked:
            rows = [new for place in self._asked if (new := self._rows[place][0]) is not None]
            for place, row in zip(self._asked, self._fetch(self.shape.table, rows), strict=True):
                self._rows[place] = (row, self._rows[place][1])
        return columns

    def _order(self) -> pa.Array:
        """Where each change is, when those decoded together come before those decoded one by one."""
        single = np.zeros(len(self._ops), bool)
        single[list(self._rows)] = True
        return pa.array(np.where(single, len(self._raw) + np.cumsum(single) - 1, np.cumsum(~single) - 1))

    def _update(self, data: bytes, begin: Begin) -> None:
        known, old, new = pgoutput.old_and_new(data)
        if old is not None and UNCHANGED in new:
            places = range(len(new)) if known == _FULL else self.shape.key_places
            for place in places:
                new[place] = old[place] if new[place] is UNCHANGED else new[place]
        is_new = old is not None and self._key(old) != self._key(new)
        if old is not None and is_new:
            self._delete(old, begin)
            self._put("c", new, None, begin)
        else:
            self._put("u", new, old if known == _FULL else None, begin)
        if UNCHANGED in new and self.shape.key_places and (is_new or self.in_gap or self.shape.lacks_mark(new)):
            self._asked.append(len(self._ops) - 1)

    def _delete(self, old: Row, begin: Begin) -> None:
        if not self._flat:
            self._put("d", None, old, begin)
        if self._tombstones:
            key = self._key(old)
            if key in self._gone:
                self.flush()
            self._gone[key] = old

    def _put(self, op: str, new: Row | None, old: Row | None, begin: Begin) -> None:
        if self._gone and self._key(old if new is None else new) in self._gone:
            self.flush()
        self._rows[len(self._ops)] = (new, old)
        self._ops.append(op)
        self._begins.append(begin)

    def _key(self, row: Row | None) -> tuple[object, ...]:
        return tuple([row[place] for place in self.shape.key_places]) if row is not None else ()


def _moment(begins: list[Begin]) -> Moment:
    return Moment(
        pa.array([begin.micros for begin in begins], pa.int64()),
        pa.array([begin.xid for begin in begins], pa.int64()),
        pa.array([begin.commit_lsn for begin in begins], pa.int64()),
    )
