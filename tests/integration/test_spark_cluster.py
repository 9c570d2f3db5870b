"""The same pipelines on a Spark cluster, whose executors have nothing of ours installed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.probes import SETTINGS, Probe, wait_for_spark
from tests.support.spark_cluster import SparkCluster, python_daemons
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]
LINES = 400_000
SHARE = {"spark.cores.max": "2"}
STRING = "org.apache.kafka.connect.storage.StringConverter"
PLAIN = {"key.converter": STRING, "value.converter": STRING}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def clustered(cluster: SparkCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    settings = {**SETTINGS, **cluster.settings, **SHARE}
    with PenstockProcess(tmp_path_factory.mktemp("worker"), settings) as worker:
        yield worker


def test_a_plugin_of_the_worker_s_plugin_path_runs_on_executors(clustered: PenstockProcess, tmp_path: Path) -> None:
    wait_for_spark(clustered, tmp_path)
    source = Probe(clustered, tmp_path).create({"count": "10"})
    sink = Probe(clustered, tmp_path, "ProbeSink", source.topic).create()
    assert [offset for _, offset, _ in sink.wait_out(10)] == list(range(10))


def test_python_workers_of_executors_are_forked_from_our_daemon(
    clustered: PenstockProcess, cluster: SparkCluster, tmp_path: Path
) -> None:
    wait_for_spark(clustered, tmp_path)
    daemons = python_daemons(cluster.executors())
    assert {tuple(daemon.cmdline()[1:3]) for daemon in daemons} == {("-m", "penstock.spark.daemon")}
    assert {daemon.exe() for daemon in daemons} == {str(cluster.python.joinpath("bin", "python").resolve())}
    assert "Python daemon could not get ready" not in clustered.tail(10_000)


def test_an_executor_that_dies_costs_time_and_nothing_else(
    clustered: PenstockProcess, cluster: SparkCluster, tmp_path: Path
) -> None:
    given, taken = tmp_path / "in.txt", tmp_path / "out.txt"
    given.write_text("".join(f"line {number}\n" for number in range(LINES)))
    source = {"connector.class": "FileStreamSource", "file": str(given), "topic": "lines", **PLAIN}
    sink = {"connector.class": "FileStreamSink", "file": str(taken), "topics": "lines", **PLAIN}
    clustered.create("in", source)
    clustered.create("out", sink)
    wait_until(lambda: taken.exists() and taken.stat().st_size > 0, "lines arrive", seconds=120)
    before = cluster.executors()
    for executor in before:
        executor.kill()
    with given.open("a") as more:
        more.write("last line\n")
    expected = [*(f"line {number}" for number in range(LINES)), "last line"]
    wait_until(lambda: taken.read_text().endswith("last line\n"), "the last line arrives", seconds=240)
    assert taken.read_text().splitlines() == expected
    assert {executor.pid for executor in before} != {executor.pid for executor in cluster.executors()}
    clustered.wait_state("in", "RUNNING")
    clustered.wait_state("out", "RUNNING")


def test_two_workers_share_the_cluster(clustered: PenstockProcess, cluster: SparkCluster, tmp_path: Path) -> None:
    with PenstockProcess(tmp_path / "other", {**SETTINGS, **cluster.settings, **SHARE}) as other:
        wait_for_spark(other, tmp_path)
        clustered.wait_state("in", "RUNNING")


@pytest.mark.skipif(os.geteuid() != 0, reason="hiding a folder from executors needs root: run the tests as CI does")
def test_executors_that_do_not_see_the_embedded_log_fail_the_task_with_the_way_out(tmp_path: Path) -> None:
    topics = tmp_path / "worker" / "data" / "topics"
    topics.mkdir(parents=True)
    given = tmp_path / "in.txt"
    given.write_text("".join(f"line {number}\n" for number in range(LINES)))
    source = {"connector.class": "FileStreamSource", "file": str(given), "topic": "lines", **PLAIN}
    with (
        SparkCluster(tmp_path / "spark", workers=1, hidden=topics) as far,
        PenstockProcess(tmp_path / "worker", {**SETTINGS, **far.settings, **SHARE}) as worker,
    ):
        worker.create("in", source)
        wait_until(lambda: worker.status("in")["tasks"][0]["state"] == "FAILED", "the task fails", 240)
        trace = worker.status("in")["tasks"][0]["trace"]
        assert f"does not see {topics}, the folder of the embedded topics" in trace
        assert "set bootstrap.servers in the worker's file" in trace
        assert worker.http.get("/connectors/in/offsets").json() == {"offsets": []}
