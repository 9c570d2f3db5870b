"""A worker is killed again and again while it moves lines from a file to a topic to a file: nothing is lost or twice.

The rounds share one pipeline and build on each other; the last tests look at what came of it all.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

from .pipeline import Pipeline, bytes_before
from .remains import committed, processes_of, segment_files, topic_folders, topic_values

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

END_SECONDS = 120.0
"""In which everything that a killed worker had started must be gone."""

COMMIT_POINTS = [
    "database-before-commit:3",
    "source-planned:2",
    "source-read:1",
    "source-commit-within:1",
    "source-commit-after:2",
    "source-committed:2",
    "sink-planned:2",
    "sink-put:1",
    "sink-put:4",
    "sink-commit-within:2",
    "database-before-commit:60",
    "database-after-commit:60",
    "rewritten-file:1",
    "swap-within:1",
    "swap-after:1",
]

RANDOM_MOMENTS = [0.3, 1.0, 2.0, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    with Pipeline(tmp_path_factory.mktemp("pipeline")) as pipeline:
        yield pipeline


@pytest.mark.parametrize("point", COMMIT_POINTS)
def test_killed_at_a_commit_point(pipeline: Pipeline, point: str) -> None:
    worker = pipeline.worker
    worker.kill()
    worker.start(wait=False, PENSTOCK_FAULT=point)
    wait_sane_unless_dead(pipeline)
    wait_until(lambda: not worker.running, f"the worker dies at {point}", 120)
    assert worker.exit_code == -signal.SIGKILL
    assert_nothing_runs(pipeline)
    assert_nothing_lost_or_twice(pipeline)


def test_killed_while_a_start_puts_files_in_their_place(pipeline: Pipeline) -> None:
    def published(data_dir: Path) -> list[Path]:
        return [file for file in segment_files(data_dir) if file.exists()]

    def leave_a_file_staged(data_dir: Path) -> None:
        newest = published(data_dir)[-1]
        newest.rename(topic_folders(data_dir).staged / newest.name.partition("-")[2])

    wait_until(lambda: published(pipeline.worker.data_dir), "a batch was large enough for a file", 600)
    killed_during_recovery(pipeline, "recovery-publish", leave_a_file_staged)


def test_killed_while_a_start_sweeps_what_was_never_committed(pipeline: Pipeline) -> None:
    def leave_orphans(data_dir: Path) -> None:
        for number in range(3):
            (topic_folders(data_dir).staged / f"0000-{number}.parquet").write_bytes(b"half a file")

    killed_during_recovery(pipeline, "recovery-sweep:2", leave_orphans)


@pytest.mark.parametrize("moment", RANDOM_MOMENTS)
def test_killed_with_all_it_started_at_a_random_moment(pipeline: Pipeline, moment: float) -> None:
    worker = pipeline.worker
    worker.kill()
    worker.start(wait=False)
    time.sleep(moment + random.random())
    worker.kill()
    assert_nothing_runs(pipeline)
    assert_nothing_lost_or_twice(pipeline)


def test_killed_alone_it_takes_everything_down_and_may_start_again_at_once(pipeline: Pipeline) -> None:
    worker = pipeline.worker
    worker.restart()
    pipeline.wait_until_more_is_out()
    first = worker.pid
    os.kill(first, signal.SIGKILL)
    worker.start()
    wait_until(lambda: not processes_of(first), "JVM and Python workers end by themselves", END_SECONDS)
    pipeline.wait_until_more_is_out()
    assert_no_line_is_wrong(pipeline)


@pytest.mark.parametrize("point", ["staging-file", "staged-file"])
def test_a_python_worker_that_dies_while_staging_only_delays(pipeline: Pipeline, tmp_path: Path, point: str) -> None:
    worker = pipeline.worker
    worker.kill()
    death = tmp_path / "death"
    worker.start(PENSTOCK_FAULT=point, PENSTOCK_FAULT_ONCE=str(death))
    wait_until(death.exists, f"a Python worker dies at {point}", 120)
    pipeline.wait_until_more_is_out()
    pipeline.wait_sane()
    worker.kill()
    assert_nothing_lost_or_twice(pipeline)


def test_lost_python_workers_a_lost_jvm_and_a_lost_daemon_only_delay(pipeline: Pipeline) -> None:
    worker = pipeline.worker
    worker.restart()
    pipeline.wait_until_more_is_out()
    for child in python_daemon(worker.pid).children():
        with suppress(psutil.NoSuchProcess):
            child.kill()
    pipeline.wait_until_more_is_out()
    kill_jvm(worker)
    pipeline.wait_until_more_is_out()
    python_daemon(worker.pid).kill()
    pipeline.wait_until_more_is_out()
    pipeline.wait_sane()
    assert_no_line_is_wrong(pipeline)


def test_a_lost_jvm_is_seen_although_the_processes_it_began_live_on(pipeline: Pipeline) -> None:
    worker = pipeline.worker
    worker.restart()
    pipeline.wait_until_more_is_out()
    daemon = python_daemon(worker.pid)
    lanes = daemon.children()
    daemon.kill()
    kill_jvm(worker)
    wait_until(lambda: not any(is_alive(lane) for lane in lanes), "its lanes end")
    pipeline.wait_until_more_is_out()
    pipeline.wait_sane()
    assert_no_line_is_wrong(pipeline)


def kill_jvm(worker: PenstockProcess) -> None:
    """Kill Spark's JVM and wait until the worker has seen it."""
    known = spark_losses(worker)
    for java in processes_of(worker.pid, "org.apache.spark.deploy.SparkSubmit"):
        java.kill()
    wait_until(lambda: spark_losses(worker) > known, "the loss of the JVM is seen")


