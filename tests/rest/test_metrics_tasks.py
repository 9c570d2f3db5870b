"""Counters of tasks: fed by batches, reset with the task, and everything that the reference lists is told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import httpx2
import pytest

from penstock.rest.metrics_catalog import METRICS, SECTIONS
from tests.rest.test_metrics import scraped
from tests.support.waiting import wait_until

SECONDS = 120
SIZES = ("avg", "min", "max")
ONLY_SOMETIMES = {
    "penstock_sink_record_lag_unknown": "a sink whose lag cannot be found out",
    "penstock_lifecycle_hook_tries": "a hook that fails",
    "penstock_lifecycle_hook_state": "a connector with hooks",
}
CLUSTER = {metric.name for section in SECTIONS if "cluster only" in section.title for metric in section.metrics}


def of_task(found: Mapping[str, float], metric: str, connector: str) -> float | None:
    return found.get(f'{metric}{{connector="{connector}",task="0"}}')


def made_of(found: Mapping[str, float], metric: str) -> dict[str, str]:
    """The labels of the source's sample of a metric that has only labels."""
    (sample,) = [one for one in found if one.startswith(f'kafka_connect_{metric}{{connector="counted-in"')]
    return dict(re.findall(r'([a-z_]+)="([^"]*)"', sample))


def name_of(sample: str) -> str:
    return re.split(r"[{ ]", sample)[0]


def missing(found: Mapping[str, float]) -> set[str]:
    """The metrics of the reference that a worker on its own should tell and does not."""
    told = {name_of(sample) for sample in found}
    return METRICS.keys() - told - CLUSTER - ONLY_SOMETIMES.keys()


@pytest.mark.integration
def test_batches_are_counted_and_a_restart_begins_anew(
    api: httpx2.Client, config: Mapping[str, str], tmp_path: Path
) -> None:
    source = {
        **config,
        "topic": "counted",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "predicates": "old",
        "predicates.old.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
        "transforms": "drop",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
        "transforms.drop.predicate": "old",
    }
    sink = {
        "connector.class": "FileStreamSink",
        "topics": "counted",
        "file": str(tmp_path / "out.txt"),
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.log.enable": "true",
        "errors.deadletterqueue.topic.name": "counted-dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    Path(config["file"]).write_text('1\n2\nthis is no JSON\n"four"\n')
    for name, wanted in (("counted-in", source), ("counted-out", sink)):
        assert api.post("/connectors", json={"name": name, "config": wanted}).status_code == 201
    read = "kafka_connect_sink_task_sink_record_read_total"
    wait_until(lambda: of_task(scraped(api), read, "counted-out") == 4, "the sink has read all", SECONDS)
    write = "kafka_connect_source_task_source_record_write_total"
    wait_until(lambda: of_task(scraped(api), write, "counted-in") == 4, "the source has counted all", SECONDS)
    wait_until(lambda: not missing(scraped(api)), "everything is told", SECONDS)
    found = scraped(api)
    assert of_task(found, "kafka_connect_source_task_source_record_poll_total", "counted-in") == 4
    assert of_task(found, "kafka_connect_sink_task_sink_record_send_total", "counted-out") == 3
    assert of_task(found, "kafka_connect_sink_task_partition_count", "counted-out") == 1
    assert of_task(found, "kafka_connect_sink_task_sink_record_lag_max", "counted-out") == 0
    for metric in ("total_record_errors", "total_records_skipped", "total_errors_logged"):
        assert of_task(found, f"kafka_connect_task_error_{metric}", "counted-out") == 1
    assert of_task(found, "kafka_connect_task_error_deadletterqueue_produce_requests", "counted-out") == 1
    assert (of_task(found, "kafka_connect_task_error_last_error_timestamp", "counted-out") or 0) > 1e12
    assert of_task(found, "kafka_connect_task_error_total_record_errors", "counted-in") == 0
    assert (of_task(found, "kafka_connect_connector_task_batch_size_max", "counted-in") or 0) >= 1
    assert (of_task(found, "kafka_connect_sink_task_sink_record_read_rate", "counted-out") or 0) > 0
    assert of_task(found, "kafka_connect_connector_task_offset_commit_success_percentage", "counted-in") == 1
    assert (of_task(found, "kafka_connect_connector_task_running_ratio", "counted-in") or 0) > 0
    assert (of_task(found, "penstock_task_batches_total", "counted-in") or 0) >= 1
    sizes = [of_task(found, f"kafka_connect_source_task_transaction_size_{word}", "counted-in") for word in SIZES]
    assert all(1 <= (size or 0) <= 4 for size in sizes), sizes
    assert made_of(found, "connector_task_info")["connector_class"] == config["connector.class"]
    for kind, alias in (("transform", "drop"), ("predicate", "old")):
        labels = made_of(found, f"connector_{kind}_info")
        assert (labels["task"], labels[kind]) == ("0", alias)
        assert labels[f"{kind}_class"].startswith("penstock.transforms.")
        assert labels[f"{kind}_version"]
    assert 'penstock_task_step_seconds_total{connector="counted-out",task="0",step="put"}' in found

    for sample in found:
        labels = set(re.findall(r'(?:[{,])([a-z_]+)="', sample))
        assert labels <= set(METRICS[name_of(sample)].labels), sample
    assert not {name_of(sample) for sample in found} & CLUSTER

    started = found['kafka_connect_worker_task_startup_success_total{worker_id="worker.example:8083"}']
    assert api.post("/connectors/counted-out/tasks/0/restart").status_code == 204
    wait_until(lambda: of_task(scraped(api), read, "counted-out") == 0, "the counters began anew", SECONDS)
    wait_until(
        lambda: (
            scraped(api)['kafka_connect_worker_task_startup_success_total{worker_id="worker.example:8083"}']
            == started + 1
        ),
        "the start was counted",
        SECONDS,
    )


@pytest.mark.integration
def test_starts_and_pauses_are_counted(api: httpx2.Client, config: Mapping[str, str]) -> None:
    worker = '{worker_id="worker.example:8083"}'
    before = scraped(api)
    assert api.post("/connectors", json={"name": "paused", "config": config}).status_code == 201
    running, pause = (f"kafka_connect_connector_task_{state}_ratio" for state in ("running", "pause"))
    # Paused before it has tasks it would get none.
    wait_until(lambda: (of_task(scraped(api), running, "paused") or 0) > 0, "the task runs", SECONDS)
    assert api.put("/connectors/paused/pause").status_code == 202
    wait_until(lambda: (of_task(scraped(api), pause, "paused") or 0) > 0, "the pause counts", SECONDS)
    found = scraped(api)
    success = f"kafka_connect_worker_connector_startup_success_total{worker}"
    assert found[success] == before[success] + 1
    attempts = f"kafka_connect_worker_connector_startup_attempts_total{worker}"
    assert found[attempts] == before[attempts] + 1
