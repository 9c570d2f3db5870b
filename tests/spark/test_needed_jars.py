"""Jars that a worker does not have are told when a configuration is checked, where that is certain."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from penstock.api.jdbc import DRIVERS
from penstock.runtime.plugins import Plugins
from penstock.runtime.providers import References
from penstock.runtime.validation import validate
from penstock.spark.missing_jars import DRIVER_PACKAGES, TABLE_FORMATS, installed_spark
from penstock.spark.needed_jars import needed_jar

HADOOP = installed_spark().hadoop
SINK = {"name": "c", "connector.class": "SparkSink", "topics": "orders"}
MYSQL = {
    "spark.format": "jdbc",
    "spark.option.url": "jdbc:mysql://db.example.org/shop",
    "spark.option.dbtable": "orders",
}


@pytest.fixture(autouse=True)
def spark_without_jars_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)


def told(settings: Mapping[str, str], worker: Mapping[str, str] | None = None) -> dict[str, list[str]]:
    configs = validate(Plugins(), worker or {}, References({}), {**SINK, **settings}).configs
    return {entry["value"]["name"]: entry["value"]["errors"] for entry in configs if entry["value"]["errors"]}


@pytest.mark.parametrize(
    ("path", "what", "artifact"),
    [
        ("s3a://bucket/orders", "Spark has no jar for s3a://", "hadoop-aws"),
        ("s3://bucket/orders", "write the path with s3a:// instead of s3://", "hadoop-aws"),
        ("gs://bucket/orders", "Spark has no jar for gs://", "hadoop-gcp"),
        ("abfss://c@account.dfs.core.windows.net/x", "Spark has no jar for abfss://", "hadoop-azure"),
    ],
)
def test_a_store_of_objects(path: str, what: str, artifact: str) -> None:
    (error,) = told({"spark.format": "parquet", "spark.path": path})["spark.path"]
    assert what in error
    assert f"Add spark.jars.packages=org.apache.hadoop:{artifact}:{HADOOP} to the worker file" in error


@pytest.mark.parametrize("scheme", DRIVERS)
def test_a_database(scheme: str) -> None:
    (error,) = told({**MYSQL, "spark.option.url": f"jdbc:{scheme}://host/x"})["spark.option.url"]
    assert f"Add spark.jars.packages={DRIVER_PACKAGES[scheme]} to the worker file" in error


@pytest.mark.parametrize("name", TABLE_FORMATS)
def test_a_format_of_tables(name: str) -> None:
    (error,) = told({"spark.format": name, "spark.path": "/data/orders"})["spark.format"]
    assert TABLE_FORMATS[name].package in error
    assert f"pip install 'pyspark=={TABLE_FORMATS[name].spark}.*'" in error


def test_a_format_of_spark_s_that_is_a_jar_apart() -> None:
    (error,) = told({"spark.format": "avro", "spark.path": "/data/orders"})["spark.format"]
    assert f"org.apache.spark:spark-avro_{installed_spark().scala}:{installed_spark().spark}" in error


@pytest.mark.parametrize(
    "worker",
    [
        {"spark.jars.packages": "com.example:all-drivers:1.0"},
        {"spark.jars": "/opt/jars/mine.jar"},
        {"spark.driver.extraClassPath": "/opt/jars/*"},
    ],
)
def test_a_worker_with_jars_of_its_own_may_have_the_right_one(worker: dict[str, str]) -> None:
    assert told(MYSQL, worker) == {}


def test_a_worker_whose_spark_has_settings_of_its_own_may_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.jars.packages com.mysql:mysql-connector-j:26.10.0\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert told(MYSQL) == {}


@pytest.mark.parametrize(
    ("settings", "worker"),
    [
        ({"spark.format": "parquet", "spark.path": "/data/orders"}, {}),
        ({"spark.format": "parquet", "spark.path": "hdfs://name/orders"}, {}),
        ({"spark.format": "parquet", "spark.path": "s3://b/o"}, {"spark.hadoop.fs.s3.impl": "com.example.S3"}),
        ({"spark.format": "com.example.Format"}, {}),
        ({**MYSQL, "spark.option.driver": "com.example.Driver"}, {}),
        ({**MYSQL, "spark.option.url": "jdbc:unheard:of"}, {}),
        ({"spark.option.url": "jdbc:mysql://not-for-jdbc"}, {}),
    ],
)
def test_what_is_not_certain_is_left_to_the_task(settings: dict[str, str], worker: dict[str, str]) -> None:
    assert needed_jar(settings, worker) is None
