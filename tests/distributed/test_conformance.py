"""Every recorded scenario of Kafka Connect's REST API against a cluster: a third of them asks each worker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster import Cluster
from tests.support.kafka import KafkaBroker
from tests.support.probes import wait_for_spark

HERE = Path(__file__).parents[1] / "conformance"
ONE_WORKER = "forward-parameter"
"""It forbids passing requests on, so the worker that is asked has to lead and to run everything."""

SCENARIOS = sorted(path for path in (HERE / "public").glob("*.json") if path.stem != ONE_WORKER)
WORKERS = 3
JOBS = 2

SETTINGS = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "offset.flush.interval.ms": "2000",
    "exactly.once.source.support": "disabled",
    "plugin.path": str(Path(__file__).parents[1] / "support" / "plugins"),
}


@pytest.fixture(scope="module")
def results(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """All scenarios, run once side by side: name → what the harness reports."""
    folder = tmp_path_factory.mktemp("conformance")
    found: dict[str, dict[str, Any]] = {}
    with Cluster(broker, folder, WORKERS, SETTINGS) as cluster:
        for worker in cluster.workers:
            wait_for_spark(worker, folder)
        running = [_replay(worker.url, number, folder) for number, worker in enumerate(cluster.workers)]
        for number, process in enumerate(running):
            said, _ = process.communicate(timeout=800)
            report = folder / f"report-{number}.json"
            assert report.exists(), said
            found.update({result["name"]: result for result in json.loads(report.read_text())["scenarios"]})
    return found


def _replay(url: str, number: int, folder: Path) -> subprocess.Popen[str]:
    files = [str(path) for path in SCENARIOS[number::WORKERS]]
    command = [sys.executable, str(HERE / "connect_conformance.py"), url, *files]
    options = ["--accept-400", "--jobs", str(JOBS), "--timeout-scale", "3"]
    places = ["--report", str(folder / f"report-{number}.json"), "--scratch", str(folder / f"scratch-{number}")]
    return subprocess.Popen([*command, *options, *places], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("scenario", [path.stem for path in SCENARIOS])
def test_a_recorded_scenario_is_answered_alike_by_a_worker_of_a_cluster(
    scenario: str, results: dict[str, dict[str, Any]]
) -> None:
    assert results[scenario]["problems"] == []
    assert results[scenario]["failed"] == 0
    assert results[scenario]["passed"] > 0
