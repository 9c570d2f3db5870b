"""Metrics: in a format that Prometheus reads, under Kafka Connect's names, true."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from penstock.rest.metrics_text import Family, exposition
from tests.support.waiting import wait_until

LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (-?[0-9.e+-]+)')
PROMETHEUS = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1"


def scraped(api: httpx.Client) -> dict[str, float]:
    """Sample → value; every line must be one."""
    answer = api.get("/metrics", headers={"Accept": PROMETHEUS})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    found: dict[str, float] = {}
    for line in answer.text.splitlines():
        if not line.startswith("#"):
            assert LINE.fullmatch(line), line
            sample, _, value = line.rpartition(" ")
            found[sample] = float(value)
    return found


def test_text_is_escaped() -> None:
    family = Family("a_b", "gauge", "Of\ntwo lines.")
    family.add(1.5, name='say "hi"\\\n', nothing=None)
    text = exposition([family, Family("empty", "gauge", "Left out.")]).decode()
    assert text == '# HELP a_b Of\\ntwo lines.\n# TYPE a_b gauge\na_b{name="say \\"hi\\"\\\\\\n"} 1.5\n'


def test_a_worker_without_connectors_has_metrics(api: httpx.Client) -> None:
    found = scraped(api)
    assert found["penstock_lifecycle_cleanups"] == 0
    (info,) = [sample for sample in found if sample.startswith("kafka_connect_app_info{")]
    assert 'version="' in info


@pytest.mark.integration
def test_states_counts_and_lag_are_told(api: httpx.Client, config: Mapping[str, str], tmp_path: Path) -> None:
    Path(config["file"]).write_text("one\ntwo\nthree\n")
    sink = {"connector.class": "FileStreamSink", "topics": "measured", "file": str(tmp_path / "out.txt")}
    for name, wanted in (("in", {**config, "topic": "measured"}), ("out", sink)):
        assert api.post("/connectors", json={"name": name, "config": wanted}).status_code == 201
    lag = 'penstock_sink_record_lag{connector="out",topic="measured",partition="0"}'
    wait_until(lambda: scraped(api).get(lag) == 0, "the sink has caught up")
    found = scraped(api)
    assert found['kafka_connect_worker_connector_running_task_count{connector="in"}'] == 1
    assert found['kafka_connect_worker_connector_failed_task_count{connector="out"}'] == 0
    assert found['kafka_connect_worker_connector_count{worker_id="worker.example:8083"}'] == 2
    states = [sample for sample in found if sample.startswith("kafka_connect_connector_status{")]
    assert sorted(re.findall(r'connector="(\w+)".*status="(\w+)"', "\n".join(states))) == [
        ("in", "running"),
        ("out", "running"),
    ]
    api.put("/connectors/out/stop")
    with Path(config["file"]).open("a") as file:
        file.write("four\nfive\n")
    wait_until(lambda: scraped(api).get(lag) == 2, "two records wait")
    wait_until(
        lambda: any('connector="out"' in s and 'status="stopped"' in s for s in scraped(api)), "it is stopped", 60
    )
