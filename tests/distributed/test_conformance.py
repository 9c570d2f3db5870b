"""Every recorded scenario of Kafka Connect's REST API against three workers, each request to another one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster import Cluster
from tests.support.kafka import KafkaBroker
from tests.support.round_robin import RoundRobin

HERE = Path(__file__).parents[1] / "conformance"
SCENARIOS = sorted(path.stem for path in (HERE / "public").glob("*.json"))
JOBS = 6

SETTINGS = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "offset.flush.interval.ms": "2000",
    "exactly.once.source.support": "disabled",
}


@pytest.fixture(scope="module")
def results(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """All scenarios, run once side by side: name → what the harness reports."""
    folder = tmp_path_factory.mktemp("conformance")
    report = folder / "report.json"
    with Cluster(broker, folder, 3, SETTINGS) as cluster, RoundRobin([w.port for w in cluster.workers]) as door:
        command = [sys.executable, str(HERE / "connect_conformance.py"), door.url, str(HERE / "public")]
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
def test_a_recorded_scenario_is_answered_alike_by_any_worker(
    scenario: str, results: dict[str, dict[str, Any]]
) -> None:
    assert results[scenario]["problems"] == []
    assert results[scenario]["failed"] == 0
    assert results[scenario]["passed"] > 0
