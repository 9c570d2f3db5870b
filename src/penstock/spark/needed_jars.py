"""Which jar a connector of Spark's formats will lack, told before it runs: from its keys and the worker file alone.

Only what is certain is told. A worker that names any jars of its own may have the right one under a name that nobody
here knows; then the task tells, from Spark's own error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from penstock.api.jdbc import DRIVERS

from .missing_jars import (
    DRIVER_PACKAGES,
    FILE_SYSTEMS,
    FORMAT_PACKAGES,
    OLD_S3,
    PACKAGES,
    TABLE_FORMATS,
    add_line,
    installed_spark,
    no_old_s3,
    no_table_format,
)

FORMAT, PATH, URL, DRIVER = "spark.format", "spark.path", "spark.option.url", "spark.option.driver"

_OWN_JARS = (
    PACKAGES,
    "spark.jars",
    "spark.driver.extraClassPath",
)
_JDBC = re.compile(r"\s*jdbc:(\w+):", re.IGNORECASE)
_SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


def needed_jar(settings: Mapping[str, str], worker: Mapping[str, str]) -> tuple[str, str] | None:
    """The key that asks for a jar which the worker does not have, and what to do about it."""
    if any(worker.get(key, "").strip() for key in _OWN_JARS) or _has_defaults():
        return None
    for key, found in ((FORMAT, _for_format(settings)), (PATH, _for_path(settings, worker)), (URL, _for_url(settings))):
        if found is not None:
            return key, found
    return None


def _for_format(settings: Mapping[str, str]) -> str | None:
    name = settings.get(FORMAT, "").lower()
    table = TABLE_FORMATS.get(name)
    if table is not None:
        return None if _is_there(table.package) else no_table_format(table, installed_spark())
    package = FORMAT_PACKAGES.get(name)
    if package is None or _is_there(package()):
        return None
    return add_line(f"Spark has no jar for the format {name} (spark.format)", package())


def _for_path(settings: Mapping[str, str], worker: Mapping[str, str]) -> str | None:
    found = _SCHEME.match(settings.get(PATH) or "")
    scheme = found[1].lower() if found else ""
    if f"spark.hadoop.fs.{scheme}.impl" in worker:
        return None
    if scheme in OLD_S3:
        return no_old_s3(scheme)
    for _, schemes, artifact in FILE_SYSTEMS:
        package = f"org.apache.hadoop:{artifact}:{installed_spark().hadoop}"
        if f"{scheme}://" in schemes.split():
            return None if _is_there(package) else add_line(f"Spark has no jar for {scheme}://", package)
    return None


def _for_url(settings: Mapping[str, str]) -> str | None:
    found = _JDBC.match(settings.get(URL) or "")
    scheme = found[1].lower() if found else ""
    if settings.get(FORMAT, "").lower() != "jdbc" or settings.get(DRIVER) or scheme not in DRIVERS:
        return None
    package = DRIVER_PACKAGES[scheme]
    told = f"Spark has no JDBC driver for jdbc:{scheme}: URLs ({DRIVERS[scheme]})"
    return None if _is_there(package) else add_line(told, package)


def _is_there(package: str) -> bool:
    """Whether the jar lies among Spark's own, where some put those they always need."""
    artifact = package.split(":")[1]
    return any(name.startswith(artifact.partition("_")[0]) for name in _jars_of_spark())


@cache
def _jars_of_spark() -> tuple[str, ...]:
    return tuple(path.name for path in (_home() / "jars").glob("*.jar"))


def _has_defaults() -> bool:
    """Whether Spark takes settings from a file of its own, which may name jars."""
    folder = os.environ.get("SPARK_CONF_DIR")
    return ((Path(folder) if folder else _home() / "conf") / "spark-defaults.conf").exists()


def _home() -> Path:
    import pyspark

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
