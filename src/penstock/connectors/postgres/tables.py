"""Target tables: what they have, and making what records need."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.api import PluginError

from .catalog import quoted

if TYPE_CHECKING:
    from psycopg import Connection

log = logging.getLogger(__name__)

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod)
FROM pg_attribute a
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attnum
"""
_UNIQUE = """
SELECT array_agg(a.attname::text ORDER BY a.attname)
FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
GROUP BY i.indexrelid
"""


@dataclass(frozen=True)
class TargetName:
    """A table's name; without a schema the search path decides."""

    schema: str
    name: str

    @classmethod
    def of(cls, pattern: str, topic: str) -> TargetName:
        """``${topic}`` stands for the topic with underscores for dots, ``${table}`` for what follows its last dot."""
        schema, _, name = pattern.rpartition(".")
        filled = [
            part.replace("${topic}", topic.replace(".", "_")).replace("${table}", topic.rpartition(".")[2])
            for part in (schema, name)
        ]
        return cls(*filled)

    @property
    def sql(self) -> str:
        return quoted(self.schema, self.name) if self.schema else quoted(self.name)

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass
class Target:
    """What is known of a table: columns with their types, and which sets of columns are unique."""

    name: TargetName
    columns: dict[str, str] = field(default_factory=dict)
    unique: frozenset[frozenset[str]] = frozenset()


class Tables:
    """The tables of one connection, looked up once each and again when they change through us."""

    def __init__(self, creates: bool, evolves: bool) -> None:
        self._creates = creates
        self._evolves = evolves
        self._known: dict[TargetName, Target] = {}

    def ready(
        self, connection: Connection[Any], name: TargetName, columns: Mapping[str, str], keys: tuple[str, ...]
    ) -> Target:
        """A table that has some columns, made or extended if need be."""
        target = self._known.get(name) or self._look_up(connection, name)
        if not target.columns and columns:
            self._create(connection, name, columns, keys)
            target = self._look_up(connection, name)
        missing = {column: kind for column, kind in columns.items() if column not in target.columns}
        if missing:
            self._extend(connection, target, missing)
            target = self._look_up(connection, name)
        self._known[name] = target
        return target

    def _look_up(self, connection: Connection[Any], name: TargetName) -> Target:
        columns = dict(connection.execute(_COLUMNS, [name.sql]).fetchall())
        unique = frozenset(frozenset(row[0]) for row in connection.execute(_UNIQUE, [name.sql]))
        return Target(name, columns, unique)

    def _create(
        self, connection: Connection[Any], name: TargetName, columns: Mapping[str, str], keys: tuple[str, ...]
    ) -> None:
        members = [f"{quoted(column)} {kind}" for column, kind in columns.items()]
        if keys:
            members.append(f"PRIMARY KEY ({', '.join(quoted(key) for key in keys)})")
        statement = f"CREATE TABLE IF NOT EXISTS {name.sql} ({', '.join(members)})"
        if not self._creates:
            raise PluginError(f"Table {name} does not exist and auto.create is off. Create it: {statement}")
        if name.schema:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(name.schema)}")
        connection.execute(statement)
        log.info("Created table %s", name)

    def _extend(self, connection: Connection[Any], target: Target, missing: Mapping[str, str]) -> None:
        added = ", ".join(f"ADD COLUMN IF NOT EXISTS {quoted(column)} {kind}" for column, kind in missing.items())
        statement = f"ALTER TABLE {target.name.sql} {added}"
        if not self._evolves:
            raise PluginError(
                f"Table {target.name} lacks {', '.join(missing)} and auto.evolve is off. Add them: {statement}"
            )
        connection.execute(statement)
        log.info("Added %s to table %s", ", ".join(missing), target.name)
