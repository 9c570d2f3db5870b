"""How far the source has come: the committed source offsets as it reads and writes them.

``{"server": prefix}`` → ``{"lsn": …}``: every transaction that ends before ``lsn`` is in the topics; while a large
transaction is read in pieces, ``tx`` is the position of its commit and ``seq`` counts its changes that are there too.
``{"server": prefix, "table": "public.orders"}`` → how far the first reading of that table is: ``page`` of ``pages``,
begun under the snapshot ``since``; changes that this snapshot saw are not repeated, which can only be in question for
transactions that end before ``until``. ``oid`` is the table that was read: another one of its name is read anew, and so
is one that was left out for a time (``captured``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.api import ConfigError, PluginError, SourceOffset, SourceOffsets, SourcePartition

from .catalog import Table
from .lsn import Visibility, lsn_text, parse_lsn

SERVER, TABLE = "server", "table"
WAY_OUT = "Stop the connector and alter or reset its offsets."


@dataclass(frozen=True)
class Position:
    """A place in the stream of changes."""

    lsn: int
    tx: int = 0
    seq: int = 0

    def offset(self) -> dict[str, Any]:
        found: dict[str, Any] = {"lsn": lsn_text(self.lsn)}
        if self.seq:
            found |= {"tx": lsn_text(self.tx), "seq": self.seq}
        return found

    @classmethod
    def of(cls, offset: SourceOffset) -> Position:
        """``ValueError`` for what is not an offset of ours."""
        tx, seq = offset.get("tx"), offset.get("seq", 0)
        if isinstance(seq, bool) or not isinstance(seq, int) or seq < 0 or (seq and tx is None):
            raise ValueError(f"'seq' must be a number of changes within the transaction 'tx', not {seq!r}")
        return cls(parse_lsn(offset.get("lsn")), parse_lsn(tx) if seq else 0, seq)


@dataclass(frozen=True)
class TableProgress:
    """How far the reading of one table is. ``filenode`` tells whether its pages are still the same.

    ``resumed`` is the position of the last snapshot under which reading went on after an interruption; 0 without one.
    ``oid`` is the table; 0 where that was not kept. ``replayed`` is the snapshot of an earlier reading, if changes that
    it did not see are told although this reading saw them. Without ``captured`` the table was left out since.
    """

    since: str
    until: int
    page: int
    pages: int
    filenode: int
    resumed: int = 0
    oid: int = 0
    replayed: str = ""
    captured: bool = True

    @property
    def done(self) -> bool:
        return self.page >= self.pages

    @property
    def told_since(self) -> str:
        """The snapshot whose changes are left out because rows that were read have them."""
        return self.replayed or self.since

    def at(self, page: int) -> TableProgress:
        return replace(self, page=page)

    def offset(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "since": self.since,
            "until": lsn_text(self.until),
            "page": self.page,
            "pages": self.pages,
            "filenode": self.filenode,
        }
        if self.oid:
            found["oid"] = self.oid
        if self.resumed:
            found["resumed"] = lsn_text(self.resumed)
        if self.replayed:
            found["replayed"] = self.replayed
        if not self.captured:
            found["captured"] = False
        return found

    @classmethod
    def of(cls, offset: SourceOffset) -> TableProgress:
        """``ValueError`` for what is not an offset of ours."""
        names = ("page", "pages", "filenode", "oid")
        page, pages, filenode, oid = numbers = [offset.get(name, 0 if name == "oid" else None) for name in names]
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in numbers):
            raise ValueError("'page', 'pages', 'filenode' and 'oid' must be whole numbers, 0 or more")
        since, replayed = str(offset.get("since")), str(offset.get("replayed", ""))
        Visibility.parse(since)
        if replayed:
            Visibility.parse(replayed)
        until, resumed = parse_lsn(offset.get("until")), parse_lsn(offset.get("resumed", 0))
        return cls(since, until, page, pages, filenode, resumed, oid, replayed, offset.get("captured") is not False)


@dataclass(frozen=True)
class State:
    """All committed offsets of one connector."""

    position: Position | None
    tables: Mapping[str, TableProgress]

    @classmethod
    def of(cls, offsets: SourceOffsets, server: str) -> State:
        position, tables = None, {}
        for partition, offset in offsets.all():
            if partition.get(SERVER) != server or not set(partition) <= {SERVER, TABLE}:
                continue
            try:
                if TABLE in partition:
                    tables[str(partition[TABLE])] = TableProgress.of(offset)
                else:
                    position = Position.of(offset)
            except ValueError as error:
                raise PluginError(
                    f"The committed offset of {dict(partition)} is {dict(offset)}: {error}. {WAY_OUT}"
                ) from None
        return cls(position, tables)

    def progress(self, table: Table) -> TableProgress | None:
        """How far a table is; ``None`` for one of the same name that was captured before, or made before."""
        found = self.tables.get(table.full_name)
        return found if found is not None and found.captured and found.oid in (0, table.oid) else None


def server_partition(server: str) -> dict[str, Any]:
    return {SERVER: server}


def table_partition(server: str, table: str) -> dict[str, Any]:
    return {SERVER: server, TABLE: table}


def check_partition(partition: SourcePartition | None, server: str) -> None:
    """Raise ``ConfigError`` unless a source partition is one of this connector."""
    if not partition or not {SERVER} <= set(partition) <= {SERVER, TABLE}:
        raise ConfigError(f"A partition must have '{SERVER}', may have '{TABLE}', and nothing else: {partition}")
    if partition[SERVER] != server:
        raise ConfigError(f"'{SERVER}' must be this connector's topic.prefix, '{server}', not {partition[SERVER]!r}")
