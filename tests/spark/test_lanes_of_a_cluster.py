"""Lanes of executors on other machines: what they are forked from, and who can read what they say."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import venv
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from penstock.spark.dispatcher import Dispatcher
from penstock.spark.session import start_spark
from penstock.spark.splits import Receipt
from tests.spark.works import Repeat
from tests.support.eavesdropper import Eavesdropper
from tests.support.ports import free_port
from tests.support.spark_cluster import executors_below, python_daemons

pytestmark = [pytest.mark.integration, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
SITE_PACKAGES = [entry for entry in sys.path if entry.endswith("site-packages")]
CLUSTER = {"spark.master": "local-cluster[1,1,1024]", "spark.executor.memory": "512m"}
FAR = "127.0.0.2"
"""An address of this machine, too, at which nothing of the driver listens."""


@contextmanager
def dispatching(settings: Mapping[str, str], folder: Path) -> Iterator[Dispatcher]:
    engine = start_spark({**CLUSTER, "spark.executorEnv.PYTHONPATH": str(ROOT), **settings}, folder / "data")
    dispatcher = Dispatcher(engine)
    try:
        yield dispatcher
    finally:
        dispatcher.stop()
        engine.stop()


def repeat(dispatcher: Dispatcher, text: str) -> Receipt:
    receipts: Future[list[Receipt]] = Future()
    dispatcher.submit("task", [Repeat(text)], lambda answer: receipts.set_result(list(answer)))
    (receipt,) = receipts.result(timeout=180)
    assert receipt.failure is None
    assert receipt.state["said"] == text.upper()
    return receipt


def daemons() -> list[psutil.Process]:
    """What the executors of this process fork Python workers from."""
    return python_daemons(executors_below([psutil.Process()]))


def test_python_workers_are_forked_from_our_daemon_that_came_with_the_archive(tmp_path: Path) -> None:
    with dispatching({}, tmp_path) as dispatcher:
        assert repeat(dispatcher, "hello").state["forked"] == "preloaded"
        (daemon,) = daemons()
        assert daemon.cmdline()[1:3] == ["-m", "penstock.spark.daemon"]


def test_executors_whose_workers_alone_find_penstock_get_spark_s_daemon_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Python files added to an application reach its workers, and come too late for what these are forked from."""
    venv.create(tmp_path / "python", symlinks=True)
    files = shutil.make_archive(str(tmp_path / "penstock"), "zip", ROOT / "src")
    own_way = {
        "spark.penstock.environment": "installed",
        "spark.pyspark.python": str(tmp_path / "python" / "bin" / "python"),
        "spark.pyspark.driver.python": sys.executable,
        "spark.executorEnv.PYTHONPATH": os.pathsep.join([str(ROOT), *SITE_PACKAGES]),
        "spark.submit.pyFiles": files,
    }
    with caplog.at_level(logging.WARNING), dispatching(own_way, tmp_path) as dispatcher:
        assert repeat(dispatcher, "hello").state["forked"] == "ModuleNotFoundError: No module named 'penstock'"
        (daemon,) = daemons()
        assert repeat(dispatcher, "again").state["forked"]
        assert daemons() == [daemon], "it is the one it was"
    (said,) = [text for text in caplog.messages if "daemon" in text]
    assert said.startswith("Penstock's Python daemon could not get ready on an executor (ModuleNotFoundError: ")
    assert "leave spark.penstock.environment at its default" in said


ENCRYPTED = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": "between-the-two-of-us",
    "spark.network.crypto.enabled": "true",
}


@pytest.mark.parametrize("settings", [{}, ENCRYPTED], ids=["plain", "encrypted"])
def test_somebody_between_lane_and_driver_reads_records_unless_spark_encrypts(
    settings: Mapping[str, str], tmp_path: Path
) -> None:
    """Whatever executors say to the driver goes past an eavesdropper: Spark's own connections as well."""
    ports = {
        key: free_port() for key in ("spark.penstock.lanes.port", "spark.driver.port", "spark.driver.blockManager.port")
    }
    addresses = {"spark.driver.host": FAR, "spark.driver.bindAddress": "127.0.0.1"}
    fixed = {key: str(port) for key, port in ports.items()}
    with ExitStack() as stack:
        heard = {key: stack.enter_context(Eavesdropper(("127.0.0.1", port), FAR, port)) for key, port in ports.items()}
        dispatcher = stack.enter_context(dispatching({**addresses, **fixed, **settings}, tmp_path))
        repeat(dispatcher, "four thousand to account 17")
        lane, spark = heard["spark.penstock.lanes.port"], heard["spark.driver.port"]
        assert (lane.calls, spark.calls > 0) == (2, True), "lane and leash, and executors"
        in_plain = [text in lane.heard for text in (b"four thousand to account 17", b"FOUR THOUSAND TO ACCOUNT 17")]
        assert in_plain == [not settings] * 2
        assert (b"CoarseGrainedClusterMessages" in spark.heard) is (not settings)
