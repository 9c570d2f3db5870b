"""The executor's part of streaming: changes from a position up to another, as records."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.api import Batch, Progress

from . import pgoutput
from .catalog import Selection, Table, find_tables
from .changes import Changes
from .connection import Database, failures_retried
from .large_values import with_large_values
from .lsn import Visibility
from .pgoutput import Begin, Row
from .position import Position, server_partition
from .shape import Shape, Style
from .stream import Stream, stream_at
from .waiting import wait_until_seen

if TYPE_CHECKING:
    from psycopg import Connection

MOST_BYTES = 16 << 20
MOST_SECONDS = 1.0
ROWS_A_BATCH = 20_000

_OPERATION = {pgoutput.INSERT: "c", pgoutput.UPDATE: "u", pgoutput.DELETE: "d", pgoutput.TRUNCATE: "t"}


@dataclass(frozen=True)
class Span:
    """What to read: from ``start`` up to ``target``.

    ``seen`` are tables whose reading saw some of these transactions, which are left out: the snapshot, and a position
    after which there are none. ``gaps`` are tables whose reading was interrupted: a row may not have been read before
    its change, so large values that the change leaves out are asked for, up to a position. ``waiting`` are tables whose
    reading has not begun: it will see what is left out here. Everything before ``durable`` is committed here for good.
    """

    start: Position
    target: int
    durable: int
    seen: Mapping[str, tuple[str, int]]
    gaps: Mapping[str, int] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Source:
    """Where changes come from and how they are shown."""

    database: Database
    slot: str
    publication: str
    selection: Selection
    style: Style
    tombstones: bool
    skipped: frozenset[str]


class Capture:
    """Turns messages of one stream into records."""

    def __init__(self, source: Source, span: Span) -> None:
        self._source = source
        self._span = span
        self._seen = {table: (Visibility.parse(text), until) for table, (text, until) in span.seen.items()}
        self._open: dict[int, tuple[object, Changes | None]] = {}
        self._asking: Connection[Any] | None = None
        self._left_out: set[int] = set()

    def run(self) -> Iterator[Batch | Progress]:
        try:
            yield from self._run()
        finally:
            if self._asking is not None:
                self._asking.close()

    def _run(self) -> Iterator[Batch | Progress]:
        source, span = self._source, self._span
        with stream_at(source.database, source.slot, source.publication, span.start, span.durable) as stream:
            yield from self._read(stream)
            position = stream.position
        for _, changes in self._open.values():
            if changes is not None:
                changes.flush()
                yield from changes.ready
        if self._left_out:
            wait_until_seen(self._asked(), self._left_out)
        yield Progress(server_partition(source.style.prefix), position.offset())

    def _read(self, stream: Stream) -> Iterator[Batch]:
        deadline = time.monotonic() + MOST_SECONDS
        skipped = {kind for kind, name in _OPERATION.items() if name in self._source.skipped}
        targets: dict[bytes, Changes | None] = {}
        described, count = -1, 0
        for data in stream.changes(self._span.target, deadline, MOST_BYTES):
            kind, begin = data[0], stream.transaction
            if kind in skipped or begin is None:
                continue
            if stream.descriptions != described:
                targets, described = {}, stream.descriptions
            if kind == pgoutput.TRUNCATE:
                yield from self._truncate(data, stream, begin)
                continue
            table = data[1:5]
            if self._span.waiting and self._is_waiting(pgoutput.oid_of(data), stream, begin):
                continue
            if table not in targets:
                targets[table] = self._changes(pgoutput.oid_of(data), stream)
            changes = targets[table]
            if changes is None or (self._seen and self._is_seen(changes.shape, begin)):
                continue
            if self._span.gaps:
                changes.in_gap = self._is_in_gap(changes.shape, begin)
            changes.add(data, begin)
            count += 1
            if changes.ready or count % ROWS_A_BATCH == 0:
                yield from self._ready(changes, count % ROWS_A_BATCH == 0)

    def _truncate(self, data: bytes, stream: Stream, begin: Begin) -> Iterator[Batch]:
        for oid in pgoutput.truncated(data):
            if self._is_waiting(oid, stream, begin):
                continue
            changes = self._changes(oid, stream)
            if changes is not None and not self._is_seen(changes.shape, begin) and not self._source.style.flat:
                changes.truncate(begin)
                yield from self._ready(changes, False)

    def _ready(self, changes: Changes, all_of_it: bool) -> Iterator[Batch]:
        if all_of_it:
            changes.flush()
        ready, changes.ready = changes.ready, []
        yield from ready

    def _is_seen(self, shape: Shape, begin: Begin) -> bool:
        found = self._seen.get(shape.table.full_name)
        return found is not None and begin.commit_lsn < found[1] and found[0].sees(begin.xid)

    def _is_waiting(self, oid: int, stream: Stream, begin: Begin) -> bool:
        """Whether a change is left to the reading of its table, which must see it then."""
        relation = stream.relations[oid]
        if f"{relation.schema}.{relation.name}" not in self._span.waiting:
            return False
        self._left_out.add(begin.xid)
        return True

    def _is_in_gap(self, shape: Shape, begin: Begin) -> bool:
        return begin.commit_lsn < self._span.gaps.get(shape.table.full_name, 0)

    def _fetch(self, table: Table, rows: Sequence[Row]) -> list[Row]:
        return with_large_values(self._asked(), table, rows)

    def _asked(self) -> Connection[Any]:
        if self._asking is None:
            self._asking = self._source.database.connect()
        return self._asking

    def _changes(self, oid: int, stream: Stream) -> Changes | None:
        """Where changes of a table go; ``None`` if it is not captured. A new state of its columns begins anew."""
        relation = stream.relations[oid]
        known = self._open.get(oid)
        if known is not None and known[0] is relation:
            return known[1]
        made = self._make(relation)
        if known is not None and known[1] is not None and made is not None:
            known[1].flush()
            made.ready = known[1].ready
        self._open[oid] = (relation, made)
        return made

    def _make(self, relation: Any) -> Changes | None:
        source = self._source
        if not source.selection.takes(relation.schema, relation.name):
            return None
        shape = shape_of(source, relation)
        return Changes(shape, source.style.flat, source.tombstones, self._fetch)


_shapes: dict[tuple[object, ...], Shape] = {}


def shape_of(source: Source, relation: pgoutput.Relation) -> Shape:
    """The records of a table as the stream describes it; asks the catalogue once for each new description."""
    key = (source.database, source.style, relation)
    if key not in _shapes:
        asking = f"{source.database} could not be asked for {relation.name}"
        with failures_retried(asking), source.database.connect() as connection:
            known = find_tables(connection, source.selection, relation.oid)
        if len(_shapes) > 1000:
            _shapes.clear()
        _shapes[key] = Shape.of_relation(relation, known[0] if known else None, source.style)
    return _shapes[key]
