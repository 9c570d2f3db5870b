"""A Spark cluster that grows and shrinks under load, and loses executors: all its cores work, no record is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from tests.faults.remains import topic_values
from tests.support.ports import free_port
from tests.support.probes import SETTINGS
from tests.support.spark_cluster import SparkCluster
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

NAMES = [f"load-{number}" for number in range(4)]
CORES = 2
"""Of a machine, and of an executor."""

SECONDS = 480.0
"""An executor that starts, a Python on it and a first lane: minutes where others keep the machine busy."""

ELASTIC = {
    "spark.executor.cores": str(CORES),
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": "2",
    "spark.dynamicAllocation.executorIdleTimeout": "2s",
    "spark.decommission.enabled": "true",
}


class SparkPages:
    """What Spark's own REST API says of the worker's application."""

    def __init__(self) -> None:
        self.port = free_port()
        self.settings = {"spark.ui.enabled": "true", "spark.ui.port": str(self.port)}
        self._http = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}/api/v1", timeout=60.0)

    def ask(self, what: str) -> list[dict[str, Any]]:
        (application,) = self._http.get("/applications").raise_for_status().json()
        found: list[dict[str, Any]] = self._http.get(f"/applications/{application['id']}/{what}").json()
        return found

    def executors(self) -> dict[str, dict[str, Any]]:
        return {one["id"]: one for one in self.ask("executors") if one["id"] != "driver"}

    def cores(self) -> tuple[int, int]:
        """Those that there are, and those that run a task."""
        there = self.executors().values()
        return sum(one["totalCores"] for one in there), sum(one["activeTasks"] for one in there)

    def named(self) -> set[str]:
        """The connectors that jobs name."""
        described = [job.get("description", "").partition(": ")[2] for job in self.ask("jobs")]
        return {name for names in described for name in names.split(", ")}

    def has_failed_jobs(self) -> bool:
        return any(job["status"] == "FAILED" for job in self.ask("jobs"))

    def wait_for_cores(self, count: int, busy: int) -> None:
        """Wait until so many cores are there, and so many of them busy."""
        seen: list[object] = []

        def reached() -> bool:
            seen[:] = [self.cores(), set(self.executors())]
            return seen[0] == (count, busy)

        try:
            wait_until(reached, f"{busy} of {count} cores are busy", SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}; {seen}") from None


class Load:
    """A source that counts without end, until the test says so."""

    def __init__(self, worker: PenstockProcess, name: str, folder: Path) -> None:
        self.worker, self.name, self.goes_on = worker, name, folder / name
        self.goes_on.touch()
        worker.create(name, {"connector.class": "ProbeSource", "topic": name, "endless.file": str(self.goes_on)})

    def committed(self) -> int:
        shown = self.worker.http.get(f"/connectors/{self.name}/offsets").json()["offsets"]
        return int(shown[0]["offset"]["next"]) if shown else 0


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path / "spark", workers=2, cores=CORES) as cluster:
        yield cluster


def test_all_cores_work_while_executors_come_and_go_and_each_record_is_there_once(
    spark: SparkCluster, tmp_path: Path
) -> None:
    pages = SparkPages()
    with PenstockProcess(tmp_path / "worker", {**SETTINGS, **spark.settings, **ELASTIC, **pages.settings}) as worker:
        wait_until(lambda: pages.cores()[0] == CORES, "there is one executor", SECONDS)
        loads = [Load(worker, name, tmp_path) for name in NAMES]
        pages.wait_for_cores(2 * CORES, 2 * CORES)
        records_flow(loads)

        lost = set(pages.executors())
        spark.executors()[0].kill()
        wait_until(lambda: lost - pages.executors().keys(), "Spark misses the executor", SECONDS)
        pages.wait_for_cores(2 * CORES, 2 * CORES)
        records_flow(loads)
        wait_until(pages.has_failed_jobs, "lanes that were lost have failed", SECONDS)

        spark.add_worker()
        leaving = spark.decommission_one()
        wait_until(lambda: not any(map(psutil.Process.is_running, leaving)), "the machine has no executor", SECONDS)
        pages.wait_for_cores(2 * CORES, 2 * CORES)
        records_flow(loads)
        wait_until(lambda: set(NAMES) <= pages.named(), "descriptions name each connector", SECONDS)

        for load in loads:
            load.goes_on.unlink()
        pages.wait_for_cores(CORES, 0)
        assert {"RUNNING"} == {worker.status(name)["tasks"][0]["state"] for name in NAMES}
        wanted = {load.name: load.committed() for load in loads}
        assert worker.stop() == 0
    for name, count in wanted.items():
        found = Counter(value.decode() for value in topic_values(worker.data_dir, name))
        assert found == Counter(f"0:{number}" for number in range(count))


def records_flow(loads: list[Load]) -> None:
    """Every source commits something new."""
    before = [load.committed() for load in loads]

    def go_on() -> bool:
        return all(load.committed() > old for load, old in zip(loads, before, strict=True))

    wait_until(go_on, "all go on", SECONDS)
