"""How connectors are, and what was logged for them, as the client shows it."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from tests.cli.client.conftest import Client
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
