"""SparkSource and SparkSink on a real Spark and real topics."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.api import ConfigError, PluginError, SourceOffset, SourceOffsets, SourcePartition
from penstock.connectors.spark import SparkSource
from penstock.connectors.spark.sink import SparkSinkTask
from penstock.connectors.spark.source import SparkSourceTask
from penstock.spark import frames
from penstock.spark.session import SparkEngine, start_spark
from penstock.spark.splits import PluginRef, Receipt, SinkWork, SourceWork, TaskSpec
from penstock.storage.offset_store import OffsetStore
from penstock.storage.sqlite import Database
from penstock.storage.sqlite_log import SqliteLog
from penstock.topics.embedded import EmbeddedTopics
from penstock.topics.interface import SourceCommit, TopicPartition
from tests.spark.pumping import without_faults

pytestmark = [pytest.mark.integration, pytest.mark.slow]

JSON = "penstock.converters.json:JsonConverter"
STRING = "penstock.converters.string:StringConverter"
HEADERS = "penstock.converters.simple_header:SimpleHeaderConverter"
NO_SCHEMAS = {"schemas.enable": "false"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    engine = start_spark({"spark.master": "local[2]"}, tmp_path_factory.mktemp("spark"))
    yield engine
    engine.stop()


@pytest.fixture
def topics(tmp_path: Path) -> Iterator[EmbeddedTopics]:
    database = Database(tmp_path / "penstock.db")
    offsets = OffsetStore(SqliteLog(database, "offsets"))
    offsets.start()
    home = EmbeddedTopics(database, tmp_path / "topics", offsets)
    yield home
    home.stop()
    offsets.stop()
    database.close()


class Offsets(SourceOffsets):
    def __init__(self) -> None:
        self.known: dict[str, tuple[SourcePartition, SourceOffset]] = {}

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        found = self.known.get(json.dumps(partition))
        return None if found is None else found[1]

    def all(self) -> Sequence[tuple[SourcePartition, SourceOffset]]:
        return list(self.known.values())


def spec_for(task: type[Any], settings: Mapping[str, str], value: PluginRef) -> TaskSpec:
    return TaskSpec(
        key=repr(sorted(settings.items())),
        connector="c",
        task=0,
        task_target=PluginRef(f"{task.__module__}:{task.__qualname__}", settings),
        key_converter=PluginRef(JSON, NO_SCHEMAS),
        value_converter=value,
        header_converter=PluginRef(HEADERS),
    )


class Source:
    """A source task with its committed offsets: loads and commits like the runtime."""

    def __init__(self, engine: SparkEngine, topics: EmbeddedTopics, **settings: str) -> None:
        self.engine, self.topics, self.offsets = engine, topics, Offsets()
        config = {"topic": "t", "poll.interval.ms": "0"}
        config |= {key.replace("__", "."): value for key, value in settings.items()}
        self.spec = spec_for(SparkSourceTask, config, PluginRef(JSON, NO_SCHEMAS))
        self.task = SparkSourceTask()
        self.task.configure(config)

    def batch(self) -> list[Receipt] | None:
        plan = frames.plan(self.engine.session, self.task, self.offsets, self.spec)
        if plan is None:
            return None
        counts, stager = dict(self.topics.topics()), self.topics.stager()
        receipts = [without_faults(SourceWork(self.spec, split, stager, counts).run()) for split in plan.splits]
        assert [receipt.failure for receipt in receipts if receipt.failure] == []
        staged = [part for receipt in receipts for part in receipt.staged]
        self.topics.commit_source(SourceCommit("c", staged, plan.ends)).result()
        frames.discard(plan)
        self.offsets.known.update({json.dumps(partition): (partition, offset) for partition, offset in plan.ends})
        return receipts


def rows_of(topics: EmbeddedTopics, topic: str = "t") -> list[dict[str, Any]]:
    ranges = topics.ranges({TopicPartition(topic, 0): None}, 1_000_000, 1 << 30)
    return [row for part in ranges for _, table in topics.reader().read(part) for row in table.to_pylist()]


def values_of(topics: EmbeddedTopics) -> list[Any]:
    return [json.loads(row["value"]) for row in rows_of(topics)]


def test_rows_are_read_by_a_growing_column(engine: SparkEngine, topics: EmbeddedTopics, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    engine.session.range(0, 10).selectExpr("id", "concat('n', id) AS name").write.parquet(path)
    source = Source(engine, topics, spark__format="parquet", spark__path=path, offset__column="id", key__columns="id")
    assert source.batch() is not None
    assert source.batch() is None
    assert source.offsets.all() == [({"source": path}, {"after": "9"})]
    engine.session.range(8, 12).selectExpr("id", "concat('n', id) AS name").write.mode("append").parquet(path)
    source.batch()
    rows = rows_of(topics)
    assert sorted(int(row["key"]) for row in rows) == list(range(12))
    assert json.loads(rows[0]["value"]).keys() == {"id", "name"}


def test_batches_by_a_timestamp_column_are_bounded(engine: SparkEngine, topics: EmbeddedTopics, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    frame = engine.session.range(0, 7).selectExpr("id", "timestamp_micros(1700000000000000 + id) AS seen")
    frame.write.parquet(path)
    source = Source(engine, topics, spark__format="parquet", spark__path=path, offset__column="seen", max__rows="3")
    sizes = []
    while (receipts := source.batch()) is not None:
        sizes.append(sum(receipt.written for receipt in receipts))
    assert sizes == [3, 3, 1]
    assert sorted(value["id"] for value in values_of(topics)) == list(range(7))


def test_each_new_file_is_read_once(engine: SparkEngine, topics: EmbeddedTopics, tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    source = Source(
        engine,
        topics,
        spark__format="csv",
        spark__path=str(folder),
        spark__schema="a INT, b STRING",
        **{"spark.option.header": "true"},
    )
    assert source.batch() is None
    folder.mkdir()
    (folder / "one.csv").write_text("a,b\n1,x\n2,y\n")
    source.batch()
    assert source.batch() is None
    (folder / "two.csv").write_text("a,b\n3,\n")
    source.batch()
    assert values_of(topics) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": None}]
    assert len(source.offsets.all()) == 2


def test_a_column_that_is_not_there_is_named(engine: SparkEngine, topics: EmbeddedTopics, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    engine.session.range(0, 1).write.parquet(path)
    source = Source(engine, topics, spark__format="parquet", spark__path=path, offset__column="nope")
    with pytest.raises(PluginError, match=r"no column 'nope' .*columns are id"):
        source.batch()


def store(engine: SparkEngine, topics: EmbeddedTopics, settings: Mapping[str, str], value: PluginRef) -> Receipt:
    """What the runtime does with a batch of a sink that stores DataFrames."""
    spec = spec_for(SparkSinkTask, settings, value)
    ranges = topics.ranges({TopicPartition("t", 0): None}, 1_000_000, 1 << 30)
    receipt = without_faults(SinkWork(spec, ranges, topics.reader(), topics.stager()).run())
    assert receipt.failure is None
    task = SparkSinkTask()
    task.configure(settings)
    frames.store(engine.session, task, spec, [receipt])
    return receipt


def test_what_a_source_read_a_sink_writes_with_its_types(
    engine: SparkEngine, topics: EmbeddedTopics, tmp_path: Path
) -> None:
    path, out = str(tmp_path / "table"), str(tmp_path / "out")
    query = (
        "SELECT 1 AS i, 2.5D AS d, 'x' AS s, true AS b, CAST(1.50 AS DECIMAL(10,2)) AS m, DATE'2024-02-29' AS day, "
        "TIMESTAMP'2024-02-29 12:00:00.123Z' AS at, array(1, 2) AS l, map('k', 7) AS kv, named_struct('a', 1) AS n, "
        "CAST(NULL AS STRING) AS nothing"
    )
    engine.session.sql(query).write.parquet(path)
    source = Source(engine, topics, spark__format="parquet", spark__path=path, offset__column="i")
    with_schemas = PluginRef(JSON)
    source.spec = spec_for(SparkSourceTask, source.spec.task_target.settings, with_schemas)
    source.batch()
    receipt = store(
        engine,
        topics,
        {"spark.format": "parquet", "spark.path": out, "spark.scratch.path": str(tmp_path / "scratch")},
        with_schemas,
    )
    assert receipt.failure is None
    assert list((tmp_path / "scratch").iterdir()) == []
    (row,) = engine.session.read.parquet(out).collect()
    found = row.asDict(recursive=True)
    assert found.pop("at").astimezone(dt.UTC) == dt.datetime(2024, 2, 29, 12, 0, 0, 123000, dt.UTC)
    assert found == {
        "i": 1, "d": 2.5, "s": "x", "b": True, "m": Decimal("1.50"), "day": dt.date(2024, 2, 29), "l": [1, 2],
        "kv": {"k": 7}, "n": {"a": 1}, "nothing": None,
    }  # fmt: skip


def test_plain_values_and_metadata_become_columns(engine: SparkEngine, topics: EmbeddedTopics, tmp_path: Path) -> None:
    source = Source(engine, topics, spark__format="text", spark__path=str(tmp_path / "in.txt"))
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    source.batch()
    out = str(tmp_path / "out")
    settings = {"spark.format": "json", "spark.path": out, "metadata.columns": "true"}
    for _ in range(2):
        store(engine, topics, settings, PluginRef(STRING))
    rows = engine.session.read.json(out).orderBy("_offset").collect()
    assert [(row["value"], row["_topic"], row["_offset"]) for row in rows] == [
        ('{"value":"one"}', "t", 0),
        ('{"value":"one"}', "t", 0),
        ('{"value":"two"}', "t", 1),
        ('{"value":"two"}', "t", 1),
    ]


def test_a_write_that_spark_refuses_fails_the_batch(
    engine: SparkEngine, topics: EmbeddedTopics, tmp_path: Path
) -> None:
    source = Source(engine, topics, spark__format="text", spark__path=str(tmp_path / "in.txt"))
    (tmp_path / "in.txt").write_text("one\n")
    source.batch()
    receipt = store(engine, topics, {"spark.format": "no.such.format"}, PluginRef(STRING))
    assert receipt.failure is not None
    assert "no.such.format" in receipt.failure.trace.splitlines()[0]


def test_a_source_needs_a_path_or_a_column() -> None:
    jdbc = {"spark.format": "jdbc", "spark.option.url": "jdbc:h2:mem:x", "spark.option.dbtable": "t"}
    assert list(SparkSource().validate(jdbc)) == ["spark.path"]
    assert SparkSource().validate({**jdbc, "offset.column": "id"}) == {}


def test_offsets_that_make_no_sense_are_refused() -> None:
    source = SparkSource()
    assert source.alter_offsets({"offset.column": "id"}, [({"source": "p"}, {"after": "5"}), ({"junk": 1}, None)])
    with pytest.raises(ConfigError, match="'source'"):
        source.alter_offsets({"offset.column": "id"}, [({"path": "p"}, {"read": True})])
