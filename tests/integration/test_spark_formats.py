"""SparkSource and SparkSink through a real worker: any Spark format in, any Spark format out."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = pytest.mark.integration


def rows(folder: Path) -> list[dict[str, object]]:
    """What SparkSink has written as JSON so far."""
    lines = [line for file in folder.glob("part-*.json") for line in file.read_text().splitlines()]
    return sorted((json.loads(line) for line in lines), key=lambda row: str(row["id"]))


def put_parquet(folder: Path, name: str, ids: range) -> None:
    """A Parquet file that appears whole."""
    table = pa.table({"id": list(ids), "name": [f"name-{number}" for number in ids]})
    pq.write_table(table, folder / f".{name}")
    (folder / f".{name}").rename(folder / name)


def test_new_parquet_files_become_json_files_by_way_of_a_topic(tmp_path: Path, shared_worker: PenstockProcess) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    put_parquet(source, "a.parquet", range(5))
    shared_worker.create(
        "frames-in",
        {
            "connector.class": "SparkSource",
            "spark.format": "parquet",
            "spark.path": str(source),
            "topic": "frames",
            "poll.interval.ms": "100",
        },
    )
    shared_worker.create(
        "frames-out",
        {
            "connector.class": "SparkSink",
            "spark.format": "json",
            "spark.path": str(target),
            "topics": "frames",
        },
    )
    shared_worker.wait_state("frames-in", "RUNNING")
    wait_until(lambda: len(rows(target)) == 5, "five rows are written", 120)
    put_parquet(source, "b.parquet", range(5, 8))
    wait_until(lambda: len(rows(target)) == 8, "three more rows are written", 120)
    assert rows(target) == [{"id": number, "name": f"name-{number}"} for number in range(8)]
    offsets = shared_worker.http.get("/connectors/frames-in/offsets").json()["offsets"]
    assert sorted(Path(entry["partition"]["path"]).name for entry in offsets) == ["a.parquet", "b.parquet"]


def test_a_format_spark_does_not_know_fails_the_task_with_spark_s_own_words(
    tmp_path: Path, shared_worker: PenstockProcess
) -> None:
    config = {"connector.class": "SparkSource", "spark.format": "nonsense", "topic": "t", "offset.column": "id"}
    shared_worker.create("nonsense", config)

    def trace() -> str | None:
        tasks = shared_worker.status("nonsense")["tasks"]
        return tasks[0]["trace"] if tasks and tasks[0]["state"] == "FAILED" else None

    assert "nonsense" in (wait_until(trace, "the task is FAILED", 120) or "")
