"""What Spark's connectors say when Spark lacks a jar or a driver, on a real Spark that lacks them all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyspark
import pytest

from penstock.api import PluginError, SourceOffset, SourceOffsets, SourcePartition
from penstock.api.jdbc import DRIVERS, with_driver
from penstock.connectors.spark import SparkSink, SparkSource
from penstock.connectors.spark.options import format_options
from penstock.connectors.spark.sink import SparkSinkTask
from penstock.connectors.spark.source import SparkSourceTask
from penstock.spark import frames
from penstock.spark.missing_jars import DRIVER_PACKAGES, TABLE_FORMATS, installed_spark, missing_jar, wrong_packages
from penstock.spark.session import SparkEngine, start_spark
from penstock.spark.splits import PluginRef, TaskSpec
from penstock.transforms.sql import Sql

TO_DO = re.compile(r"Add spark\.jars\.packages=(\S+) to the worker file .*and start the worker again")
CONVERTER = PluginRef("penstock.converters.string:StringConverter")
SPEC = TaskSpec(
    key="jars",
    connector="c",
    task=0,
    task_target=PluginRef("penstock.connectors.spark.sink:SparkSinkTask"),
    key_converter=CONVERTER,
    value_converter=CONVERTER,
    header_converter=CONVERTER,
)
HADOOP = installed_spark().hadoop


class NoOffsets(SourceOffsets):
    def get(self, partition: SourcePartition) -> SourceOffset | None:
        return None

    def all(self) -> Sequence[tuple[SourcePartition, SourceOffset]]:
        return []


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    engine = start_spark({"spark.master": "local[1]"}, tmp_path_factory.mktemp("spark"))
    yield engine
    engine.stop()


def error_of_sink(engine: SparkEngine, settings: Mapping[str, str]) -> str:
    task = SparkSinkTask()
    task.configure(settings)
    with pytest.raises(PluginError) as error, frames.jobs_of(engine.session, SPEC):
        task.store(engine.session.range(2).withColumnRenamed("id", "value"))
    return str(error.value)


def error_of_source(engine: SparkEngine, settings: Mapping[str, str]) -> str:
    task = SparkSourceTask()
    task.configure({"topic": "t", **settings})
    with pytest.raises(PluginError) as error:
        frames.plan(engine.session, task, NoOffsets(), SPEC)
    return str(error.value)


def package_of(text: str) -> str:
    """The package that an error asks for; the error begins with what to do, and ends with what Spark said."""
    found = TO_DO.search(text)
    assert found is not None, text
    assert "Spark said: " in text[found.end() :]
    assert not text.startswith(("Spark failed", "java.", "org."))
    return found[1]


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "scheme", "package"),
    [
        ("s3a://bucket/orders", "s3a://", f"org.apache.hadoop:hadoop-aws:{HADOOP}"),
        ("s3://bucket/orders", "write the path with s3a:// instead of s3://", f"org.apache.hadoop:hadoop-aws:{HADOOP}"),
        ("gs://bucket/orders", "gs://", f"org.apache.hadoop:hadoop-gcp:{HADOOP}"),
        ("abfss://c@account.dfs.core.windows.net/x", "abfss://", f"org.apache.hadoop:hadoop-azure:{HADOOP}"),
    ],
)
def test_a_store_of_objects_whose_jar_is_missing(engine: SparkEngine, path: str, scheme: str, package: str) -> None:
    settings = {"spark.format": "parquet", "spark.path": path}
    for error in (error_of_sink(engine, settings), error_of_source(engine, settings)):
        assert scheme in error
        assert package_of(error) == package


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("scheme", DRIVERS)
def test_a_database_whose_driver_is_missing(engine: SparkEngine, scheme: str) -> None:
    settings = {
        "spark.format": "jdbc",
        "spark.option.url": f"jdbc:{scheme}://localhost:1/x",
        "spark.option.dbtable": "orders",
        "offset.column": "id",
    }
    for error in (error_of_sink(engine, settings), error_of_source(engine, settings)):
        assert f"no JDBC driver for jdbc:{scheme}:" in error
        assert package_of(error) == DRIVER_PACKAGES[scheme]


@pytest.mark.integration
@pytest.mark.slow
def test_a_database_whose_driver_nobody_knows(engine: SparkEngine) -> None:
    settings = {"spark.format": "jdbc", "spark.option.url": "jdbc:unheard:of", "spark.option.dbtable": "orders"}
    error = error_of_sink(engine, settings)
    assert package_of(error) == "<group>:<artifact>:<version>"
    assert "spark.option.driver=<class>" in error


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize(
    ("spark_format", "package"),
    [
        ("avro", f"org.apache.spark:spark-avro_{installed_spark().scala}:{pyspark.__version__}"),
        ("no.such.format", "<group>:<artifact>:<version>"),
    ],
)
def test_a_format_whose_jar_is_missing(engine: SparkEngine, spark_format: str, package: str, tmp_path: Path) -> None:
    settings = {"spark.format": spark_format, "spark.path": str(tmp_path / "table")}
    error = error_of_sink(engine, settings)
    assert f"format {spark_format} (spark.format)" in error
    assert package_of(error) == package


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("spark_format", TABLE_FORMATS)
def test_a_table_format_is_told_with_the_spark_it_is_made_for(
    engine: SparkEngine, spark_format: str, tmp_path: Path
) -> None:
    table = TABLE_FORMATS[spark_format]
    error = error_of_sink(engine, {"spark.format": spark_format, "spark.path": str(tmp_path / "table")})
    assert package_of(error) == table.package
    assert all(line in error for line in table.lines)
    if installed_spark().minor != table.spark:
        assert f"pip install 'pyspark=={table.spark}.*'" in error


@pytest.mark.integration
@pytest.mark.slow
def test_a_table_of_sql_whose_driver_is_missing(engine: SparkEngine) -> None:
    transform = Sql()
    transform.configure(
        {
            "select": "record.*",
            "tables": "customers",
            "tables.customers.format": "jdbc",
            "tables.customers.url": "jdbc:mysql://localhost:1/x",
            "tables.customers.dbtable": "customers",
            "join": "CROSS JOIN customers",
        }
    )
    rows = engine.session.range(1).withColumnRenamed("id", "_row")
    with pytest.raises(PluginError) as error, frames.jobs_of(engine.session, SPEC):
        transform.apply_frame(rows, False)
    assert package_of(str(error.value)) == DRIVER_PACKAGES["mysql"]


@pytest.mark.integration
@pytest.mark.slow
def test_other_errors_of_spark_are_told_as_they_are(engine: SparkEngine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    error = error_of_sink(engine, {"spark.format": "parquet", "spark.path": str(tmp_path / "file" / "below")})
    assert error.startswith("Spark failed: ")


def test_errors_that_have_nothing_to_do_with_jars_are_not_explained() -> None:
    assert missing_jar(ValueError("No such column")) is None


@pytest.mark.parametrize(
    "said",
    [
        "java.lang.IncompatibleClassChangeError: class org.apache.iceberg.spark.source.SparkView can not implement "
        "org.apache.spark.sql.connector.catalog.View, because it is not an interface",
        "java.lang.IncompatibleClassChangeError: Found interface org.apache.spark.sql.connector.catalog.CatalogManager"
        ", but class was expected",
        "java.lang.NoSuchMethodError: 'void org.apache.spark.sql.execution.LogicalRDD.<init>(scala.collection.Seq)'",
    ],
)
def test_a_jar_for_another_spark_is_told(said: str) -> None:
    explained = missing_jar(RuntimeError(said))
    assert explained is not None
    assert f"made for another Spark than {pyspark.__version__}" in explained
    assert "penstock doctor" in explained


def test_every_known_driver_has_a_package() -> None:
    assert DRIVERS.keys() == DRIVER_PACKAGES.keys()


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("jdbc:mysql://db/shop", "com.mysql.cj.jdbc.Driver"),
        ("JDBC:PostgreSQL://db/shop", "org.postgresql.Driver"),
        ("jdbc:sqlserver://db;databaseName=shop", "com.microsoft.sqlserver.jdbc.SQLServerDriver"),
        ("jdbc:unheard:of", None),
        ("${file:/secrets/db.properties:url}", None),
    ],
)
def test_the_driver_follows_from_the_url(url: str, driver: str | None) -> None:
    assert with_driver("jdbc", {"url": url}).get("driver") == driver
    assert format_options({"spark.format": "jdbc", "spark.option.url": url}).get("driver") == driver


def test_a_driver_that_is_given_stays_and_other_formats_get_none() -> None:
    own = {"url": "jdbc:mysql://db/shop", "Driver": "org.mariadb.jdbc.Driver"}
    assert with_driver("jdbc", own) == own
    assert with_driver("parquet", {"url": "jdbc:mysql://db/shop"}) == {"url": "jdbc:mysql://db/shop"}
    assert with_driver(None, {}) == {}


def test_jdbc_without_a_url_or_a_table_is_refused_before_it_runs() -> None:
    settings = {"spark.format": "jdbc", "offset.column": "id", "topic": "t"}
    for connector in (SparkSource(), SparkSink()):
        wrong = connector.validate(settings)
        assert set(wrong) == {"spark.option.url", "spark.option.dbtable"}
        assert "jdbc:postgresql://" in wrong["spark.option.url"][0]
        complete = {**settings, "spark.option.url": "jdbc:mysql://db/shop", "spark.option.dbTable": "orders"}
        assert connector.validate(complete) == {}
        assert connector.validate({**settings, "spark.format": "parquet"}) == {}


@pytest.mark.parametrize(
    ("package", "text", "fix"),
    [
        ("org.xerial:sqlite-jdbc", "is no package", "group:artifact:version"),
        ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.13:1.12.0", "made for Spark 3.5", "pyspark==3.5.*"),
        ("io.delta:delta-spark_2.12:3.3.0", "made for Scala 2.12", "delta-spark_2.13 of io.delta"),
        ("org.apache.spark:spark-avro_2.13:3.5.0", "another version than Spark", f":{pyspark.__version__}"),
        ("org.apache.hadoop:hadoop-aws:3.3.4", "another version than Spark's Hadoop", f"hadoop-aws:{HADOOP}"),
    ],
)
def test_packages_that_cannot_go_with_the_installed_spark_are_found(package: str, text: str, fix: str) -> None:
    settings = {"spark.jars.packages": f"org.xerial:sqlite-jdbc:3.54.1.0, {package}"}
    ((found, way_out),) = wrong_packages(settings)
    assert text in found
    assert package in found
    assert fix in way_out


@pytest.mark.parametrize("spark_format", TABLE_FORMATS)
def test_a_table_format_that_is_made_for_another_spark_is_found(spark_format: str) -> None:
    table = TABLE_FORMATS[spark_format]
    found = list(wrong_packages({"spark.jars.packages": table.package}))
    assert bool(found) == (table.spark != installed_spark().minor)
    assert all(f"made for Spark {table.spark}" in text for text, _ in found)


def test_packages_that_go_with_the_installed_spark_are_nothing_to_tell() -> None:
    packages = [*DRIVER_PACKAGES.values(), f"org.apache.hadoop:hadoop-aws:{HADOOP}"]
    packages += [table.package for table in TABLE_FORMATS.values() if table.spark == installed_spark().minor]
    assert list(wrong_packages({"spark.jars.packages": ",".join(packages)})) == []
    assert list(wrong_packages({})) == []
