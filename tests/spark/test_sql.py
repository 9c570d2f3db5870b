"""The Sql transform on real Spark: what it selects, keeps, joins, and what a bad record costs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.api import ConfigError, Record
from penstock.api.record import INT64, OPTIONAL_STRING, STRING, Header, struct_schema
from penstock.api.rows import ROW
from penstock.api.task import Split
from penstock.runtime.plugins import PluginKind, Plugins
from penstock.spark import frame_links
from penstock.spark.session import SparkEngine, start_spark
from penstock.spark.splits import ErrorPolicy, PluginRef, Receipt, SinkWork, SourceWork, TaskSpec, TransformRef
from penstock.transforms import sql_columns
from penstock.transforms.sql import Sql
from tests.spark.pumping import GIVEN, HEADERS, Given, Keeping, MemoryTopics, here, without_faults
from tests.spark.pumping import STRING as STRING_CONVERTER

pytestmark = pytest.mark.integration

JSON = PluginRef("penstock.converters.json.converter:JsonConverter", {"schemas.enable": "false"})
TOLERANT = ErrorPolicy(tolerate_all=True, dead_letter_topic="dead", dead_letter_headers=True)
_keys = count()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    engine = start_spark({"spark.master": "local[2]"}, tmp_path_factory.mktemp("spark"))
    yield engine
    engine.stop(5)


def sql(alias: str = "sql", predicate: PluginRef | None = None, **settings: str) -> TransformRef:
    own = {key.replace("__", "."): value for key, value in settings.items()}
    return TransformRef(alias, PluginRef("penstock.transforms.sql:Sql", own), predicate)


def spec_of(task: type[Any], tmp_path: Path, *links: TransformRef, errors: ErrorPolicy | None = None) -> TaskSpec:
    return TaskSpec(
        f"sql-{next(_keys)}", "c", 0, PluginRef(here(task), {"spark.scratch.path": str(tmp_path / "scratch")}),
        PluginRef(STRING_CONVERTER), JSON, PluginRef(HEADERS), links, errors or ErrorPolicy(),
    )  # fmt: skip


def finish(engine: SparkEngine, work: SinkWork | SourceWork) -> Receipt:
    """What a pump does with a work."""
    receipt = work.run()
    while receipt.parked is not None and receipt.failure is None:
        (resumed,) = frame_links.run(engine.session, work.spec, [receipt.parked])
        receipt = receipt.followed_by(replace(work, resumed=resumed).run())
        frame_links.discard([resumed.parked])
    return without_faults(receipt)


def put(
    engine: SparkEngine, tmp_path: Path, values: list[Any], *links: TransformRef, errors: ErrorPolicy | None = None
) -> tuple[Receipt, list[Any], MemoryTopics]:
    """JSON values through the links into a sink: the receipt, the values that arrived, the topics."""
    topics = MemoryTopics()
    rows = [
        {"key": str(n).encode(), "value": None if v is None else json.dumps(v).encode()} for n, v in enumerate(values)
    ]
    where = topics.store("t", rows)
    Keeping.kept = []
    receipt = finish(engine, SinkWork(spec_of(Keeping, tmp_path, *links, errors=errors), [where], topics, topics))
    return receipt, [record.value for record in Keeping.kept], topics


def test_it_selects_filters_and_keeps_the_order(engine: SparkEngine, tmp_path: Path) -> None:
    values = [{"id": n, "name": f"n{n}"} for n in range(2000)]
    select = sql(select="id * 2 AS doubled, upper(name) AS name", where="id % 2 = 1")
    receipt, found, _ = put(engine, tmp_path, values, select)
    assert receipt.failure is None
    assert found == [{"doubled": 2 * n, "name": f"N{n}"} for n in range(1, 2000, 2)]
    assert (receipt.read, receipt.written, receipt.filtered) == (2000, 1000, 1000)
    assert [record.offset for record in Keeping.kept][:3] == [1, 3, 5]
    assert Keeping.kept[0].key == "1"
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_star_changes_nothing(engine: SparkEngine, tmp_path: Path) -> None:
    values = [{"a": 1, "b": [1, {"c": None}], "d": {}}, {"a": "text", "e": 1.5}, {"f": 2**40}, {}, {"a": None}]
    _, found, _ = put(engine, tmp_path, values, sql())
    assert found == values


def test_tombstones_and_what_a_predicate_spares_pass_in_their_place(engine: SparkEngine, tmp_path: Path) -> None:
    only = PluginRef("tests.spark.test_sql:IsOdd")
    values = [{"n": 0}, {"n": 1}, None, {"n": 2}, {"n": 3}]
    receipt, found, _ = put(engine, tmp_path, values, sql(select="n + 100 AS n", where="n < 3", predicate=only))
    assert found == [{"n": 0}, {"n": 101}, None, {"n": 2}]
    assert receipt.filtered == 1


@pytest.fixture(autouse=True)
def asked_for_by_spark(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Spark's wrapper that tells failing rows is there: otherwise these would be found slowly, and nobody would see."""
    yield
    assert not [record for record in caplog.records if record.name == sql_columns.__name__]


