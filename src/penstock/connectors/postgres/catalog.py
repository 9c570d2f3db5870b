"""What the database says about its tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

from penstock.api import ConfigError, java_pattern

from .types import TypeInfo

if TYPE_CHECKING:
    from psycopg import Connection

_TABLES = """
SELECT c.oid, n.nspname, c.relname, c.relkind = 'p', c.relreplident, pg_has_role(c.relowner, 'USAGE')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND NOT c.relispartition
  AND n.nspname NOT LIKE 'pg\\_%%' AND n.nspname <> 'information_schema'
  AND (%(oid)s::oid IS NULL OR c.oid = %(oid)s)
ORDER BY n.nspname, c.relname
"""
_COLUMNS = """
WITH RECURSIVE made_of AS (
  SELECT oid AS type, typbasetype AS base, typtypmod AS modifier FROM pg_type WHERE typtype = 'd'
  UNION ALL
  SELECT m.type, d.typbasetype, d.typtypmod FROM made_of m JOIN pg_type d ON d.oid = m.base WHERE d.typtype = 'd'
)
SELECT a.attrelid, a.attname, a.attnotnull, a.atttypid, b.oid, coalesce(m.modifier, a.atttypmod),
       CASE WHEN b.typcategory = 'A' THEN b.typelem ELSE 0::oid END,
       ARRAY(SELECT enumlabel::text FROM pg_enum e WHERE e.enumtypid = b.oid ORDER BY enumsortorder),
       b.typoutput::regproc::text
FROM pg_attribute a
LEFT JOIN made_of m ON m.type = a.atttypid
JOIN pg_type b ON b.oid = coalesce(m.base, a.atttypid) AND b.typtype <> 'd'
WHERE a.attrelid = ANY(%s) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attrelid, a.attnum
"""
_KEYS = """
SELECT c.oid, a.attname
FROM pg_class c
JOIN pg_index i ON i.indrelid = c.oid
  AND CASE WHEN c.relreplident = 'i' THEN i.indisreplident ELSE i.indisprimary END
JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, place) ON place <= i.indnkeyatts
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
WHERE c.oid = ANY(%s)
ORDER BY c.oid, k.place
"""
_FILES = """
SELECT p.relid::oid::bigint, n.nspname, c.relname, pg_relation_filenode(c.oid)::bigint,
       pg_relation_size(c.oid) / current_setting('block_size')::bigint
FROM (SELECT %(oid)s::oid AS relid UNION SELECT relid FROM pg_partition_tree(%(oid)s::oid)) p
JOIN pg_class c ON c.oid = p.relid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' ORDER BY 1
"""


@dataclass(frozen=True)
class Column:
    """One column of a table. ``declared`` is the type it was given; ``type`` what that is made of."""

    name: str
    declared: int
    type: TypeInfo
    required: bool = False


@dataclass(frozen=True)
class Table:
    """A table and the columns that its changes carry. ``key``: those of the replica identity or primary key.

    ``owned`` tells whether the connector's user may do with it what only owners may.
    """

    oid: int
    schema: str
    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    partitioned: bool = False
    identity: str = "d"
    owned: bool = True

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class File:
    """A file of rows: a plain table, or one of the parts of a partitioned one."""

    schema: str
    name: str
    node: int
    pages: int


@dataclass(frozen=True)
class Selection:
    """Which tables a connector captures: regular expressions over ``schema.table``, as Debezium reads them."""

    included: tuple[re.Pattern[str], ...] = ()
    excluded: tuple[re.Pattern[str], ...] = ()
    schemas: tuple[re.Pattern[str], ...] = ()
    excluded_schemas: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def of(cls, own: Mapping[str, Any]) -> Selection:
        """From the lists of tables and schemas to include and to exclude."""
        names = ("table.include.list", "table.exclude.list", "schema.include.list", "schema.exclude.list")
        return cls(*(tuple(_pattern(name, text) for text in own[name] or () if text) for name in names))

    def takes(self, schema: str, name: str) -> bool:
        full = f"{schema}.{name}"
        if self.schemas and not any(pattern.fullmatch(schema) for pattern in self.schemas):
            return False
        if any(pattern.fullmatch(schema) for pattern in self.excluded_schemas):
            return False
        if any(pattern.fullmatch(full) for pattern in self.excluded):
            return False
        return not self.included or any(pattern.fullmatch(full) for pattern in self.included)


def _pattern(key: str, text: str) -> re.Pattern[str]:
    try:
        return java_pattern(f"(?i){text}")
    except ConfigError as error:
        raise ConfigError.invalid(key, text, f"not a regular expression over schema.table: {error}") from None


def find_tables(connection: Connection[Any], selection: Selection, oid: int | None = None) -> list[Table]:
    """The captured tables in order of their names, or the one with an oid if it is captured."""
    found = [row for row in connection.execute(_TABLES, {"oid": oid}).fetchall() if selection.takes(row[1], row[2])]
    oids = [row[0] for row in found]
    if not oids:
        return []
    columns: dict[int, list[Column]] = {}
    for table, name, required, declared, *about in connection.execute(_COLUMNS, [oids]):
        base, modifier, element, labels, output = about
        kind = TypeInfo(base, modifier, element, tuple(labels), output)
        columns.setdefault(table, []).append(Column(name, declared, kind, required))
    keys: dict[int, list[str]] = {}
    for table, name in connection.execute(_KEYS, [oids]):
        keys.setdefault(table, []).append(name)
    return [
        Table(at, schema, name, tuple(columns.get(at, ())), tuple(keys.get(at, ())), parts, identity, owned)
        for at, schema, name, parts, identity, owned in found
    ]


def files_of(connection: Connection[Any], table: Table) -> list[File]:
    """Where the rows of a table are, in a stable order."""
    rows = connection.execute(_FILES, {"oid": table.oid}).fetchall()
    return [File(schema, name, node, pages) for _, schema, name, node, pages in rows]


def have_same_nodes(connection: Connection[Any], files: Sequence[File]) -> bool:
    """Whether files are still those of their tables: none was rewritten, dropped or renamed."""
    names = [quoted(file.schema, file.name) for file in files]
    rows = connection.execute(
        "SELECT pg_relation_filenode(to_regclass(name))::bigint"
        " FROM unnest(%s::text[]) WITH ORDINALITY AS t(name, place) ORDER BY place",
        [names],
    )
    return [node for (node,) in rows] == [file.node for file in files]


def file_number(files: Sequence[File]) -> int:
    """A number that changes when a table is rewritten, so that places in it mean something else."""
    return files[0].node if len(files) == 1 else crc32(repr([file.node for file in files]).encode())


def quoted(*names: str) -> str:
    """A (qualified) name as SQL wants it, whatever is in it."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def literal(text: str) -> str:
    """A text as SQL wants it."""
    return "'" + text.replace("'", "''") + "'"
