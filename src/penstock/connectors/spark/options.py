"""The keys that say what Spark reads or writes, the same for source and sink."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api import ConfigDef, ConfigKey, Importance, Type, non_empty_string
from penstock.api.jdbc import with_driver

OPTION_PREFIX = "spark.option."

SPARK_KEYS = ConfigDef(
    ConfigKey(
        "spark.format",
        Type.STRING,
        importance=Importance.HIGH,
        doc="The Spark format: parquet, csv, json, orc, text, jdbc, or the name of any data source Spark has: those of "
        "others, JDBC drivers and object stores need spark.jars.packages in the worker file. Options of the format are "
        f"given as {OPTION_PREFIX}<name>; the driver of JDBC follows from the URL where it is known.",
        validator=non_empty_string,
    ),
    ConfigKey("spark.path", Type.STRING, None, Importance.HIGH, "The path, for formats that have one."),
)


def format_options(config: Mapping[str, str]) -> dict[str, str]:
    """The options of the format, without their prefix; for JDBC with the driver that goes with the URL."""
    options = {
        key.removeprefix(OPTION_PREFIX): value
        for key, value in config.items()
        if key.startswith(OPTION_PREFIX) and value
    }
    return with_driver(config.get("spark.format"), options)


def wrong_options(config: Mapping[str, str]) -> dict[str, list[str]]:
    """Why Spark could not do anything with these settings, by key."""
    if config.get("spark.format", "").lower() != "jdbc":
        return {}
    given = {name.lower() for name in format_options(config)}
    url, table = f"{OPTION_PREFIX}url", f"{OPTION_PREFIX}dbtable"
    wrong = {}
    if "url" not in given:
        wrong[url] = [f"JDBC needs a URL, such as {url}=jdbc:postgresql://db.example.org/shop"]
    if not given & {"dbtable", "query"}:
        wrong[table] = [f"JDBC needs a table: {table}=<name> (to read also {OPTION_PREFIX}query=SELECT …)"]
    return wrong
