"""Sql: Spark SQL over the fields of records."""

from __future__ import annotations

import logging
import re
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock.api.config import ConfigDef, ConfigKey, Importance, Type, Width, non_empty_string
from penstock.api.errors import ConfigError
from penstock.api.jdbc import with_driver
from penstock.api.rows import ROW
from penstock.api.transform import FrameTransform

from .sql_columns import missing_column, with_null, without_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

VIEW = "record"

_OUR_ROW = "_row_of_the_record"
_TABLE_NAME = re.compile(r"[A-Za-z_]\w*")


def _check_select(name: str, value: Any) -> None:
    non_empty_string(name, value)
    _parse(name, value, f"SELECT {value} FROM {VIEW}")


def _check_where(name: str, value: Any) -> None:
    if value:
        _parse(name, value, f"SELECT 1 FROM {VIEW} WHERE {value}")


def _parse(name: str, value: str, query: str) -> None:
    """Check the syntax if Spark is there to ask; otherwise the first batch finds out."""
    module = sys.modules.get("pyspark.sql")
    session = getattr(getattr(module, "SparkSession", None), "_instantiatedSession", None)
    if session is None:
        return
    from pyspark.errors import ParseException

    try:
        session._jsparkSession.sessionState().sqlParser().parsePlan(query)
    except ParseException as error:
        raise ConfigError.invalid(name, value, str(error).strip().partition("\n")[0]) from None
    except Exception as error:
        log.debug("Spark could not be asked about %s: %s", name, error)


def _check_tables(name: str, value: Any) -> None:
    wrong = next((table for table in value or () if not _TABLE_NAME.fullmatch(table) or table == VIEW), None)
    if wrong is not None:
        raise ConfigError.invalid(name, wrong, f"A table needs a plain name, and another one than {VIEW}")


class Sql(FrameTransform):
    """Replaces the value with what a Spark SQL query selects from its fields, for the records the query keeps.

    The query is: SELECT select FROM record join WHERE where. The fields of the value are columns of record, and so are
    _key, _topic, _partition, _offset, _timestamp and, for values that are no structs, _value; columns of these names in
    the result replace that part of the record. Tombstones pass. Every batch costs a Spark job of its own.
    """

    config = ConfigDef(
        ConfigKey(
            "select",
            Type.STRING,
            "*",
            Importance.HIGH,
            "What to select: the fields of the new value, as in id, upper(name) AS name, amount * 2 AS doubled.",
            _check_select,
            width=Width.LONG,
        ),
        ConfigKey(
            "where",
            Type.STRING,
            "",
            Importance.HIGH,
            "Which records to keep; the others are dropped. Empty keeps all.",
            _check_where,
            width=Width.LONG,
        ),
        ConfigKey(
            "tables",
            Type.LIST,
            [],
            Importance.LOW,
            "Names of tables to join with. Each is read anew for every batch with spark.read, from the keys"
            " tables.<name>.format, tables.<name>.path and tables.<name>.<option of the format>.",
            _check_tables,
        ),
        ConfigKey(
            "join",
            Type.STRING,
            "",
            Importance.LOW,
            "The joins, as in LEFT JOIN customers USING (customer_id).",
            width=Width.LONG,
        ),
    )

    def configure(self, settings: Mapping[str, Any]) -> None:
        parsed = self.config.parse(settings)
        self._select: str = parsed["select"]
        self._where: str = parsed["where"]
        self._join: str = parsed["join"]
        self._tables = {name: _options(settings, f"tables.{name}.") for name in parsed["tables"]}

    def apply_frame(self, rows: DataFrame, inferred: bool) -> DataFrame:
        return self._query(self._completed(rows, inferred))

    def failing(self, rows: DataFrame, inferred: bool) -> DataFrame | None:
        if self._join:
            return None
        return without_errors(self._completed(rows, inferred).alias(VIEW), self._select, self._where)

    def _completed(self, rows: DataFrame, inferred: bool) -> DataFrame:
        """The rows with nulls for fields that the query names and none of the records has."""
        from pyspark.errors import AnalysisException

        while inferred:
            try:
                self._query(rows)
                break
            except AnalysisException as error:
                missing = missing_column(error, rows, VIEW)
                if missing is None:
                    raise
                rows = with_null(rows, missing)
        return rows

    def _query(self, rows: DataFrame) -> DataFrame:
        spark = rows.sparkSession
        frames = {VIEW: rows, **{name: _table(spark, options) for name, options in self._tables.items()}}
        with _views(frames) as views:
            named = ", ".join(f"{name} AS (SELECT * FROM {view})" for name, view in views.items())
            where = f" WHERE {self._where}" if self._where else ""
            select = f"SELECT {self._select}, {VIEW}.{ROW} AS {_OUR_ROW} FROM {VIEW} {self._join}{where}"
            found = spark.sql(f"WITH {named} {select}")
        return _with_our_row(found)


def _with_our_row(found: DataFrame) -> DataFrame:
    """What was selected, with the number of the record whatever the query selected under that name."""
    kept = [place for place, name in enumerate(found.columns) if name.lower() not in (ROW, _OUR_ROW)]
    positional = found.toDF(*(f"c{place}" for place in range(len(found.columns))))
    names = [(f"c{place}", found.columns[place]) for place in kept]
    names.append((f"c{len(found.columns) - 1}", ROW))
    return positional.select(*(positional[column].alias(name) for column, name in names))


def _options(settings: Mapping[str, Any], prefix: str) -> dict[str, str]:
    return {key[len(prefix) :]: str(value) for key, value in settings.items() if key.startswith(prefix)}


def _table(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    own = dict(options)
    path, spark_format = own.pop("path", None), own.pop("format", None)
    reader = spark.read if spark_format is None else spark.read.format(spark_format)
    return reader.options(**with_driver(spark_format, own)).load(path)


@contextmanager
def _views(frames: Mapping[str, DataFrame]) -> Iterator[Mapping[str, str]]:
    """Names for frames that nobody else in the session uses, for the time in which a query is understood."""
    views = {name: f"penstock_{name}_{uuid.uuid4().hex}" for name in frames}
    try:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(views[name])
        yield views
    finally:
        for name, frame in frames.items():
            frame.sparkSession.catalog.dropTempView(views[name])
