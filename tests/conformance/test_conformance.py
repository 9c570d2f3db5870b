"""Every recorded scenario of Kafka Connect's REST API, replayed against ``penstock standalone``.

Where Kafka Connect answers 500 to a user's mistake Penstock answers 400, hence ``--accept-400``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.worker import PenstockProcess

HERE = Path(__file__).parent
SCENARIOS = sorted(path.stem for path in (HERE / "public").glob("*.json"))
JOBS = 4

SETTINGS = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "offset.flush.interval.ms": "2000",
    "exactly.once.source.support": "disabled",
}
"""The settings of the worker that the scenarios were recorded from."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """All scenarios, run once side by side: name → what the harness reports."""
    folder = tmp_path_factory.mktemp("conformance")
    report = folder / "report.json"
    with PenstockProcess(folder / "worker", SETTINGS) as worker:
        command = [sys.executable, str(HERE / "connect_conformance.py"), worker.url, str(HERE / "public")]
        options = ["--accept-400", "--jobs", str(JOBS), "--timeout-scale", "2", "--report", str(report)]
        done = subprocess.run(
            [*command, *options, "--scratch", str(folder / "scratch")], capture_output=True, text=True
        )
        assert report.exists(), done.stdout + done.stderr
    found = json.loads(report.read_text())
    return {result["name"]: result for result in found["scenarios"]}


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_recorded_scenario_is_answered_alike(scenario: str, results: dict[str, dict[str, Any]]) -> None:
    assert results[scenario]["problems"] == []
    assert results[scenario]["failed"] == 0
    assert results[scenario]["passed"] > 0