def spark_losses(worker: PenstockProcess) -> int:
    return worker.output.read_text().count("starting Spark again")


def is_alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def python_daemon(worker: int) -> psutil.Process:
    """The process from which Spark forks its Python workers."""
    return min(processes_of(worker, "penstock.spark.daemon"), key=lambda process: process.create_time())


def test_after_it_all_every_line_is_in_the_topic_and_in_the_file_exactly_once(pipeline: Pipeline) -> None:
    worker = pipeline.worker
    worker.kill()
    lines = pipeline.feeder.stop()
    worker.start()
    pipeline.wait_sane()
    pipeline.wait_until_all_is_out()
    assert worker.http.get("/connectors/in/topics").json() == {"in": {"topics": ["lines"]}}
    assert worker.stop() == 0
    assert_nothing_runs(pipeline)

    fed = pipeline.source.read_bytes()
    assert fed.count(b"\n") == lines
    assert b"".join(value + b"\n" for value in topic_values(worker.data_dir)) == fed
    assert pipeline.target.read_bytes() == fed


def test_after_it_all_no_file_is_left_over_and_none_is_missing(pipeline: Pipeline) -> None:
    data_dir = pipeline.worker.data_dir
    assert not pipeline.worker.running
    folders = topic_folders(data_dir)
    assert list(folders.staged.iterdir()) == []
    assert sorted(folders.partition("lines", 0).iterdir()) == segment_files(data_dir)
    assert not folders.topic("never").exists()
    assert list((data_dir / "spark").glob("run-*")) == []


def wait_sane_unless_dead(pipeline: Pipeline) -> None:
    """What the last kill left is made good by this start, unless it is killed before it can show."""
    try:
        pipeline.worker.wait_healthy()
        pipeline.wait_sane()
    except Exception:
        if pipeline.worker.running:
            raise


def killed_during_recovery(pipeline: Pipeline, point: str, leave: Callable[[Path], None]) -> None:
    worker = pipeline.worker
    worker.kill()
    leave(worker.data_dir)
    worker.start(wait=False, PENSTOCK_FAULT=point)
    wait_until(lambda: not worker.running, f"the worker dies at {point}")
    assert worker.exit_code == -signal.SIGKILL
    assert_nothing_lost_or_twice(pipeline)


def assert_nothing_runs(pipeline: Pipeline) -> None:
    leader = pipeline.worker.pid
    wait_until(lambda: not processes_of(leader), "everything the worker started is gone", END_SECONDS)


def assert_nothing_lost_or_twice(pipeline: Pipeline) -> None:
    """Offsets, topic, positions and files of a dead worker agree with each other to the byte."""
    found = committed(pipeline.worker.data_dir)
    assert found.source_position == bytes_before(found.topic_end)
    assert found.sink_position <= found.topic_end
    assert found.sink_length == bytes_before(found.sink_position)
    assert pipeline.bytes_out >= found.sink_length
    assert_no_line_is_wrong(pipeline)


def assert_no_line_is_wrong(pipeline: Pipeline) -> None:
    """The output is, at every moment, the beginning of the input: none lost, none twice, none out of order."""
    done = pipeline.target.read_bytes()
    with pipeline.source.open("rb") as source:
        assert done == source.read(len(done))
