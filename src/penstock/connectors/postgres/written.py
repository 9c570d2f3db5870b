"""The offsets a sink keeps beside its rows, in the same transaction, so that a repeated batch is recognised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api import PluginError, RetriableError

from .blocks import Block
from .catalog import quoted
from .connection import driver, identity_of

if TYPE_CHECKING:
    from psycopg import Connection

Offsets = dict[tuple[str, int], int]
"""Topic and partition → the offset after the last record that was written."""


class Written:
    """What was written, according to the database (``stored``) and to the runtime's last commit (``committed``).

    They differ after a crash between the two commits. Records from the committed offset up to the stored one are there
    already. A record before the committed offset is no repetition: somebody moved the offsets back, or made the topic
    anew. ``place`` is where ``stored`` comes from; if the last commit was about another place, it says nothing.
    """

    def __init__(self, stored: Offsets, state: Mapping[str, Any] | None, place: str = "") -> None:
        self.next: Offsets = {}
        self._place = place
        self._stored = stored if (state or {}).get("place", place) == place else {}
        committed = (state or {}).get("next", {})
        self._committed = {
            (topic, int(part)): int(n) for topic, parts in committed.items() for part, n in parts.items()
        }

    def rest(self, block: Block) -> Block:
        """The rows that are not there yet; notes that all of the block will be."""
        at = (block.topic, block.partition)
        last = pc.max(block.offsets).as_py()
        if last is None:
            return block
        first, end = self._committed.get(at, 0), self._stored.get(at, 0)
        self.next[at] = last + 1
        if end <= first:
            return block
        there = pc.and_(pc.greater_equal(block.offsets, first), pc.less(block.offsets, end))
        if not pc.any(there).as_py():
            return block
        self.next[at] = max(last + 1, end)
        return block.take(pc.indices_nonzero(pc.invert(there)).cast(pa.int64()))

    def state(self) -> dict[str, Any]:
        """What the runtime keeps with the offsets it commits: what it knew, and what this batch added."""
        found: dict[str, dict[str, int]] = {}
        for (topic, partition), offset in {**self._committed, **self.next}.items():
            found.setdefault(topic, {})[str(partition)] = offset
        return {"next": found, "place": self._place}


class OffsetTable:
    """The table with the offsets of all sinks that write into a database."""

    def __init__(self, name: str) -> None:
        self.name = quoted(*name.split("."))

    def make(self, connection: Connection[Any]) -> None:
        """Make it unless it is there; somebody else may do so at the same moment."""
        if self.exists(connection):
            return
        errors = driver().errors
        statement = (
            f"CREATE TABLE IF NOT EXISTS {self.name} (connector text, topic text, part integer,"
            f" next bigint NOT NULL, PRIMARY KEY (connector, topic, part))"
        )
        try:
            connection.execute(statement)
        except (errors.UniqueViolation, errors.DuplicateTable):
            return
        except (errors.InsufficientPrivilege, errors.InvalidSchemaName, errors.ReadOnlySqlTransaction) as error:
            raise PluginError(
                f"The table for the offsets of delivery.guarantee=exactly_once cannot be made: {error}. Have somebody "
                f"create it and let the sink read and write it ({statement}), name another one with offsets.table, or "
                f"set delivery.guarantee=at_least_once."
            ) from error

    def exists(self, connection: Connection[Any]) -> bool:
        row = connection.execute("SELECT to_regclass(%s) IS NOT NULL", [self.name]).fetchone()
        return bool(row and row[0])

    def place(self, connection: Connection[Any]) -> str:
        """Which table of which database this is, under whatever address it was reached."""
        return f"{identity_of(connection)}/{self.name}"

    def read(self, connection: Connection[Any], connector: str, task: int) -> Offsets:
        """What was written for a connector. An earlier attempt of the same task that still writes is waited for."""
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", [f"penstock {connector} {task}"])
        rows = connection.execute(f"SELECT topic, part, next FROM {self.name} WHERE connector = %s", [connector])
        return {(topic, part): offset for topic, part, offset in rows}

    def write(self, connection: Connection[Any], connector: str, stored: Offsets, offsets: Offsets) -> None:
        """Put offsets in place of the ``stored`` ones; ``RetriableError`` if somebody else did so since they were read.

        That is another task, or an earlier life of the worker, with the same records.
        """
        rows = [(connector, *at, offset, stored.get(at, -1)) for at, offset in offsets.items()]
        if not rows:
            return
        with connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {self.name} AS known VALUES (%s, %s, %s, %s)"
                f" ON CONFLICT (connector, topic, part) DO UPDATE SET next = EXCLUDED.next WHERE known.next = %s",
                rows,
            )
            if cursor.rowcount != len(rows):
                raise RetriableError(
                    f"Somebody else writes the same records for connector '{connector}' at the same time, according to "
                    f"table {self.name}; they are looked at again"
                )

    def forget(self, connection: Connection[Any], connector: str, topic: str = "", part: int = -1) -> None:
        """Remove what is known of a connector, or of one of its topic partitions."""
        if self.exists(connection):
            connection.execute(
                f"DELETE FROM {self.name} WHERE connector = %s AND (%s = '' OR (topic = %s AND part = %s))",
                [connector, topic, topic, part],
            )
