"""Every recorded scenario of Kafka Connect's REST API against a cluster, with each request to another worker."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster import Cluster
from tests.support.kafka import KafkaBroker
from tests.support.probes import wait_for_spark
from tests.support.round_robin import RoundRobin

HERE = Path(__file__).parents[1] / "conformance"
ONE_WORKER = "forward-parameter"
"""It forbids passing requests on, so the worker that is asked has to lead and to run everything."""

OF_A_WORKER = "loggers-basic"
"""Log levels belong to the worker that was asked, in Kafka Connect, too: all requests go to one that does not lead."""

SCENARIOS = sorted(path for path in (HERE / "public").glob("*.json") if path.stem != ONE_WORKER)

HOLDS = frozenset(path.stem for path in SCENARIOS if '"hold"' in path.read_text())
"""A state has to stay as it is for a while: nobody else comes and goes meanwhile, which would make tasks move."""

WORKERS = 3
JOBS = 6

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
    """All scenarios, run once, most of them side by side: name → what the harness reports."""
    folder = tmp_path_factory.mktemp("conformance")
    with Cluster(broker, folder, WORKERS, SETTINGS) as cluster:
        for worker in cluster.workers:
            wait_for_spark(worker, folder)
        with RoundRobin([worker.port for worker in cluster.workers]) as door:
            shared = [path for path in SCENARIOS if path.stem not in (OF_A_WORKER, *HOLDS)]
            found = _replay(door.url, shared, folder / "shared", JOBS)
            alone = [path for path in SCENARIOS if path.stem in HOLDS]
            found |= _replay(door.url, alone, folder / "alone", 1)
        own = [path for path in SCENARIOS if path.stem == OF_A_WORKER]
        return found | _replay(cluster.follower().url, own, folder / "own", 1)


def _replay(url: str, scenarios: Sequence[Path], folder: Path, jobs: int) -> dict[str, dict[str, Any]]:
    report = folder / "report.json"
    folder.mkdir()
    command = [sys.executable, str(HERE / "connect_conformance.py"), url, *map(str, scenarios)]
    options = ["--accept-400", "--jobs", str(jobs), "--timeout-scale", "3"]
    places = ["--report", str(report), "--scratch", str(folder / "scratch")]
    done = subprocess.run([*command, *options, *places], capture_output=True, text=True, timeout=800)
    assert report.exists(), done.stdout + done.stderr
    return {result["name"]: result for result in json.loads(report.read_text())["scenarios"]}


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("scenario", [path.stem for path in SCENARIOS])
def test_a_recorded_scenario_is_answered_alike_whichever_worker_is_asked(
    scenario: str, results: dict[str, dict[str, Any]]
) -> None:
    assert results[scenario]["problems"] == []
    assert results[scenario]["failed"] == 0
    assert results[scenario]["passed"] > 0
