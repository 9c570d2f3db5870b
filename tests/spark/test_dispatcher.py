"""Works reach Spark and receipts come back, whatever the works do."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import psutil
import pytest

from penstock.spark.dispatcher import CANCELLED, Dispatcher, Ticket
from penstock.spark.executor import Runnable
from penstock.spark.session import SparkEngine, start_spark
from penstock.spark.splits import Receipt
from tests.spark.works import Burn, Count, Exit, Fail, Sleep, Unsendable
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

FOR_EVER = 600.0


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    engine = start_spark({"spark.master": "local[8]"}, tmp_path_factory.mktemp("data"))
    yield engine
    engine.stop()


@pytest.fixture
def dispatcher(engine: SparkEngine) -> Iterator[Dispatcher]:
    dispatcher = Dispatcher(engine)
    yield dispatcher
    dispatcher.stop()


class Outcome:
    """Collects what ``done`` is called with."""

    def __init__(self, dispatcher: Dispatcher, task_key: str, works: Sequence[Runnable]) -> None:
        self.receipts: Future[list[Receipt]] = Future()
        self.ticket: Ticket = dispatcher.submit(task_key, works, self._done)

    def _done(self, receipts: Sequence[Receipt]) -> None:
        self.receipts.set_result(list(receipts))

    def result(self) -> list[Receipt]:
        return self.receipts.result(timeout=120)

    def trace(self) -> str:
        (receipt,) = self.result()
        assert receipt.failure is not None
        return receipt.failure.trace


def warm(dispatcher: Dispatcher) -> None:
    Outcome(dispatcher, "warm-up", [Count(0)] * 4).result()


def test_receipts_come_in_the_order_of_the_works(dispatcher: Dispatcher) -> None:
    receipts = Outcome(dispatcher, "task", [Count(number) for number in range(50)]).result()
    assert [receipt.read for receipt in receipts] == list(range(50))


def test_an_empty_submission_is_done_too(dispatcher: Dispatcher) -> None:
    assert Outcome(dispatcher, "task", []).result() == []


def test_a_failing_work_fails_alone_and_says_its_error_first(dispatcher: Dispatcher) -> None:
    good, bad, after = Outcome(dispatcher, "task", [Count(1), Fail("no such table"), Count(2)]).result()
    assert (good.failure, after.failure, after.read) == (None, None, 2)
    assert bad.failure is not None
    assert bad.failure.trace.startswith("ValueError: no such table\nTraceback")
    assert not bad.failure.retriable


def test_a_retriable_error_is_marked_so(dispatcher: Dispatcher) -> None:
    (receipt,) = Outcome(dispatcher, "task", [Fail("busy", retriable=True)]).result()
    assert receipt.failure is not None
    assert receipt.failure.retriable


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (Exit(politely=True), "SystemExit: 3"),
        (Unsendable(as_receipt=True), "The receipt could not be sent to the driver"),
        (Unsendable(as_receipt=False), "The split could not be sent to Spark: TypeError: this work stays where it is"),
    ],
)
def test_a_work_that_misbehaves_fails_alone(dispatcher: Dispatcher, work: Runnable, text: str) -> None:
    assert text in Outcome(dispatcher, "task", [work]).trace()
    assert Outcome(dispatcher, "task", [Count(7)]).result()[0].read == 7


def test_a_work_that_kills_its_process_is_a_retriable_failure_and_others_go_on(dispatcher: Dispatcher) -> None:
    outcome = Outcome(dispatcher, "task", [Exit(politely=False)])
    neighbours = [Outcome(dispatcher, f"neighbour-{number}", [Count(number)]) for number in range(20)]
    (receipt,) = outcome.result()
    assert receipt.failure is not None
    assert receipt.failure.retriable
    assert receipt.failure.trace.startswith("The Spark task that ran this split was lost: ")
    assert "\tat org.apache" not in receipt.failure.trace
    assert [neighbour.result()[0].read for neighbour in neighbours] == list(range(20))


def test_a_lane_serves_many_works_in_one_process(dispatcher: Dispatcher) -> None:
    receipts = Outcome(dispatcher, "task", [Count(number) for number in range(200)]).result()
    assert len({receipt.state["pid"] for receipt in receipts if receipt.state}) <= (os.cpu_count() or 1)


def test_long_works_do_not_delay_small_ones(dispatcher: Dispatcher, tmp_path: Path) -> None:
    long = Outcome(dispatcher, "long", [Sleep(str(tmp_path), 8)] * 12)
    wait_until(lambda: any(tmp_path.iterdir()), "a work begins")
    for number in range(20):
        assert Outcome(dispatcher, f"small-{number}", [Count(number)]).result()[0].read == number
    assert not long.receipts.done()
    long.ticket.cancel()
    long.result()


def test_works_that_only_wait_run_side_by_side_beyond_the_cores(dispatcher: Dispatcher, tmp_path: Path) -> None:
    warm(dispatcher)
    for _ in range(5):
        Outcome(dispatcher, "waiting", [Sleep(str(tmp_path), 0.2)]).result()
    assert Outcome(dispatcher, "waiting", [Sleep(str(tmp_path), 2)] * 5).result()[4].failure is None
    begun = {path.name for path in tmp_path.glob("begun-*")}
    assert len(begun) > (os.cpu_count() or 1) or (os.cpu_count() or 1) > 5


def test_works_that_compute_are_bounded_by_the_cores(engine: SparkEngine, tmp_path: Path) -> None:
    dispatcher = Dispatcher(engine)
    warm(dispatcher)
    Outcome(dispatcher, "burning", [Burn(0.3)]).result()
    outcome = Outcome(dispatcher, "burning", [Burn(0.3)] * 6)
    most = 0
    while not outcome.receipts.done():
        most = max(most, dispatcher.running)
        time.sleep(0.005)
    dispatcher.stop()
    assert 1 <= most <= engine.cores


def test_cancelling_kills_a_running_work(dispatcher: Dispatcher, tmp_path: Path) -> None:
    outcome = Outcome(dispatcher, "task", [Sleep(str(tmp_path), FOR_EVER)])
    wait_until(lambda: any(tmp_path.iterdir()), "a work begins")
    (begun,) = tmp_path.iterdir()
    outcome.ticket.cancel()
    assert outcome.trace() == CANCELLED
    wait_until(lambda: not _runs(int(begun.name.removeprefix("begun-"))), "the process ends")
    assert not (tmp_path / "ended").exists()
    assert Outcome(dispatcher, "task", [Count(3)]).result()[0].read == 3


def test_cancelling_drops_what_waits_and_spares_other_tickets_of_the_task(
    dispatcher: Dispatcher, tmp_path: Path
) -> None:
    blocked = Outcome(dispatcher, "task", [Sleep(str(tmp_path), FOR_EVER)] * 40)
    other = Outcome(dispatcher, "task", [Count(5)])
    wait_until(lambda: any(tmp_path.iterdir()), "a work begins")
    blocked.ticket.cancel()
    traces = {receipt.failure.trace for receipt in blocked.result() if receipt.failure}
    assert traces == {CANCELLED}
    assert other.result()[0].read == 5


def test_cancelling_what_is_done_changes_nothing(dispatcher: Dispatcher) -> None:
    outcome = Outcome(dispatcher, "task", [Count(1)])
    outcome.result()
    outcome.ticket.cancel()
    assert outcome.result()[0].failure is None


def test_idle_lanes_end_their_spark_jobs_and_new_ones_open_on_demand(engine: SparkEngine) -> None:
    dispatcher = Dispatcher(engine, idle_seconds=0.2)
    Outcome(dispatcher, "task", [Count(1)] * 4).result()
    tracker = engine.context.statusTracker()
    wait_until(lambda: not tracker.getActiveJobsIds(), "the jobs end")
    assert Outcome(dispatcher, "task", [Count(2)]).result()[0].read == 2
    dispatcher.stop()


def test_an_idle_lane_whose_process_dies_is_replaced(dispatcher: Dispatcher) -> None:
    (receipt,) = Outcome(dispatcher, "task", [Count(1)]).result()
    assert receipt.state
    psutil.Process(receipt.state["pid"]).kill()
    wait_until(lambda: dispatcher.lanes == 0, "the lane is missed")
    assert Outcome(dispatcher, "task", [Count(2)]).result()[0].read == 2


def test_stopping_waits_for_no_work_and_is_silent(engine: SparkEngine, tmp_path: Path) -> None:
    dispatcher = Dispatcher(engine)
    outcome = Outcome(dispatcher, "task", [Sleep(str(tmp_path), FOR_EVER)] * 20)
    wait_until(lambda: any(tmp_path.iterdir()), "a work begins")
    dispatcher.stop()
    wait_until(lambda: not engine.context.statusTracker().getActiveJobsIds(), "the jobs end")
    assert not outcome.receipts.done()


def test_works_wait_for_spark_and_fail_when_it_cannot_start() -> None:
    starting: Future[SparkEngine] = Future()
    dispatcher = Dispatcher(starting)
    before = Outcome(dispatcher, "task", [Count(1)])
    assert not before.receipts.done()
    starting.set_exception(RuntimeError("Spark could not start: no Java"))
    after = Outcome(dispatcher, "task", [Count(1)])
    assert before.trace() == after.trace() == "Spark could not start: no Java"


def test_spark_jobs_of_others_run_beside_the_lanes(dispatcher: Dispatcher, engine: SparkEngine, tmp_path: Path) -> None:
    outcome = Outcome(dispatcher, "task", [Sleep(str(tmp_path), FOR_EVER)] * 20)
    wait_until(lambda: any(tmp_path.iterdir()), "a work begins")
    assert engine.session.range(1000).count() == 1000
    outcome.ticket.cancel()
    outcome.result()


def test_submitting_from_many_threads_loses_nothing(dispatcher: Dispatcher) -> None:
    outcomes: list[Outcome] = []

    def submit(thread: int) -> None:
        outcomes.extend(Outcome(dispatcher, f"{thread}-{number}", [Count(number)]) for number in range(100))

    threads = [threading.Thread(target=submit, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(outcome.result()[0].read for outcome in outcomes) == 8 * sum(range(100))


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
