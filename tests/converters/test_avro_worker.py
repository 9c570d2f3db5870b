"""Avro and JSON Schema through a real worker, with Spark's Python workers asking the registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.ports import free_port
from tests.support.registry import RegistryServer
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = pytest.mark.integration

AVRO = "io.confluent.connect.avro.AvroConverter"
JSON_SCHEMA = "io.confluent.connect.json.JsonSchemaConverter"


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        yield server


def source(topic: str, converter: str, url: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "Generator",
        "topic": topic,
        "count": "40",
        "rate": "0",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": converter,
        "value.converter.schema.registry.url": url,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def sink(topic: str, file: Path, converter: str, url: str) -> dict[str, str]:
    return {
        "connector.class": "FileStreamSink",
        "topics": topic,
        "file": str(file),
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": converter,
        "value.converter.schema.registry.url": url,
    }


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.parametrize(("name", "converter"), [("avro", AVRO), ("jsonschema", JSON_SCHEMA)])
def test_structs_go_through_a_topic_in_the_registry_s_formats(
    tmp_path: Path, shared_worker: PenstockProcess, registry: RegistryServer, name: str, converter: str
) -> None:
    file = tmp_path / "out.txt"
    shared_worker.create(f"{name}-in", source(name, converter, registry.url))
    shared_worker.create(f"{name}-out", sink(name, file, converter, registry.url))
    wait_until(lambda: len(lines(file)) == 40, "forty lines are written", 180)
    assert len(set(lines(file))) == 40
    assert all(line.startswith("Struct{") and line.endswith("}") for line in lines(file))
    assert [version.number for version in registry.registry.subjects[f"{name}-value"]] == [1]


def test_a_schema_the_registry_refuses_fails_the_task_with_the_registry_s_words(
    shared_worker: PenstockProcess, registry: RegistryServer
) -> None:
    other = {"type": "record", "name": "n.Other", "fields": [{"name": "x", "type": "int"}]}
    registry.registry.register("taken-value", {"schema": json.dumps(other)})
    shared_worker.create("refused", source("taken", AVRO, registry.url))
    trace = wait_until(lambda: failed(shared_worker, "refused"), "the task is FAILED", 180)
    assert "Schema being registered is incompatible with an earlier schema" in str(trace)


def test_a_registry_that_is_away_fails_the_task_unless_records_may_wait_for_it(
    tmp_path: Path, shared_worker: PenstockProcess
) -> None:
    port = free_port()
    url, file = f"http://127.0.0.1:{port}", tmp_path / "out.txt"
    shared_worker.create("impatient", source("impatient", AVRO, url))
    shared_worker.create("patient", source("patient", AVRO, url, errors_retry_timeout="-1"))
    shared_worker.create("patient-out", sink("patient", file, AVRO, url))
    trace = wait_until(lambda: failed(shared_worker, "impatient"), "the task is FAILED", 180)
    assert "The schema registry cannot be reached" in str(trace)
    shared_worker.wait_state("patient", "RUNNING")
    assert lines(file) == []
    with RegistryServer(port):
        wait_until(lambda: len(lines(file)) == 40, "forty lines are written", 120)


def failed(worker: PenstockProcess, name: str) -> Any:
    tasks = worker.status(name)["tasks"]
    return tasks[0]["trace"] if tasks and tasks[0]["state"] == "FAILED" else None
