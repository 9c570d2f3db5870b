"""Writes batches of records in whatever format Spark writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.api import Config, ConfigDef, ConfigKey, Importance, SinkConnector, SinkTask, Type

from .options import SPARK_KEYS, format_options, wrong_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CONFIG: ConfigDef = SPARK_KEYS.extended(
    ConfigKey("spark.table", Type.STRING, None, Importance.MEDIUM, "The table of Spark's catalog to append to."),
    ConfigKey(
        "partition.by", Type.LIST, "", Importance.MEDIUM, "Columns whose values make the folders below the path."
    ),
    ConfigKey(
        "metadata.columns",
        Type.BOOLEAN,
        False,
        Importance.LOW,
        "Add _topic, _partition, _offset, _timestamp and _key to the columns of the value.",
    ),
    ConfigKey(
        "spark.scratch.path",
        Type.STRING,
        None,
        Importance.LOW,
        "A folder that the driver and all executors see, for the batch on its way; needed only on a cluster.",
    ),
)


class SparkSinkTask(SinkTask):
    """Appends each batch in one Spark write: the fields of struct and map values, or one column ``value``.

    A crash between the write and the commit repeats the batch: at least once.
    """

    def configure(self, config: Mapping[str, str]) -> None:
        super().configure(config)
        self._own = CONFIG.parse(config)
        self._options = format_options(config)

    def store(self, dataframe: DataFrame) -> None:
        writer = (
            self._columns(dataframe).write.format(self._own["spark.format"]).mode("append").options(**self._options)
        )
        if self._own["partition.by"]:
            writer = writer.partitionBy(*self._own["partition.by"])
        if self._own["spark.table"]:
            writer.saveAsTable(self._own["spark.table"])
        elif self._own["spark.path"]:
            writer.save(self._own["spark.path"])
        else:
            writer.save()

    def _columns(self, dataframe: DataFrame) -> DataFrame:
        is_struct = dataframe.schema["value"].dataType.typeName() == "struct"
        columns = ["value.*" if is_struct else "value"]
        if self._own["metadata.columns"]:
            columns += [f"{name} AS _{name}" for name in ("topic", "partition", "offset", "timestamp", "key")]
        return dataframe.selectExpr(*columns)


class SparkSink(SinkConnector):
    """Records of some topics into any format that Spark appends to."""

    version = "0.1.0"
    task = SparkSinkTask
    config = CONFIG

    def validate(self, settings: Config) -> Mapping[str, Sequence[str]]:
        return wrong_options(settings)

    def task_configs(self, max_tasks: int) -> Sequence[Config]:
        return [dict(self.settings) for _ in range(max_tasks)]

    def alter_offsets(self, config: Config, offsets: Mapping[tuple[str, int], int | None]) -> bool:
        return True
