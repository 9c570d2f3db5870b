"""Driver side of links that need Spark: one job for the parked records of a batch, and the rows that made it fail."""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from penstock.api.errors import PluginError
from penstock.api.rows import ROW
from penstock.api.transform import FrameTransform

from .frames import jobs_of
from .loading import load
from .parked import ROW_BITS, Fault, Outcome, Parked, ParkedTable, Resumed
from .splits import TaskSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXPLAINED_ROWS = 20
"""For so many rows of a batch the exact reason is found out, which takes a query each; more share that of the first."""

_PART = "_part"
_UNEXPLAINED = Fault("org.apache.spark.SparkException", "Spark failed, but not with any of the records alone")
_DATA_ERRORS = ("22", "P0001")
"""What the SQLSTATE of an error starts with that a row is to blame for."""

logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)


def run(spark: SparkSession, spec: TaskSpec, parked: Sequence[Parked]) -> list[Resumed]:
    """Take parked records through the link they wait for. Blocks; belongs on a thread of its own.

    Rows that fail are in the answer. What fails for another reason (syntax, a table that is not there) is raised.
    """
    ref = spec.transforms[parked[0].place].transform
    transform: FrameTransform = load(ref.target, spec.plugin_path)()
    transform.configure(ref.settings)
    outcomes: dict[str, Outcome] = {}
    with jobs_of(spark, spec):
        for number, tables in enumerate(_by_schema(parked)):
            job = _Job(spark, transform, tables, Path(parked[0].folder) / f"result-{number}")
            outcomes.update(zip((table.path for table in tables), job.run(), strict=True))
    return [Resumed(group, [outcomes[table.path] for table in group.tables]) for group in parked]


def discard(parked: Sequence[Parked]) -> None:
    """Remove the files of parked records."""
    for group in parked:
        shutil.rmtree(group.folder, ignore_errors=True)


def _by_schema(parked: Sequence[Parked]) -> list[list[ParkedTable]]:
    groups: list[list[ParkedTable]] = []
    for table in (table for group in parked for table in group.tables):
        for known in groups:
            if known[0].schema.equals(table.schema) and known[0].inferred == table.inferred:
                known.append(table)
                break
        else:
            groups.append([table])
    return groups


@dataclass
class _Job:
    """The rows of some tables of one schema on their way through a transform."""

    spark: SparkSession
    transform: FrameTransform
    tables: Sequence[ParkedTable]
    folder: Path

    def run(self) -> list[Outcome]:
        from pyspark.errors import AnalysisException, ParseException

        rows = self._rows()
        try:
            try:
                self._write(rows)
                return self._outcomes({})
            except ParseException:
                raise
            except AnalysisException as error:
                return [Outcome(fault=_fault(error)) for _ in self.tables]
        except Exception as error:
            if _data_error(error) is None:
                raise
        faults = self._isolate(rows)
        self._write(rows.filter(~rows[ROW].isin(list(faults))))
        return self._outcomes(faults)

    def _rows(self) -> DataFrame:
        from pyspark.sql import functions as sql

        frames = [
            self.spark.read.parquet(Path(table.path).as_uri()).withColumn(ROW, sql.col(ROW) + (number << ROW_BITS))
            for number, table in enumerate(self.tables)
        ]
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.unionByName(frame)
        return whole

    def _apply(self, rows: DataFrame) -> DataFrame:
        changed = self.transform.apply_frame(rows, self.tables[0].inferred)
        if ROW not in changed.columns:
            raise PluginError(f"{type(self.transform).__name__} lost the column {ROW}: nobody knows whose the rows are")
        return changed

    def _write(self, rows: DataFrame) -> None:
        from pyspark.sql import functions as sql

        changed = self._apply(rows)
        changed = changed.select(*(_storable(changed, name) for name in changed.columns))
        if len(self.tables) > 1:
            changed = changed.withColumn(_PART, sql.shiftright(changed[ROW], ROW_BITS))
        writer = changed.write.mode("overwrite")
        (writer.partitionBy(_PART) if len(self.tables) > 1 else writer).parquet(self.folder.as_uri())

    def _outcomes(self, faults: dict[int, Fault]) -> list[Outcome]:
        found = []
        for number, _ in enumerate(self.tables):
            folder = self.folder / f"{_PART}={number}" if len(self.tables) > 1 else self.folder
            own = {row & ((1 << ROW_BITS) - 1): fault for row, fault in faults.items() if row >> ROW_BITS == number}
            found.append(Outcome([str(path) for path in sorted(folder.glob("part-*.parquet"))], own))
        return found

    def _isolate(self, rows: DataFrame) -> dict[int, Fault]:
        """Which rows fail, and why."""
        failing = self.transform.failing(rows, self.tables[0].inferred)
        bad = list(self._halved(rows)) if failing is None else sorted(row[ROW] for row in failing.collect())
        known = {row: self._reason(row) for row in bad[:EXPLAINED_ROWS]}
        first = next((fault for fault in known.values() if fault is not None), _UNEXPLAINED)
        shared = Fault(first.exception, f"{first.message} (the first reason of {len(bad)} failures in one batch)")
        return {row: known.get(row) or shared for row in bad}

    def _halved(self, rows: DataFrame) -> Iterator[int]:
        numbers = [row[ROW] for row in rows.select(ROW).orderBy(ROW).collect()]
        spans = [numbers]
        while spans:
            span = spans.pop()
            if self._failure(rows.filter(rows[ROW].between(span[0], span[-1])), _evaluate) is None:
                continue
            if len(span) == 1:
                yield span[0]
            else:
                spans += [span[len(span) // 2 :], span[: len(span) // 2]]

    def _reason(self, row: int) -> Fault | None:
        number = row & ((1 << ROW_BITS) - 1)
        alone = pq.read_table(self.tables[row >> ROW_BITS].path, filters=[(ROW, "=", number)])
        return self._failure(self.spark.createDataFrame(alone), lambda changed: changed.collect())

    def _failure(self, rows: DataFrame, evaluate: Callable[[DataFrame], object]) -> Fault | None:
        """Why these rows fail, if they do."""
        try:
            evaluate(self._apply(rows))
        except Exception as error:
            return _fault(error)
        return None


def _evaluate(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _storable(frame: DataFrame, name: str) -> Any:
    from pyspark.sql.types import NullType

    column = frame[f"`{name.replace('`', '``')}`"]
    return column.cast("string").alias(name) if isinstance(frame.schema[name].dataType, NullType) else column


def _fault(error: Exception) -> Fault:
    java = _data_error(error) or _java(error)
    if java is None:
        return Fault(type(error).__name__, str(error))
    return Fault(java.getClass().getName(), str(java.getMessage()).partition("\n")[0])


def _data_error(error: Exception) -> Any:
    """The Java exception, deep in another one perhaps, for which the data of some row is to blame."""
    from py4j.java_gateway import is_instance_of
    from pyspark import SparkContext

    java = _java(error)
    while java is not None:
        if is_instance_of(SparkContext._gateway, java, "org.apache.spark.SparkThrowable"):
            with contextlib.suppress(Exception):
                state = java.getSqlState()
                if state is not None and state.startswith(_DATA_ERRORS):
                    return java
        java = java.getCause()
    return None


def _java(error: Exception) -> Any:
    return getattr(error, "java_exception", None) or getattr(error, "_origin", None)
