"""Metrics: in a format that Prometheus reads, under Kafka Connect's names, true."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import ClassVar

import httpx2
import pytest

from penstock.api.config import ConfigDef, ConfigKey, Type
from penstock.api.connector import SourceConnector
from penstock.api.errors import PluginError
from penstock.api.task import SourceTask
from penstock.rest import metrics
from penstock.rest.metrics_text import Family, exposition
from tests.rest.troubled_herder import TroubledHerder
from tests.support.waiting import wait_until

LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (-?[0-9.e+-]+)')
LAG = "penstock_sink_record_lag"
PROMETHEUS = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1"


def scraped(api: httpx2.Client) -> dict[str, float]:
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


def test_a_worker_without_connectors_has_metrics(api: httpx2.Client) -> None:
    found = scraped(api)
    assert found["penstock_lifecycle_cleanups"] == 0
    for counted in ("connector", "task"):
        assert found[f'kafka_connect_worker_{counted}_count{{worker_id="worker.example:8083"}}'] == 0
    (info,) = [sample for sample in found if sample.startswith("kafka_connect_app_info{")]
    assert 'version="' in info


@pytest.mark.integration
def test_states_counts_and_lag_are_told(api: httpx2.Client, config: Mapping[str, str], tmp_path: Path) -> None:
    Path(config["file"]).write_text("one\ntwo\nthree\n")
    sink = {"connector.class": "FileStreamSink", "topics": "measured", "file": str(tmp_path / "out.txt")}
    for name, wanted in (("in", {**config, "topic": "measured"}), ("out", sink)):
        assert api.post("/connectors", json={"name": name, "config": wanted}).status_code == 201
    lag = f'{LAG}{{connector="out",topic="measured",partition="0"}}'
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


@pytest.mark.integration
def test_a_sink_that_never_commits_is_behind_by_all_it_would_read(
    api: httpx2.Client, config: Mapping[str, str], tmp_path: Path
) -> None:
    Path(config["file"]).write_text("one\ntwo\nthree\n")
    api.post("/connectors", json={"name": "in", "config": {**config, "topic": "waiting"}})
    ends = "/topics/waiting/offsets?at=latest"
    wait_until(lambda: api.get(ends).json().get("offsets") == [3], "three records are there")
    sink = {"connector.class": "FileStreamSink", "topics": "waiting", "file": str(tmp_path / "out.txt")}
    by_pattern = {key: value for key, value in sink.items() if key != "topics"} | {"topics.regex": "wait.*"}
    latest = {**sink, "consumer.override.auto.offset.reset": "latest"}
    absent = {**sink, "topics": "never-there"}
    for name, wanted in (("named", sink), ("pattern", by_pattern), ("latest", latest), ("absent", absent)):
        body = {"name": name, "config": wanted, "initial_state": "STOPPED"}
        assert api.post("/connectors", json=body).status_code == 201
    found = scraped(api)
    lags = {
        name: [value for sample, value in found.items() if sample.startswith(f'{LAG}{{connector="{name}"')]
        for name in ("named", "pattern", "latest", "absent")
    }
    assert lags == {"named": [3], "pattern": [3], "latest": [0], "absent": []}
    assert not [sample for sample in found if sample.startswith(f"{LAG}_unknown")]


@pytest.mark.integration
def test_the_lag_of_a_sink_beyond_the_end_is_unknown(
    api: httpx2.Client, config: Mapping[str, str], tmp_path: Path
) -> None:
    Path(config["file"]).write_text("one\ntwo\nthree\n")
    api.post("/connectors", json={"name": "in", "config": {**config, "topic": "short"}})
    wait_until(lambda: api.get("/topics/short/offsets?at=latest").json().get("offsets") == [3], "three records")
    sink = {"connector.class": "FileStreamSink", "topics": "short", "file": str(tmp_path / "out.txt")}
    api.post("/connectors", json={"name": "out", "config": sink, "initial_state": "STOPPED"})
    lag, unknown = f'{LAG}{{connector="out",topic="short",partition="0"}}', f'{LAG}_unknown{{connector="out"}}'
    for offset, expected in ((3, (0, None)), (4, (None, 1)), (1, (2, None))):
        place = {"kafka_topic": "short", "kafka_partition": 0}
        body = {"offsets": [{"partition": place, "offset": {"kafka_offset": offset}}]}
        wait_until(lambda: api.patch("/connectors/out/offsets", json=body).status_code == 200, "the offset is set")  # noqa: B023
        found = scraped(api)
        assert (found.get(lag), found.get(unknown)) == expected


def spark_of(api: httpx2.Client) -> dict[str, float]:
    """What is told of the worker's Spark: by state, or by the end of the metric's name."""
    told = {sample: value for sample, value in scraped(api).items() if sample.startswith("penstock_spark_")}
    assert all('worker_id="worker.example:8083"' in sample for sample in told)
    return {sample.partition('state="')[2][:-2] or sample.partition("{")[0][15:]: told[sample] for sample in told}


@pytest.mark.integration
def test_works_that_find_no_lane_are_seen_to_wait(api: httpx2.Client, tmp_path: Path) -> None:
    tasks, gate = 4, tmp_path / "gate"
    gate.touch()
    held = {"hang.until.healed": "task.read", "trouble.file": str(gate)}
    several = {"tasks.max": str(tasks), "tasks.made": str(tasks), "topic": "held", "count": "1"}
    config = {"connector.class": "tests.support.plugins.probe:ProbeSource", **held, **several}
    assert api.post("/connectors", json={"name": "held", "config": config}).status_code == 201

    def crowded() -> dict[str, float] | None:
        found = spark_of(api)
        return found if found["busy"] and found["busy"] + found["works_waiting"] == tasks else None

    found = wait_until(crowded, "every task's work runs or waits")
    assert (found["executors"], found["slots"]) == (1, 2)
    assert found["busy"] <= found["slots"] - found["slots_reserved"] < tasks
    gate.unlink()

    def at_rest() -> bool:
        found = spark_of(api)
        return not found["busy"] and not found["works_waiting"] and found["idle"] > 0

    wait_until(at_rest, "all works are done, and lanes wait for more")


def test_metrics_come_without_those_of_a_spark_that_does_not_answer(
    api: httpx2.Client, herder: TroubledHerder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "LAG_SECONDS", 0.1)
    herder.silent_spark = Future()
    found = scraped(api)
    assert "penstock_lifecycle_cleanups" in found
    assert not [sample for sample in found if sample.startswith("penstock_spark_")]


class Moody(SourceConnector):
    """Its hook waits until it may go on, and then fails unless it is well."""

    config = ConfigDef(ConfigKey("mark", Type.STRING, ""))
    task = SourceTask
    may_go_on: ClassVar[threading.Event] = threading.Event()
    well: ClassVar[bool] = False

    def on_created(self, config: Mapping[str, str]) -> None:
        Moody.may_go_on.wait(60)
        if not Moody.well:
            raise PluginError("not today")


def test_hooks_are_due_running_failed_or_active(api: httpx2.Client) -> None:
    body = {"name": "moody", "config": {"connector.class": f"{__name__}:Moody"}, "initial_state": "STOPPED"}
    created = api.post("/connectors", json=body)
    assert created.status_code == 201, created.text

    def told(hook: str, state: str) -> bool:
        label = f'hook="{hook}",' if hook else ""
        samples = [sample for sample in scraped(api) if sample.startswith("penstock_lifecycle_hook_state")]
        return samples == [f'penstock_lifecycle_hook_state{{connector="moody",{label}state="{state}"}}']

    assert told("created", "due")
    api.put("/connectors/moody/resume")
    wait_until(lambda: told("created", "running"), "the hook is called")
    Moody.may_go_on.set()
    wait_until(lambda: told("created", "failed"), "the hook has failed")
    Moody.well = True
    api.post("/connectors/moody/restart")
    wait_until(lambda: told("", "active"), "the hook has succeeded")