def test_spark_itself_tells_the_rows_that_fail(engine: SparkEngine) -> None:
    rows = engine.session.createDataFrame([(0, "0"), (1, "one"), (2, "2")], [ROW, "n"])
    transform = Sql()
    transform.configure({"select": "CAST(n AS INT) AS n", "where": "length(n) > 0"})
    failing = transform.failing(rows, False)
    assert failing is not None
    assert [row[ROW] for row in failing.collect()] == [1]


def test_a_bad_record_costs_itself(engine: SparkEngine, tmp_path: Path) -> None:
    values: list[Any] = [{"n": str(n)} for n in range(50)]
    values[7] = values[31] = {"n": "seven"}
    select = sql(select="CAST(n AS INT) AS n", where="length(n) > 0")
    receipt, found, topics = put(engine, tmp_path, values, select, errors=TOLERANT)
    assert receipt.failure is None
    assert [value["n"] for value in found] == [n for n in range(50) if n not in (7, 31)]
    letters = topics.written[next(at for at in topics.written if at.topic == "dead")]
    assert [row["key"] for row in letters] == [b"7", b"31"]
    context = {
        header["key"].removeprefix("__connect.errors."): header["value"].decode() for header in letters[0]["headers"]
    }
    assert context["offset"] == "7"
    assert (context["stage"], context["class.name"]) == ("TRANSFORMATION", "penstock.transforms.sql.Sql")
    assert context["exception.class.name"] == "org.apache.spark.SparkNumberFormatException"
    assert context["exception.message"].startswith("[CAST_INVALID_INPUT] The value 'seven' of the type")


def test_without_tolerance_a_bad_record_fails_the_task(engine: SparkEngine, tmp_path: Path) -> None:
    receipt, found, _ = put(engine, tmp_path, [{"n": 0}, {"n": 1}], sql(select="1 / n AS inverse"))
    assert receipt.failure is not None
    assert "Tolerance exceeded in error handler" in receipt.failure.trace
    assert "[DIVIDE_BY_ZERO]" in receipt.failure.trace
    assert found == []


def test_bad_records_are_found_by_halving_where_nothing_else_helps(engine: SparkEngine, tmp_path: Path) -> None:
    values = [{"n": str(n) if n != 5 else "five"} for n in range(9)]
    exploding = sql(select="explode(sequence(1, 2)) AS copy, CAST(n AS INT) AS n")
    receipt, found, _ = put(engine, tmp_path, values, exploding, errors=TOLERANT)
    assert found == [{"copy": copy, "n": n} for n in range(9) if n != 5 for copy in (1, 2)]
    assert (receipt.skipped, receipt.written) == (1, 16)


def test_fields_that_no_record_of_a_batch_has_are_null(engine: SparkEngine, tmp_path: Path) -> None:
    select = sql(select="a, b, c.d AS d, u.mail AS mail, coalesce(e.f.g, 'none') AS g")
    _, found, _ = put(engine, tmp_path, [{"a": 1, "u": {"id": 2}}], select)
    assert found == [{"a": 1, "b": None, "d": None, "mail": None, "g": "none"}]


def test_a_field_that_a_schema_does_not_have_is_an_error_of_the_record(engine: SparkEngine, tmp_path: Path) -> None:
    schema = struct_schema(("id", INT64))
    receipt, topics = read(engine, tmp_path, [Record({"id": 1}, topic="t", value_schema=schema)], sql(select="idd"))
    assert receipt.failure is None
    assert receipt.skipped == 1
    assert topics.values("t") == []


def read(
    engine: SparkEngine, tmp_path: Path, records: list[Record], *links: TransformRef
) -> tuple[Receipt, MemoryTopics]:
    """Records of a source through the links into topics."""
    topics = MemoryTopics()
    spec = replace(
        spec_of(Given, tmp_path, *links, errors=TOLERANT),
        value_converter=PluginRef("penstock.converters.json.converter:JsonConverter", {"schemas.enable": "true"}),
    )
    GIVEN[spec.key] = list(records)
    return finish(engine, SourceWork(spec, Split({"name": spec.key}), topics)), topics


