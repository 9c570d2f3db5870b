"""Rows of the stream as records: in order within each table, in columns as far as that goes."""

from __future__ import annotations

import pyarrow as pa

from penstock.api import Batch, Column

from . import pgoutput
from .pgoutput import UNCHANGED, Begin, Row
from .shape import Moment, Shape

_FULL = ord("O")


class Changes:
    """Collects the changes of one table in one state of its columns; what is complete waits in ``ready``.

    A delete is followed by a tombstone. Tombstones are collected and come after the changes collected with them; the
    next change of a key that has one comes after both, so that each key sees its own in order.
    """

    def __init__(self, shape: Shape, flat: bool, tombstones: bool) -> None:
        self.shape = shape
        self.ready: list[Batch] = []
        self._flat = flat
        self._tombstones = (tombstones or flat) and bool(shape.key_places)
        self._clear()

    def add(self, data: bytes, begin: Begin) -> None:
        """Take one message of an insert, update or delete."""
        kind = data[0]
        if kind == pgoutput.INSERT:
            self._put("c", pgoutput.new_row(data), None, begin)
        elif kind == pgoutput.UPDATE:
            self._update(data, begin)
        else:
            self._delete(pgoutput.old_row(data)[1], begin)

    def truncate(self, begin: Begin) -> None:
        """The table was emptied."""
        self.flush()
        moment = Moment([begin.micros], [begin.xid], [begin.commit_lsn])
        self.ready.append(Batch(self.shape.topic, self.shape.values(["t"], [None], [None], moment)))

    def flush(self) -> None:
        """Make everything collected so far ready."""
        shape = self.shape
        if self._ops:
            micros, xids, lsns = zip(*self._moments, strict=True)
            values = shape.values(self._ops, self._new, self._old, Moment(micros, xids, lsns))
            rows = [(old or []) if new is None else new for new, old in zip(self._new, self._old, strict=True)]
            self.ready.append(Batch(shape.topic, values, shape.keys(rows)))
        if self._gone:
            keys = shape.keys(list(self._gone.values()))
            self.ready.append(Batch(shape.topic, Column(pa.nulls(len(self._gone))), keys))
        self._clear()

    def _clear(self) -> None:
        self._ops: list[str] = []
        self._new: list[Row | None] = []
        self._old: list[Row | None] = []
        self._moments: list[tuple[int, int, int]] = []
        self._gone: dict[tuple[object, ...], Row] = {}

    def _update(self, data: bytes, begin: Begin) -> None:
        known, old, new = pgoutput.old_and_new(data)
        if old is not None:
            if known == _FULL and UNCHANGED in new:
                new = [was if now is UNCHANGED else now for now, was in zip(new, old, strict=True)]
            if self._key(old) != self._key(new):
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
        self._ops.append(op)
        self._new.append(new)
        self._old.append(old)
        self._moments.append((begin.micros, begin.xid, begin.commit_lsn))

    def _key(self, row: Row | None) -> tuple[object, ...]:
        return tuple([row[place] for place in self.shape.key_places]) if row is not None else ()
