"""Rows of the stream as records: in order within each table, in columns as far as that goes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from penstock.api import Batch, Column

from . import pgoutput
from .catalog import Table
from .pgoutput import UNCHANGED, Begin, Row
from .shape import Moment, Shape
from .tuples import cells

_FULL, _NEW = ord("O"), ord("N")


class Changes:
    """Collects the changes of one table in one state of its columns; what is complete waits in ``ready``.

    Most messages are kept as they are, and decoded together. A delete is followed by a tombstone. Tombstones are
    collected and come after the changes collected with them; the next change of a key that has one comes after both, so
    that each key sees its own in order. ``fetch`` finds values that an update left out; without it they are marked.
    """

    def __init__(self, shape: Shape, flat: bool, tombstones: bool) -> None:
        self.shape = shape
        self.ready: list[Batch] = []
        self.fetch: Callable[[Table, Row], Row] | None = None
        self._flat = flat
        self._tombstones = (tombstones or flat) and bool(shape.key_places)
        self._clear()

    def add(self, data: bytes, begin: Begin) -> None:
        """Take one message of an insert, update or delete."""
        kind = data[0]
        if data[5] == _NEW and not self._gone and self.fetch is None:
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
        before = None
        if self._rows:
            new, old = zip(*self._rows.values(), strict=True)
            after, keyed = shape.rows(new), shape.rows([o if n is None else n for n, o in zip(new, old, strict=True)])
            before = shape.rows(old) if any(row is not None for row in old) else None
        if self._raw:
            rows = shape.rows_of_cells(cells(self._raw, len(shape.table.columns)))
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

    def _order(self) -> pa.Array:
        """Where each change is, when those decoded together come before those decoded one by one."""
        single = np.zeros(len(self._ops), bool)
        single[list(self._rows)] = True
        return pa.array(np.where(single, len(self._raw) + np.cumsum(single) - 1, np.cumsum(~single) - 1))

    def _clear(self) -> None:
        self._ops: list[str] = []
        self._begins: list[Begin] = []
        self._raw: list[bytes] = []
        self._rows: dict[int, tuple[Row | None, Row | None]] = {}
        self._gone: dict[tuple[object, ...], Row] = {}

    def _update(self, data: bytes, begin: Begin) -> None:
        known, old, new = pgoutput.old_and_new(data)
        if old is not None and known == _FULL and UNCHANGED in new:
            new = [was if now is UNCHANGED else now for now, was in zip(new, old, strict=True)]
        if self.fetch is not None and UNCHANGED in new and self.shape.key_places:
            new = self.fetch(self.shape.table, new)
        if old is not None and self._key(old) != self._key(new):
            self._delete(old, begin)
            self._put("c", new, None, begin)
            return
        self._put("u", new, old if known == _FULL else None, begin)

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
