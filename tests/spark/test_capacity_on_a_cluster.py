"""All slots of a cluster are lanes, DataFrames find room, and Spark tells whom lanes serve and how they end."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.spark.capacity import Capacity
from penstock.spark.dispatcher import Dispatcher
from penstock.spark.session import SparkEngine
from penstock.spark.splits import Receipt
from tests.spark.clusters import SECONDS, Works, cluster, dispatcher_on, reaches
from tests.spark.works import Count, Named, Until
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    with cluster(tmp_path_factory.mktemp("data"), 2, 2, {}) as engine:
        yield engine


@pytest.fixture
def dispatcher(engine: SparkEngine) -> Iterator[Dispatcher]:
    with dispatcher_on(engine) as dispatcher:
        yield dispatcher


def test_every_core_works(dispatcher: Dispatcher, tmp_path: Path) -> None:
    works = Works(dispatcher, tmp_path, 7)
    reaches(dispatcher, Capacity(executors=2, slots=4, reserved=0, busy=4, idle=0, pending=0, waiting=3))
    works.end()


def test_lanes_give_way_to_dataframes_and_come_back(
    dispatcher: Dispatcher, engine: SparkEngine, tmp_path: Path
) -> None:
    done: Future[object] = Future()
    dispatcher.submit("first", [Until(str(tmp_path / "done"))] * 4, done.set_result)
    reaches(dispatcher, Capacity(executors=2, slots=4, reserved=0, busy=4, idle=0, pending=0, waiting=0))
    (tmp_path / "done").touch()
    done.result(SECONDS)
    dispatcher.leave_slots("frames-0", True)
    dispatcher.leave_slots("frames-1", True)
    reaches(dispatcher, Capacity(executors=2, slots=4, reserved=1, busy=0, idle=3, pending=0, waiting=0))
    dispatcher.leave_slots("frames-1", False)
    works = Works(dispatcher, tmp_path / "busy", 9)
    reaches(dispatcher, Capacity(executors=2, slots=4, reserved=1, busy=3, idle=0, pending=0, waiting=6))
    assert engine.session.range(1000).count() == 1000, "all lanes are busy, and there is a slot"
    dispatcher.leave_slots("frames-0", False)
    reaches(dispatcher, Capacity(executors=2, slots=4, reserved=0, busy=4, idle=0, pending=0, waiting=5))
    works.end()


def test_a_work_that_does_not_end_gives_way_to_dataframes_and_comes_again(
    dispatcher: Dispatcher, engine: SparkEngine, tmp_path: Path
) -> None:
    works = Works(dispatcher, tmp_path, 4)
    wait_until(lambda: dispatcher.capacity().busy == 4, "every core works", seconds=SECONDS)
    dispatcher.leave_slots("frames-0", True)
    assert engine.session.range(1000).count() == 1000
    dispatcher.leave_slots("frames-0", False)
    works.ticket.cancel()
    failures = [receipt.failure for receipt in works.receipts.result(SECONDS) if receipt.failure]
    assert sum(failure.retriable for failure in failures) == 1


def test_a_lane_is_described_by_those_it_serves(engine: SparkEngine, dispatcher: Dispatcher) -> None:
    wait_until(lambda: dispatcher.capacity().idle == 1, "a lane waits", SECONDS)
    done: list[Future[list[Receipt]]] = []
    for connector in ("orders", "invoices", "customers"):
        receipts: Future[list[Receipt]] = Future()
        dispatcher.submit(connector, [Named(connector)] * 2, lambda result, to=receipts: to.set_result(list(result)))
        done.append(receipts)
    for receipts in done:
        receipts.result(SECONDS)
    wait_until(
        lambda: "Penstock lane-2: orders" in " ".join(descriptions(engine)),
        "the lane that was opened for them",
        SECONDS,
    )


def test_a_lane_lost_with_its_executor_has_failed_and_one_that_ends_has_not(
    engine: SparkEngine, tmp_path: Path
) -> None:
    with dispatcher_on(engine, idle_seconds=1.0) as dispatcher:
        works = Works(dispatcher, tmp_path, 1)
        (begun,) = wait_until(lambda: list(tmp_path.iterdir()), "the work begins", seconds=SECONDS)
        before = {job for job in range(last_job(engine) + 1) if state(engine, job) == "FAILED"}
        executor_of(int(begun.name.removeprefix("begun-"))).kill()
        (receipt,) = works.receipts.result(SECONDS)
        assert receipt.failure is not None
        assert receipt.failure.retriable
        wait_until(lambda: failed(engine) - before, "the lane has failed", SECONDS)
        first = last_job(engine) + 1
        again: Future[list[Receipt]] = Future()
        dispatcher.submit("after", [Count(3)], lambda result: again.set_result(list(result)))
        assert again.result(SECONDS)[0].read == 3
        wait_until(lambda: dispatcher.lanes == 0, "idle lanes end", SECONDS)
        wait_until(
            lambda: state(engine, last_job(engine)) == "SUCCEEDED", "a lane that ends by itself has done well", SECONDS
        )
        assert not {job for job in failed(engine) if job >= first}


def jobs_of(engine: SparkEngine) -> list[Any]:
    """What Spark's pages and its REST API say of jobs."""
    jobs = engine.context._jsc.sc().statusStore().jobsList(None)
    return [jobs.apply(number) for number in range(jobs.size())]


def descriptions(engine: SparkEngine) -> list[str]:
    found = [job.description() for job in jobs_of(engine)]
    return [str(description.get()) for description in found if description.isDefined()]


def last_job(engine: SparkEngine) -> int:
    return max((int(job.jobId()) for job in jobs_of(engine)), default=-1)


def state(engine: SparkEngine, job: int) -> str:
    info = engine.context.statusTracker().getJobInfo(job)
    return "" if info is None else info.status


def failed(engine: SparkEngine) -> set[int]:
    return {job for job in range(last_job(engine) + 1) if state(engine, job) == "FAILED"}


def executor_of(pid: int) -> psutil.Process:
    """The executor's JVM, which is the Python daemon's parent."""
    return next(process for process in psutil.Process(pid).parents() if process.name() == "java")
