"""Which jar Spark lacks, told from its errors, with the line of the worker file that brings it.

Spark names a Java class that it did not find. What a user needs to know is the package that has it: in the version
that goes with the Spark, Scala and Hadoop that are installed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from penstock.api.jdbc import DRIVERS

PACKAGES = "spark.jars.packages"

DRIVER_PACKAGES: Mapping[str, str] = {
    "db2": "com.ibm.db2:jcc:12.1.5.0",
    "h2": "com.h2database:h2:2.5.252",
    "mariadb": "org.mariadb.jdbc:mariadb-java-client:4.0.0",
    "mysql": "com.mysql:mysql-connector-j:26.10.0",
    "oracle": "com.oracle.database.jdbc:ojdbc11:23.26.4.0.0",
    "postgresql": "org.postgresql:postgresql:42.7.14",
    "sqlite": "org.xerial:sqlite-jdbc:3.54.1.0",
    "sqlserver": "com.microsoft.sqlserver:mssql-jdbc:13.6.2.jre11",
}
"""Packages on Maven Central with the drivers of ``penstock.api.jdbc``."""


@dataclass(frozen=True)
class TableFormat:
    """A format of tables whose packages are made for one Spark: the newest there is, and what it needs beside it."""

    title: str
    spark: str
    package: str
    lines: tuple[str, ...] = ()


TABLE_FORMATS: Mapping[str, TableFormat] = {
    "iceberg": TableFormat("Iceberg", "4.1", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"),
    "delta": TableFormat(
        "Delta",
        "4.2",
        "io.delta:delta-spark_2.13:4.4.0",
        (
            "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
        ),
    ),
}

FILE_SYSTEMS = (
    ("org.apache.hadoop.fs.s3a.", "s3a://", "hadoop-aws"),
    ("org.apache.hadoop.fs.azurebfs.", "abfs:// and abfss://", "hadoop-azure"),
    ("org.apache.hadoop.fs.azure.", "wasb:// and wasbs://", "hadoop-azure"),
    ("org.apache.hadoop.fs.gs.", "gs://", "hadoop-gcp"),
)

OLD_S3 = ("s3", "s3n")

_NO_CLASS = re.compile(r"ClassNotFoundException: (?:Class )?([\w.$]+)")
_NO_SCHEME = re.compile(r'No FileSystem for scheme "?([\w+.-]+)"?')
_NO_FORMAT = re.compile(r"Failed to find (?:the )?data source: (\S+?)\.? (?:Make|Please|Avro)")
_NO_DRIVER = "No suitable driver"
_OTHER_VERSION = re.compile(r"java\.lang\.(?:IncompatibleClassChange|NoSuchMethod|NoSuchField|AbstractMethod)Error\b")
_RUNTIME = re.compile(r"-runtime-(\d+\.\d+)_")
_SCALA = re.compile(r"_(2\.\d+)$")


@dataclass(frozen=True)
class InstalledSpark:
    """The versions that packages have to go with."""

    spark: str
    scala: str
    hadoop: str

    @property
    def minor(self) -> str:
        return ".".join(self.spark.split(".")[:2])


@cache
def installed_spark() -> InstalledSpark:
    """What is installed here, read from the names of Spark's jars."""
    import pyspark

    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    names = [path.name for path in (Path(home) / "jars").glob("*.jar")]
    scala = _version_in(names, r"scala-library-(\d+\.\d+)[\d.]*\.jar", "2.13")
    return InstalledSpark(pyspark.__version__, scala, _version_in(names, r"hadoop-client-api-([\d.]+)\.jar", "3.5.0"))


def missing_jar(error: BaseException) -> str | None:
    """What to do about an error of Spark, if it is one of a jar that is missing or made for another Spark."""
    text = "\n".join(_texts(error))
    return next(filter(None, (find(text) for find in _FINDERS)), None)


