"""Columns that a query needs and rows do not have, and expressions that give null instead of failing."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock.api.rows import ROW

if TYPE_CHECKING:
    from pyspark.errors import AnalysisException
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

log = logging.getLogger(__name__)

_QUOTED = re.compile(r"`((?:[^`]|``)*)`")


def missing_column(error: AnalysisException, rows: DataFrame, view: str) -> Sequence[str] | None:
    """The path of the field for want of which Spark could not understand a query; ``None`` for another reason."""
    condition, parameters = error.getCondition() or "", error.getMessageParameters() or {}
    if condition.startswith("UNRESOLVED_COLUMN"):
        path = [part.replace("``", "`") for part in _QUOTED.findall(parameters.get("objectName", ""))]
        path = path[1:] if path[:1] == [view] and len(path) > 1 else path
        known = {name.lower() for name in rows.columns}
        return path if path and path[0].lower() not in known else None
    if condition == "FIELD_NOT_FOUND":
        wanted = _QUOTED.findall(parameters.get("fieldName", ""))
        holders = list(_structs_with(rows.schema, _QUOTED.findall(parameters.get("fields", ""))))
        return [*holders[0], wanted[0]] if wanted and holders else None
    return None


def _structs_with(schema: StructType, names: Sequence[str], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    from pyspark.sql.types import StructType

    for field in schema:
        if isinstance(field.dataType, StructType):
            path = (*above, field.name)
            if field.dataType.names == list(names):
                yield path
            yield from _structs_with(field.dataType, names, path)


def with_null(rows: DataFrame, path: Sequence[str]) -> DataFrame:
    """The rows with one field more, which is null everywhere."""
    from pyspark.sql import functions as sql

    first, *rest = path
    nothing = sql.lit(None)
    if first in rows.columns:
        return rows.withColumn(first, rows[_quoted(first)].withField(".".join(map(_quoted, rest)), nothing))
    for name in reversed(rest):
        nothing = sql.struct(nothing.alias(name))
    return rows.withColumn(first, nothing)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def without_errors(rows: DataFrame, select: str, where: str) -> DataFrame | None:
    """The rows for which a query fails; ``None`` when it is none that can be asked so, as one with aggregates is.

    Each part of the query is put into a struct and evaluated so that a failure gives null: as a struct is never null
    by itself, null tells a failure from a result.
    """
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as sql

    try:
        fails = _tried(rows, f"struct({select})").isNull()
        if where:
            kept = _tried(rows, f"struct(({where}) AS kept)")
            fails = sql.when(kept.isNull(), True).when(kept["kept"], fails).otherwise(False)
        return rows.filter(fails).select(ROW)
    except AnalysisException:
        return None
    except Exception:
        # Spark's wrapper is none of its public parts: without it the rows are still found, by halving, which is slow.
        log.exception("Rows that fail a query are looked for one half after the other, since they cannot be asked for")
        return None


def _tried(rows: DataFrame, expression: str) -> Column:
    """An expression with Spark's own wrapper behind ``try_add`` and its like around it."""
    from pyspark.sql import functions as sql
    from pyspark.sql.classic.column import Column as ClassicColumn

    jvm: Any = rows.sparkSession._jvm
    bridge = jvm.org.apache.spark.sql.classic.ExpressionUtils
    inner = bridge.expression(sql.expr(expression)._jc)
    return ClassicColumn(bridge.column(jvm.org.apache.spark.sql.catalyst.expressions.TryEval(inner)))
