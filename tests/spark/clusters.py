"""Clusters of one machine for the dispatcher's tests, and works that keep their lanes busy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from penstock.spark.capacity import Capacity
from penstock.spark.dispatcher import Dispatcher, Ticket
from penstock.spark.session import SparkEngine, start_spark
from penstock.spark.splits import Receipt
from tests.spark.works import Sleep
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
FOR_EVER = 3600.0
SECONDS = 360.0
"""An executor that starts, a Python on it and a first lane: minutes where others keep the machine busy."""

SETTINGS = {"spark.executor.memory": "512m", "spark.executorEnv.PYTHONPATH": str(ROOT)}


@contextmanager
def cluster(folder: Path, machines: int, cores: int, more: Mapping[str, str]) -> Iterator[SparkEngine]:
    """A process has one Spark at a time."""
    master = f"local-cluster[{machines},{cores},1024]"
    engine = start_spark({"spark.master": master, "spark.executor.cores": str(cores), **SETTINGS, **more}, folder)
    try:
        yield engine
    finally:
        engine.stop()


@contextmanager
def dispatcher_on(engine: SparkEngine, idle_seconds: float = 30.0) -> Iterator[Dispatcher]:
    dispatcher = Dispatcher(engine, idle_seconds=idle_seconds)
    try:
        yield dispatcher
    finally:
        dispatcher.stop()
    wait_until(lambda: not engine.context.statusTracker().getActiveJobsIds(), "all lanes have ended")


class Works:
    """Some works of a task that take for ever, or as long as they are told."""

    def __init__(self, dispatcher: Dispatcher, folder: Path, count: int, seconds: float = FOR_EVER) -> None:
        folder.mkdir(exist_ok=True)
        self.receipts: Future[list[Receipt]] = Future()
        works = [Sleep(str(folder), seconds)] * count
        self.ticket: Ticket = dispatcher.submit("task", works, lambda result: self.receipts.set_result(list(result)))

    def end(self) -> None:
        self.ticket.cancel()
        self.receipts.result(SECONDS)


def reaches(dispatcher: Dispatcher, wanted: Capacity) -> None:
    seen: list[Capacity] = []

    def reached() -> bool:
        seen[:] = [dispatcher.capacity()]
        return seen == [wanted]

    try:
        wait_until(reached, str(wanted), SECONDS)
    except AssertionError as error:
        raise AssertionError(f"{error}; {seen}") from None
