"""Reads what any Spark format reads, in batches: rows beyond the last value of a growing column, or new files."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.api import (
    Config,
    ConfigError,
    ConfigKey,
    Importance,
    PluginError,
    Record,
    Schema,
    SchemaType,
    SourceConnector,
    SourceOffset,
    SourceOffsets,
    SourcePartition,
    SourceTask,
    Type,
    at_least,
    non_empty_string,
)
from penstock.api.arrow import schema_of
from penstock.api.task import Frame

from .options import SPARK_KEYS, format_options, wrong_options

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession

log = logging.getLogger(__name__)

SOURCE, AFTER = "source", "after"
PATH, READ = "path", "read"

CONFIG = SPARK_KEYS.extended(
    ConfigKey(
        "topic", Type.STRING, importance=Importance.HIGH, doc="The topic to write to.", validator=non_empty_string
    ),
    ConfigKey(
        "offset.column",
        Type.STRING,
        None,
        Importance.HIGH,
        "A column that only grows: each batch reads the rows beyond the largest value of the batch before. Rows that "
        "come later with an equal or smaller value, or without one, are never read. Without this key, each file below "
        "spark.path is read once; a file must appear whole, for instance by being renamed into its place.",
    ),
    ConfigKey("key.columns", Type.LIST, "", Importance.MEDIUM, "The columns that make the key; one alone is the key."),
    ConfigKey(
        "spark.schema", Type.STRING, None, Importance.MEDIUM, "The columns and types, as in 'id INT, name STRING'."
    ),
    ConfigKey(
        "poll.interval.ms",
        Type.LONG,
        5000,
        Importance.MEDIUM,
        "How long to wait before looking again when there was nothing new.",
        validator=at_least(0),
    ),
    ConfigKey(
        "max.rows", Type.INT, 0, Importance.LOW, "Rows a batch with offset.column; 0: all there are.", at_least(0)
    ),
    ConfigKey("max.files", Type.INT, 100, Importance.LOW, "Files a batch without offset.column.", at_least(1)),
)


class SparkSourceTask(SourceTask):
    """Asks Spark for the rows that are new since the committed offsets.

    Source partitions: ``{"source"}`` → ``{"after"}``, the largest value read of ``offset.column``; or one
    ``{"path"}`` → ``{"read": true}`` for each file, so that a single file can be read again by resetting it.
    """

    def configure(self, config: Mapping[str, str]) -> None:
        super().configure(config)
        self._own = CONFIG.parse(config)
        self._options = format_options(config)
        self._next_look = 0.0
        self._missing = False
        self._schemas: dict[Any, tuple[Schema, Schema | None]] = {}

    def load(self, spark: SparkSession, offsets: SourceOffsets) -> Frame | None:
        if time.monotonic() < self._next_look:
            return None
        frame = self._growing(spark, offsets) if self._own["offset.column"] else self._new_files(spark, offsets)
        if frame is None:
            self._next_look = time.monotonic() + self._own["poll.interval.ms"] / 1000
        return frame

    def _reader(self, spark: SparkSession) -> DataFrameReader:
        reader = spark.read.format(self._own["spark.format"]).options(**self._options)
        return reader.schema(self._own["spark.schema"]) if self._own["spark.schema"] else reader

    def _growing(self, spark: SparkSession, offsets: SourceOffsets) -> Frame | None:
        from pyspark.sql import functions as sql

        reader, path = self._reader(spark), self._own["spark.path"]
        rows = reader.load(path) if path else reader.load()
        column = self._own["offset.column"]
        if column not in rows.columns:
            raise PluginError(
                f"There is no column '{column}' (offset.column); the columns are {', '.join(rows.columns)}"
            )
        partition = {SOURCE: path or self._own["spark.format"]}
        committed = offsets.get(partition)
        is_timestamp = rows.schema[column].dataType.typeName() == "timestamp"
        fresh = rows.filter(sql.col(column).isNotNull())
        if committed is not None:
            fresh = fresh.filter(sql.col(column) > _literal(committed[AFTER], rows, column, is_timestamp))
        looked_at = fresh.select(column)
        if self._own["max.rows"]:
            looked_at = looked_at.orderBy(column).limit(self._own["max.rows"])
        largest = sql.max(sql.unix_micros(column) if is_timestamp else sql.col(column))
        found = looked_at.agg(largest.cast("string").alias(AFTER)).collect()[0][AFTER]
        if found is None:
            return None
        until = fresh.filter(sql.col(column) <= _literal(found, rows, column, is_timestamp))
        return Frame(until, [(partition, {AFTER: found})])

    def _new_files(self, spark: SparkSession, offsets: SourceOffsets) -> Frame | None:
        files = self._list_files(spark)
        known = {partition.get(PATH) for partition, _ in offsets.all()}
        fresh = [path for path in files if path not in known][: self._own["max.files"]]
        if not fresh:
            return None
        reader = self._reader(spark)
        if any(_PARTITION_FOLDER.search(path) for path in fresh) and "basepath" not in map(str.lower, self._options):
            reader = reader.option("basePath", self._own["spark.path"])
        return Frame(reader.load(fresh), [({PATH: path}, {READ: True}) for path in fresh])

    def _list_files(self, spark: SparkSession) -> list[str]:
        """Every file below the path, without opening any."""
        from pyspark.errors import AnalysisException

        path = self._own["spark.path"]
        listing = {name: value for name, value in self._options.items() if name.lower() in _LISTING_OPTIONS}
        try:
            files = sorted(spark.read.format("binaryFile").options(**listing).load(path).inputFiles())
        except AnalysisException as error:
            if "PATH_NOT_FOUND" not in str(error):
                raise
            if not self._missing:
                log.warning("Couldn't find %s for SparkSource, waiting for it to be created", path)
            self._missing = True
            return []
        self._missing = False
        return files

    def records(self, rows: pa.RecordBatch) -> Iterator[Record]:
        value_schema, key_schema = self._schemas_of(rows.schema)
        topic, key_columns = self._own["topic"], self._own["key.columns"]
        for row in rows.to_pylist(maps_as_pydicts="strict"):
            key: Any = None
            if key_columns:
                key = row[key_columns[0]] if len(key_columns) == 1 else {name: row[name] for name in key_columns}
            yield Record(row, key, topic, value_schema=value_schema, key_schema=key_schema)

    def _schemas_of(self, arrow: pa.Schema) -> tuple[Schema, Schema | None]:
        known = self._schemas.get(arrow)
        if known is None:
            import pyarrow as pa

            value = schema_of(pa.struct(list(arrow))).with_(optional=False)
            known = self._schemas[arrow] = (value, _key_schema(value, self._own["key.columns"]))
        return known


class SparkSource(SourceConnector):
    """Rows of any Spark format into a topic, by one task whose batches are Spark jobs."""

    version = "0.1.0"
    task = SparkSourceTask
    config = CONFIG

    def validate(self, settings: Config) -> Mapping[str, Sequence[str]]:
        if settings.get("spark.path") or settings.get("offset.column"):
            return wrong_options(settings)
        needed = "Set spark.path to read new files, or offset.column to read rows by a growing column."
        return {**wrong_options(settings), "spark.path": [needed]}

    def task_configs(self, max_tasks: int) -> Sequence[Config]:
        return [dict(self.settings)]

    def alter_offsets(self, config: Config, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]) -> bool:
        """Check that each offset is one this connector could have made."""
        shapes = ({SOURCE}, {AFTER}) if config.get("offset.column") else ({PATH}, {READ})
        for partition, offset in offsets:
            if offset is not None and (set(partition), set(offset)) != shapes:
                keys, values = (next(iter(names)) for names in shapes)
                raise ConfigError(f"Partitions should look like {{'{keys}': …}} and offsets like {{'{values}': …}}")
        return True


_PARTITION_FOLDER = re.compile(r"/[^/=]+=[^/]*/")
_LISTING_OPTIONS = {"recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter"}


def _literal(value: Any, rows: DataFrame, column: str, is_timestamp: bool) -> Column:
    from pyspark.sql import functions as sql

    if is_timestamp:
        return sql.timestamp_micros(sql.lit(int(value)))
    return sql.lit(str(value)).cast(rows.schema[column].dataType)


def _key_schema(value: Schema, columns: Sequence[str]) -> Schema | None:
    missing = [name for name in columns if name not in value.by_name]
    if missing:
        raise PluginError(
            f"There is no column '{missing[0]}' (key.columns); the columns are {', '.join(value.by_name)}"
        )
    if not columns:
        return None
    if len(columns) == 1:
        return value.by_name[columns[0]].schema
    return Schema(SchemaType.STRUCT, fields=tuple(value.by_name[name] for name in columns))
