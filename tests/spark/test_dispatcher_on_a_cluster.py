"""Lanes on executors that are processes of their own, reached over TCP."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import psutil
import pytest

from penstock.spark.dispatcher import CANCELLED, Dispatcher
from penstock.spark.executor import Runnable
from penstock.spark.session import start_spark
from penstock.spark.splits import Receipt
from tests.spark.works import Count, Sleep
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slow]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dispatcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dispatcher]:
    settings = {
        "spark.master": "local-cluster[2,2,1024]",
        "spark.executor.memory": "512m",
        "spark.executorEnv.PYTHONPATH": str(ROOT),
    }
    engine = start_spark(settings, tmp_path_factory.mktemp("data"))
    dispatcher = Dispatcher(engine)
    assert not engine.is_local
    yield dispatcher
    dispatcher.stop()
    engine.stop()


def submit(dispatcher: Dispatcher, works: Sequence[Runnable]) -> Future[list[Receipt]]:
    receipts: Future[list[Receipt]] = Future()
    dispatcher.submit("task", works, lambda answer: receipts.set_result(list(answer)))
    return receipts


def test_works_run_on_executors_that_got_our_package_from_the_driver(dispatcher: Dispatcher) -> None:
    receipts = submit(dispatcher, [Count(number) for number in range(20)]).result(timeout=120)
    assert [receipt.read for receipt in receipts] == list(range(20))


def test_a_cancelled_work_dies_on_its_executor(dispatcher: Dispatcher, tmp_path: Path) -> None:
    receipts: Future[list[Receipt]] = Future()
    ticket = dispatcher.submit("task", [Sleep(str(tmp_path), 600)], lambda answer: receipts.set_result(list(answer)))
    (begun,) = wait_until(lambda: list(tmp_path.iterdir()), "the work begins", seconds=60)
    ticket.cancel()
    (receipt,) = receipts.result(timeout=10)
    assert receipt.failure is not None
    assert receipt.failure.trace == CANCELLED
    pid = int(begun.name.removeprefix("begun-"))
    wait_until(lambda: not psutil.pid_exists(pid), "its process ends", seconds=10)


def test_a_lost_executor_is_a_retriable_failure_and_another_takes_over(dispatcher: Dispatcher, tmp_path: Path) -> None:
    receipts = submit(dispatcher, [Sleep(str(tmp_path), 600)])
    (begun,) = wait_until(lambda: list(tmp_path.iterdir()), "the work begins", seconds=60)
    _executor_of(int(begun.name.removeprefix("begun-"))).kill()
    (receipt,) = receipts.result(timeout=120)
    assert receipt.failure is not None
    assert receipt.failure.retriable
    assert receipt.failure.trace.startswith("The Spark task that ran this split was lost: ")
    (after,) = submit(dispatcher, [Count(3)]).result(timeout=120)
    assert after.read == 3


def _executor_of(pid: int) -> psutil.Process:
    """The executor's JVM, which is the Python daemon's parent."""
    assert pid != os.getpid()
    return next(process for process in psutil.Process(pid).parents() if process.name() == "java")