def wrong_packages(settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Packages of ``spark.jars.packages`` that cannot go with the installed Spark: what is wrong, and what to do."""
    here = installed_spark()
    for package in filter(None, map(str.strip, settings.get(PACKAGES, "").split(","))):
        parts = package.split(":")
        if len(parts) < 3 or not all(parts):
            yield f"{PACKAGES}: {package!r} is no package", "Write it as group:artifact:version, with commas between."
            continue
        group, artifact, version = parts[:3]
        made_for, scala = _made_for(package, artifact), _SCALA.search(artifact)
        if made_for is not None and made_for != here.minor:
            yield (
                f"{package} is made for Spark {made_for}, and {here.spark} is installed",
                f"Take the package for Spark {here.minor}, or install the other Spark: "
                f"pip install 'pyspark=={made_for}.*'",
            )
        elif scala is not None and scala[1] != here.scala:
            right = artifact.removesuffix(scala[0]) + f"_{here.scala}"
            yield f"{package} is made for Scala {scala[1]}, and Spark has {here.scala}", f"Take {right} of {group}."
        elif group == "org.apache.spark" and version != here.spark:
            yield f"{package} is of another version than Spark, {here.spark}", f"Take {group}:{artifact}:{here.spark}."
        elif group == "org.apache.hadoop" and version != here.hadoop:
            yield f"{package} is of another version than Spark's Hadoop", f"Take {group}:{artifact}:{here.hadoop}."


def _made_for(package: str, artifact: str) -> str | None:
    """The Spark that a package is made for, as far as its name tells or it is known."""
    known = next((table.spark for table in TABLE_FORMATS.values() if table.package == package), None)
    runtime = _RUNTIME.search(artifact)
    return runtime[1] if runtime is not None else known


def _no_file_system(text: str) -> str | None:
    hadoop = installed_spark().hadoop
    for name in _NO_CLASS.findall(text):
        for prefix, scheme, artifact in FILE_SYSTEMS:
            if name.startswith(prefix):
                return add_line(f"Spark has no jar for {scheme}", f"org.apache.hadoop:{artifact}:{hadoop}")
    return None


def _no_scheme(text: str) -> str | None:
    found = _NO_SCHEME.search(text)
    if found is None:
        return None
    if found[1] in OLD_S3:
        return no_old_s3(found[1])
    return add_line(f"Spark has no jar for {found[1]}://", None)


def no_old_s3(scheme: str) -> str:
    """What to do about the names that S3 had before."""
    return add_line(
        f"Spark knows S3 as s3a://: write the path with s3a:// instead of {scheme}://",
        f"org.apache.hadoop:hadoop-aws:{installed_spark().hadoop}",
    )


def _no_driver_class(text: str) -> str | None:
    schemes = {driver: scheme for scheme, driver in DRIVERS.items()}
    for name in _NO_CLASS.findall(text):
        if name in schemes:
            scheme = schemes[name]
            return add_line(f"Spark has no JDBC driver for jdbc:{scheme}: URLs ({name})", DRIVER_PACKAGES[scheme])
    return None


def _no_driver(text: str) -> str | None:
    if _NO_DRIVER not in text:
        return None
    told = add_line("Spark has no JDBC driver for this URL", None)
    return f"{told}. Name the driver's Java class in the connector: spark.option.driver=<class>"


def _no_format(text: str) -> str | None:
    found = _NO_FORMAT.search(text)
    if found is None:
        return None
    name = found[1]
    table = TABLE_FORMATS.get(name.lower())
    if table is not None:
        return no_table_format(table, installed_spark())
    package = FORMAT_PACKAGES.get(name.lower())
    return add_line(f"Spark has no jar for the format {name} (spark.format)", package() if package else None)


def _of_spark(artifact: str) -> Callable[[], str]:
    """A package that comes with each Spark."""
    return lambda: f"org.apache.spark:{artifact}_{installed_spark().scala}:{installed_spark().spark}"


FORMAT_PACKAGES: Mapping[str, Callable[[], str]] = {
    "avro": _of_spark("spark-avro"),
    "kafka": _of_spark("spark-sql-kafka-0-10"),
}
"""Formats of Spark's own that are jars apart."""


def no_table_format(table: TableFormat, here: InstalledSpark) -> str:
    """What to do where the jar of a format of tables is not there."""
    if here.minor == table.spark:
        what = f"Spark has no jar for {table.title}"
    else:
        what = (
            f"The newest {table.title} is made for Spark {table.spark}, and {here.spark} is installed: "
            f"pip install 'pyspark=={table.spark}.*'"
        )
    told = add_line(what, table.package)
    return f"{told}. {table.title} also needs the lines {' and '.join(table.lines)}" if table.lines else told


def _other_version(text: str) -> str | None:
    if _OTHER_VERSION.search(text) is None:
        return None
    newest = " and ".join(f"{table.spark} for {table.title}" for table in TABLE_FORMATS.values())
    return (
        f"A jar of {PACKAGES} is made for another Spark than {installed_spark().spark}, which is installed: take the "
        f"package for it, or install the Spark of the package (pip install 'pyspark==<version>.*'; {newest}). "
        "penstock doctor <worker file> names packages that do not fit"
    )


_FINDERS: tuple[Callable[[str], str | None], ...] = (
    _no_file_system,
    _no_scheme,
    _no_driver_class,
    _no_driver,
    _no_format,
    _other_version,
)


def add_line(what: str, package: str | None) -> str:
    """What is wrong, and the line of the worker file that mends it."""
    line = f"{PACKAGES}={package or '<group>:<artifact>:<version>'}"
    which = "" if package else " with the package that has it"
    return f"{what}. Add {line} to the worker file{which} (commas between several) and start the worker again"


def _texts(error: BaseException) -> Iterator[str]:
    """What an error and its causes say, in Java and in Python."""
    java: Any = getattr(error, "java_exception", None)
    if java is None:
        yield str(error)
    while java is not None:
        yield str(java.toString())
        java = java.getCause()


def _version_in(names: list[str], pattern: str, otherwise: str) -> str:
    return next((found[1] for found in (re.fullmatch(pattern, name) for name in names) if found), otherwise)
