"""The client against a real Kafka Connect: what both have works, the rest is told; connectors move to Penstock."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.client.conftest import STRING, Client
from tests.support.kafka import KafkaBroker
from tests.support.kafka_connect import KafkaConnect
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaConnect]:
    kinds = ("config", "offset", "status")
    with KafkaBroker() as broker:
        settings = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "client",
            **{f"{kind}.storage.topic": f"client-{kind}" for kind in kinds},
            **{f"{kind}.storage.replication.factor": "1" for kind in kinds},
            "key.converter": STRING,
            "value.converter": STRING,
            "offset.flush.interval.ms": "500",
        }
        with KafkaConnect(tmp_path_factory.mktemp("connect"), settings) as process:
            yield process


@pytest.fixture
def java(connect: KafkaConnect, tmp_path: Path) -> Client:
    return Client(tmp_path, connect.url)


@pytest.fixture
def lines(java: Client, tmp_path: Path) -> str:
    """A file source that has read three lines."""
    name = f"lines-{uuid.uuid4().hex[:6]}"
    (tmp_path / "in.txt").write_text("one\ntwo\nthree\n")
    config = {"connector.class": FILE_SOURCE, "file": str(tmp_path / "in.txt"), "topic": name}
    java.ok("create", "-f", "-", "--name", name, "--wait", stdin=json.dumps(config))
    wait_until(lambda: java.ok("offsets", "get", name, "-o", "json").data["offsets"], "offsets are committed")
    return name


def test_the_shared_verbs_work(java: Client, lines: str, tmp_path: Path) -> None:
    row = next(line.split() for line in java.ok("get", "connectors", "lines-*").out.splitlines() if lines in line)
    assert row == [lines, "source", "RUNNING", "1", "RUNNING", "FileStreamSourceConnector"]
    assert "FileStreamSinkConnector" in java.ok("get", "plugins").out
    assert java.ok("get", "loggers", "root", "-o", "json").data["root"]["level"]
    java.ok("pause", lines, "--wait")
    java.ok("resume", lines, "--wait")
    java.ok("restart", lines, "--tasks", "--wait")
    assert java.ok("patch", lines, "--set", "batch.size=7", "--wait").out == f"✓ {lines} changed\n  + batch.size = 7\n"
    assert java.ok("describe", lines, "-o", "json").data["config"]["batch.size"] == "7"
    wrong = java("patch", lines, "--set", "tasks.max=0")
    assert (wrong.code, "tasks.max" in wrong.err) == (4, True)
    tried = java.ok("offsets", "rewind", lines, "--dry-run", "-o", "json").data
    assert tried[0]["answer"][0]["new"] is None
    java.ok("offsets", "rewind", lines, "--stop")
    java.ok("delete", lines, "--with-offsets", "--wait")
    assert java("describe", lines).code == 7


def test_configurations_are_applied_edited_and_compared(java: Client, lines: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.yaml"
    config = java.ok("describe", lines, "-o", "json").data["config"]
    file.write_text(json.dumps({"name": lines, "config": {**config, "batch.size": "9"}}))
    tried = java.ok("apply", "-f", str(file), "--dry-run").out
    assert tried == f"{lines} would be changed:\n  + batch.size = 9\n"
    assert "batch.size" not in java.ok("describe", lines, "-o", "json").data["config"]
    assert java.ok("apply", "-f", str(file), "--wait").out == f"✓ {lines} changed\n  + batch.size = 9\n"
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/batch.size: .*/batch.size: \'11\'/" "$1"\n')
    editor.chmod(0o755)
    java.ok("edit", lines, "--yes", EDITOR=str(editor), VISUAL="")
    assert java.ok("describe", lines, "-o", "json").data["config"]["batch.size"] == "11"
    taken = java("create", "-f", str(file))
    assert (taken.code, "→ penstock apply -f FILE" in taken.err) == (4, True)
    misspelt = java("create", "-f", "-", stdin='{"name": "x", "config": {"connector.class": "FileStreamSorce"}}')
    assert "→ Did you mean FileStreamSource" in misspelt.err
    java.ok("delete", lines)


def test_states_offsets_topics_and_loggers_are_led(java: Client, lines: str, tmp_path: Path) -> None:
    assert java.ok("get", "topics", lines, "-o", "json").data == {lines: [lines]}
    java.ok("topics", "forget", lines)
    assert java.ok("restart", lines, "--failed", "--wait").out == f"  {lines} had nothing to restart\n"
    java.ok("restart", lines, "--task", "0", "--wait")
    assert java("restart", lines, "--task", "7").code == 7
    java.ok("stop", lines, "--wait")
    offsets = tmp_path / "offsets.json"
    offsets.write_text(java.ok("get", "offsets", lines, "-o", "json").out)
    offsets.write_text(offsets.read_text().replace("14", "4"))
    java.ok("offsets", "set", lines, "-f", str(offsets))
    assert java.ok("offsets", "get", lines, "-o", "json").data["offsets"][0]["offset"] == {"position": 4}
    java.ok("offsets", "reset", lines)
    assert java.ok("offsets", "get", lines, "-o", "json").data["offsets"] == []
    java.ok("resume", "--all", "--wait")
    java.ok("pause", "lines-*", "--wait")
    before = java.ok("get", "loggers", "root", "-o", "json").data["root"]["level"]
    java.ok("loggers", "set", "org.apache.kafka.connect.file", "debug")
    level = java.ok("get", "loggers", "org.apache.kafka.connect.file", "-o", "yaml").out
    assert "level: DEBUG" in level
    assert java.ok("get", "loggers", "root", "-o", "json").data["root"]["level"] == before
    java.ok("delete", "--all", "--yes", "--wait")
    assert java.ok("get", "connectors").out == "No connectors.\n"


def test_a_sink_goes_to_the_start_and_no_other_place(java: Client, lines: str, tmp_path: Path) -> None:
    sink, file = f"{lines}-out", tmp_path / "out.txt"
    config = {"connector.class": FILE_SINK, "file": str(file), "topics": lines}
    java.ok("create", "-f", "-", "--name", sink, "--wait", stdin=json.dumps(config))
    wait_until(lambda: java.ok("offsets", "get", sink, "-o", "json").data["offsets"], "the sink has committed")
    refused = java("offsets", "rewind", sink, "--to", "1h", "--stop")
    assert (refused.code, "is a Kafka Connect 4.3.1" in refused.err) == (9, True)
    java.ok("offsets", "rewind", sink, "--stop")
    wait_until(lambda: file.read_text().splitlines().count("one") == 2, "the lines come again")
    java.ok("delete", lines, sink)


def test_what_only_penstock_has_is_told(java: Client, lines: str) -> None:
    for command in (
        ["topics", "list"],
        ["topics", "tail", "x"],
        ["topics", "export", "x", "-"],
        ["lifecycle", "show", lines],
        ["dlq", "list", lines],
        ["logs", lines],
        ["get", "pipelines"],
    ):
        done = java(*command)
        assert (done.code, "needs a Penstock worker" in done.err) == (9, True), (command, done)
    java.ok("delete", lines)


def test_a_connector_moves_from_kafka_connect_to_penstock(
    java: Client, lines: str, connect: KafkaConnect, client_worker: PenstockProcess, tmp_path: Path
) -> None:
    move = ["migrate", lines, "--from", connect.url, "--to", client_worker.url]
    assert java.ok(*move).out == f"✓ {lines} migrated\n"
    assert connect.http.get(f"/connectors/{lines}").status_code == 404
    with (tmp_path / "in.txt").open("a") as file:
        file.write("four\n")
    found = wait_until(
        lambda: client_worker.http.get(f"/topics/{lines}/records").json().get("records"), "the new line is read", 60
    )
    assert [json.loads(record["value"]["text"]) for record in found] == ["four"]
    back = ["migrate", lines, "--from", client_worker.url, "--to", connect.url]
    java.ok(*back)
    assert java.ok("get", "connectors", lines, "-o", "json").data[lines]["status"]["connector"]["state"] == "RUNNING"
    java.ok("delete", lines)
