"""Records that wait for Spark in the middle of their chain, as driver and executors tell each other about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

ROW_BITS = 40
"""Row numbers within a table take so many bits; Spark sees the number of the table above them."""


@dataclass(frozen=True)
class ParkedTable:
    """Rows of one shape in a Parquet file. ``inferred``: of values without a schema."""

    path: str
    schema: pa.Schema
    inferred: bool


@dataclass(frozen=True)
class Parked:
    """The records of one split in front of the link at ``place``, in files below ``folder``."""

    place: int
    folder: str
    tables: Sequence[ParkedTable]


@dataclass(frozen=True)
class Fault:
    """Why Spark could not do with a row: the exception's class and its text."""

    exception: str
    message: str


@dataclass(frozen=True)
class Outcome:
    """What Spark made of one table: files with rows, and rows that failed. A ``fault`` is every row's."""

    files: Sequence[str] = ()
    faults: Mapping[int, Fault] = field(default_factory=dict)
    fault: Fault | None = None


@dataclass(frozen=True)
class Resumed:
    """Parked records with the outcome of each of their tables: they go on behind the link."""

    parked: Parked
    outcomes: Sequence[Outcome]
