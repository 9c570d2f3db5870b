"""How connectors are, and what was logged for them, as the client shows it."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.cli.client.conftest import Client, Lines
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = pytest.mark.integration

SECONDS = 120.0


def test_a_failed_connector_is_described_with_its_reason_and_its_log(
    client: Client, client_worker: PenstockProcess, tmp_path: Path
) -> None:
    name = f"broken-{uuid.uuid4().hex[:6]}"
    (tmp_path / "folder").mkdir()
    client_worker.create(
        name,
        {
            "connector.class": "FileStreamSource",
            "file": str(tmp_path / "folder"),
            "topic": name,
            "errors.restart.enable": "true",
            "errors.restart.attempts": "1",
            "errors.restart.backoff.ms": "10",
        },
    )

    def given_up() -> bool:
        return "given up after 1 automatic restarts" in client.ok("describe", name).out

    wait_until(given_up, "it was given up", SECONDS)
    described = client.ok("describe", name).out
    assert [line.split()[:2] for line in described.splitlines() if line.startswith("Health")] == [["Health", "failed"]]
    assert "Restarts  1 automatic" in " ".join(described.split("\n")).replace("   ", "  ")
    listed = client.ok("get", "connectors", name).out.splitlines()
    assert listed[1].split()[:4] == [name, "source", "RUNNING", "failed"]
    assert client.ok("get", "connectors", name, "-o", "json").data[name]["health"]["restarts"] == 1
    shown = client.ok("logs", name).out
    assert f"[{name}|task-0]" in shown
    assert "automatic restart 1 of 1 in 0.01 s" in shown
    assert "stays FAILED" in shown
    lines = client.ok("logs", name, "-n", "1", "-o", "json").data
    assert [line["connector"] for line in lines] == [name]
    refused = client("logs", name, "--follow", "-o", "json")
    assert (refused.code, "--follow prints text only" in refused.err) == (1, True)
    client.ok("delete", name)


def test_following_a_log_shows_what_comes(client: Client, client_worker: PenstockProcess, tmp_path: Path) -> None:
    name = f"followed-{uuid.uuid4().hex[:6]}"
    config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "none.txt"), "topic": name}
    client_worker.create(name, config, initial_state="STOPPED")
    assert f"Nothing has been logged for {name}" in client.ok("logs", name).err
    (tmp_path / "folder").mkdir()
    shown = tmp_path / "shown.txt"
    command = [sys.executable, "-m", "penstock", "logs", name, "--follow", "--url", client_worker.url]
    with shown.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as following:
        try:
            wait_until(lambda: f"Nothing has been logged for {name}" in shown.read_text(), "it looks")
            broken = {**config, "file": str(tmp_path / "folder")}
            assert client_worker.http.put(f"/connectors/{name}/config", json=broken).status_code == 200
            client.ok("resume", name)
            wait_until(lambda: f"[{name}|task-0]" in shown.read_text(), "the failure is shown")
        finally:
            following.terminate()
    client.ok("delete", name)


def test_silent_connectors_are_told_in_one_line(
    client: Client, client_worker: PenstockProcess, tmp_path: Path
) -> None:
    prefix = f"silent-{uuid.uuid4().hex[:6]}"
    names = [f"{prefix}-{number}" for number in range(10)]
    for name in names:
        config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "none.txt"), "topic": name}
        client_worker.create(name, config, initial_state="STOPPED")
    told = client.ok("logs", f"{prefix}-*")
    assert (told.out, len(told.err.splitlines())) == ("", 1)
    assert f"Nothing has been logged for 10 connectors since they started: {', '.join(names[:8])} …" in told.err
    client.ok("delete", f"{prefix}-*", "--yes")


def test_a_sink_whose_records_fail_says_so(client: Client, client_worker: PenstockProcess, lines: Lines) -> None:
    json = "org.apache.kafka.connect.json.JsonConverter"
    broken = {**lines.sink_config(), "value.converter": json, "file": str(lines.folder / "other.txt")}
    tolerant = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": f"{lines.name}-dead"}
    names = {"tolerant": f"{lines.name}-tolerant", "strict": f"{lines.name}-strict"}
    client_worker.create(names["tolerant"], {**broken, **tolerant})
    client_worker.create(names["strict"], broken)

    def listed(name: str, *wanted: str) -> bool:
        rows = client.ok("get", "connectors", name).out.splitlines()
        return rows[0].split()[-1] == "REASON" and all(one in rows[1] for one in wanted)

    whole = "100% of the newest 10 records failed, 10 since the task was started"
    where = f"they are dead letters in topic {lines.name}-dead."
    wait_until(lambda: listed(names["tolerant"], "degraded", whole, where), "the sink is degraded", SECONDS)
    wait_until(lambda: listed(names["strict"], f"offset 0 of {lines.name}-0"), "the record is named", SECONDS)
    assert client.ok("get", "connectors", lines.sink).out.splitlines()[0].split()[-1] == "CLASS"
    assert f"Failed record: offset 0 of {lines.name}-0, at VALUE_CONVERTER ({json})" in client.ok(
        "describe", names["strict"]
    ).out
    client.ok("delete", *names.values())
