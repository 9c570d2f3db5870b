"""A Spark that does not start at first: tasks wait for it, the worker tries again by itself, and says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.java import java_that_fails_while
from tests.support.probes import SETTINGS, Probe
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

EXCUSE = "Could not reserve enough space for the object heap"


@pytest.fixture
def trouble(tmp_path: Path) -> Path:
    """While this file is there, Java does not start."""
    file = tmp_path / "trouble"
    file.touch()
    return file


@pytest.fixture
def worker(tmp_path: Path, trouble: Path) -> Iterator[PenstockProcess]:
    with PenstockProcess(tmp_path / "worker", SETTINGS, java_that_fails_while(tmp_path, trouble)) as running:
        yield running


def message_of(worker: PenstockProcess) -> str:
    answer = worker.http.get("/health")
    assert answer.status_code == 200
    return str(answer.json()["message"])


def tries(worker: PenstockProcess) -> int:
    return worker.output.read_text().count("Spark did not start; tasks wait")


def test_records_flow_without_a_request_once_spark_starts(
    worker: PenstockProcess, trouble: Path, tmp_path: Path
) -> None:
    source = Probe(worker, tmp_path).create_running({"count": "10"})
    sink = Probe(worker, tmp_path, "ProbeSink", source.topic).create_running()
    wait_until(lambda: tries(worker) >= 2, "a second try", 120)
    assert f"no records flow until it does. Spark could not start: Error: {EXCUSE}" in worker.output.read_text()
    wait_until(lambda: EXCUSE in message_of(worker), "the reason is told", 120)
    assert (source.states(), source.offsets()) == (["RUNNING", "RUNNING"], [])
    trouble.unlink()
    wait_until(lambda: len(sink.out()) == 10, "records flow", 180)
    assert message_of(worker) == "Worker has completed startup and is ready to handle requests."
    assert worker.stop() == 0


def test_a_worker_that_waits_for_spark_stops_when_it_is_asked_to(worker: PenstockProcess, tmp_path: Path) -> None:
    Probe(worker, tmp_path).create_running({"count": "10"})
    wait_until(lambda: tries(worker) >= 3, "pauses of seconds", 120)
    assert worker.stop() == 0
    assert "Stopped" in worker.output.read_text()
