"""The keys that say what Spark reads or writes, the same for source and sink."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api import ConfigDef, ConfigKey, Importance, Type, non_empty_string

OPTION_PREFIX = "spark.option."

SPARK_KEYS = ConfigDef(
    ConfigKey(
        "spark.format",
        Type.STRING,
        importance=Importance.HIGH,
        doc="The Spark format: parquet, csv, json, orc, text, jdbc, or the name of any data source Spark has. Options "
        f"of the format are given as {OPTION_PREFIX}<name>.",
        validator=non_empty_string,
    ),
    ConfigKey("spark.path", Type.STRING, None, Importance.HIGH, "The path, for formats that have one."),
)


def format_options(config: Mapping[str, str]) -> dict[str, str]:
    """The options of the format, without their prefix."""
    return {
        key.removeprefix(OPTION_PREFIX): value
        for key, value in config.items()
        if key.startswith(OPTION_PREFIX) and value
    }