def written(topics: MemoryTopics, topic: str) -> list[Any]:
    return [json.loads(value or b"null") for value in topics.values(topic)]


def test_schemas_follow_the_query(engine: SparkEngine, tmp_path: Path) -> None:
    schema = struct_schema(("id", INT64), ("name", OPTIONAL_STRING), name="row")
    records = [
        Record({"id": n, "name": "a"}, "k", "t", value_schema=schema, headers=[Header("h", n)]) for n in range(3)
    ]
    receipt, topics = read(engine, tmp_path, records, sql(select="id, id + 0.5 AS more, name", where="id > 0"))
    assert (receipt.read, receipt.written, receipt.filtered) == (3, 2, 1)
    first = written(topics, "t")[0]
    fields = [(f["field"], f["type"], f["optional"], f.get("name")) for f in first["schema"]["fields"]]
    assert first["schema"]["name"] == "row"
    assert fields == [
        ("id", "int64", False, None),
        ("more", "bytes", True, "org.apache.kafka.connect.data.Decimal"),
        ("name", "string", True, None),
    ]
    assert first["payload"]["id"] == 1


def test_key_topic_and_timestamp_may_come_from_the_query(engine: SparkEngine, tmp_path: Path) -> None:
    schema = struct_schema(("id", INT64), ("kind", STRING))
    records = [Record({"id": 7, "kind": "x"}, "old", "t", value_schema=schema, timestamp=5)]
    select = "id, CAST(id AS STRING) AS _key, concat(_topic, '-', kind) AS _topic, timestamp_millis(9000) AS _timestamp"
    _, topics = read(engine, tmp_path, records, sql(select=select))
    (row,) = next(rows for at, rows in topics.written.items() if at.topic == "t-x")
    assert (row["key"], row["timestamp"]) == (b"7", 9000)


def test_records_of_several_schemas_and_several_links_go_together(engine: SparkEngine, tmp_path: Path) -> None:
    one, two = struct_schema(("a", INT64)), struct_schema(("a", STRING), ("b", INT64))
    records = [
        Record({"a": 1}, topic="t", value_schema=one),
        Record({"a": "x", "b": 2}, topic="t", value_schema=two),
        Record({"a": 3}, topic="t", value_schema=one),
        Record("plain", topic="t", value_schema=STRING),
    ]
    hoist = TransformRef("hoist", PluginRef("penstock.transforms.hoist_field:HoistFieldValue", {"field": "outer"}))
    plain = PluginRef("tests.spark.test_sql:IsText")
    links = [
        sql("p", plain, select="upper(_value) AS a"),
        sql("f", select="concat(a, '!') AS a"),
        hoist,
        sql("l", select="outer.a"),
    ]
    receipt, topics = read(engine, tmp_path, records, *links)
    assert receipt.failure is None
    assert [value["payload"] for value in written(topics, "t")] == [
        {"a": "1!"},
        {"a": "x!"},
        {"a": "3!"},
        {"a": "PLAIN!"},
    ]


def test_it_joins_with_a_table(engine: SparkEngine, tmp_path: Path) -> None:
    path = tmp_path / "customers.parquet"
    pq.write_table(pa.table({"customer": [1, 2], "city": ["Bern", "Basel"]}), path)
    join = sql(
        select="record.*, c.city", tables="customers", tables__customers__format="parquet",
        tables__customers__path=path.as_uri(), join="LEFT JOIN customers c ON c.customer = record.customer",
    )  # fmt: skip
    _, found, _ = put(engine, tmp_path, [{"customer": 2}, {"customer": 3}], join)
    assert found == [{"customer": 2, "city": "Basel"}, {"customer": 3, "city": None}]


def test_wrong_syntax_is_refused_at_once_and_fails_a_batch(engine: SparkEngine, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Invalid value a b c for configuration select: .*PARSE_SYNTAX_ERROR"):
        Sql().configure({"select": "a b c"})
    with pytest.raises(ConfigError, match="configuration where"):
        Sql().configure({"where": "a ="})
    with pytest.raises(ConfigError, match="plain name"):
        Sql().configure({"tables": "a-b"})
    assert engine.session.catalog.listTables() == []


def test_it_is_found_by_its_name() -> None:
    assert Plugins().find("Sql", PluginKind.TRANSFORMATION).load() is Sql


class IsOdd:
    """Chooses odd numbers."""

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Nothing to configure."""

    def test(self, record: Record) -> bool:
        return record.value is not None and record.value["n"] % 2 == 1


class IsText(IsOdd):
    """Chooses plain texts."""

    def test(self, record: Record) -> bool:
        return isinstance(record.value, str)
