"""The messages of PostgreSQL's ``pgoutput`` plugin (protocol version 1), decoded."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Any

BEGIN, COMMIT, RELATION, INSERT, UPDATE, DELETE, TRUNCATE = b"BCRIUDT"

_BEGIN = Struct(">xQqI")
_COMMIT = Struct(">xxQQq")
_U32 = Struct(">I").unpack_from
_ATTRIBUTE = Struct(">Ii").unpack_from

EPOCH_MICROS = 946_684_800_000_000
"""PostgreSQL counts from 2000."""


class Unchanged:
    """The type of :data:`UNCHANGED`."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED = Unchanged()
"""A large value that an update left as it was: the stream does not carry it."""

Cell = bytes | None | Unchanged
Row = list[Any]
"""One :data:`Cell` for each column."""


@dataclass(frozen=True)
class Begin:
    """The beginning of a transaction: where its commit is, when it was (microseconds since 1970), and its number."""

    commit_lsn: int
    micros: int
    xid: int


@dataclass(frozen=True)
class Relation:
    """What the rows that follow look like: (name, type, modifier, part of the replica identity) of each column.

    ``number`` tells descriptions apart of which the catalogue says more than they do.
    """

    oid: int
    schema: str
    name: str
    identity: str
    columns: tuple[tuple[str, int, int, bool], ...]
    number: int = 0


def begin(data: bytes) -> Begin:
    commit_lsn, micros, xid = _BEGIN.unpack_from(data)
    return Begin(commit_lsn, micros + EPOCH_MICROS, xid)


def end_of_commit(data: bytes) -> int:
    """Where the commit ends: the position to go on from."""
    end: int = _COMMIT.unpack_from(data)[1]
    return end


def relation(data: bytes) -> Relation:
    oid = _U32(data, 1)[0]
    schema, at = _name(data, 5)
    name, at = _name(data, at)
    identity = chr(data[at])
    count = int.from_bytes(data[at + 1 : at + 3], "big")
    at += 3
    columns = []
    for _ in range(count):
        is_key = bool(data[at] & 1)
        column, at = _name(data, at + 1)
        columns.append((column, *_ATTRIBUTE(data, at), is_key))
        at += 8
    return Relation(oid, schema or "pg_catalog", name, identity, tuple(columns))


def oid_of(data: bytes) -> int:
    """The table of an insert, update or delete."""
    oid: int = _U32(data, 1)[0]
    return oid


def truncated(data: bytes) -> list[int]:
    """The tables of a truncate."""
    count = _U32(data, 1)[0]
    return [_U32(data, 6 + 4 * number)[0] for number in range(count)]


def new_row(data: bytes) -> Row:
    """The row of an insert."""
    return _row(data, 6)[0]


def old_and_new(data: bytes) -> tuple[int, Row | None, Row]:
    """An update: ``K``, ``O`` or 0 for what is known of the old row, that, and the new row."""
    kind = data[5]
    if kind == 78:
        return 0, None, _row(data, 6)[0]
    old, at = _row(data, 6)
    return kind, old, _row(data, at + 1)[0]


def old_row(data: bytes) -> tuple[int, Row]:
    """A delete: ``K`` or ``O`` for what is known of the old row, and that."""
    return data[5], _row(data, 6)[0]


def _row(data: bytes, at: int) -> tuple[Row, int]:
    count = data[at] << 8 | data[at + 1]
    at += 2
    row: Row = []
    add, number = row.append, _U32
    for _ in range(count):
        kind = data[at]
        if kind == 116:
            start = at + 5
            at = start + number(data, at + 1)[0]
            add(data[start:at])
        else:
            at += 1
            add(None if kind == 110 else UNCHANGED)
    return row, at


def _name(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(0, at)
    return data[at:end].decode(), end + 1
