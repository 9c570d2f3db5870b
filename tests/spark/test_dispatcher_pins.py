"""Works with the same pin run in one process, one after the other, as long as it lives."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock.spark.dispatcher import CANCELLED, Dispatcher
from penstock.spark.executor import Runnable
from penstock.spark.session import SparkEngine, start_spark
from penstock.spark.splits import Receipt
from penstock.spark.tickets import Entry, Ticket
from penstock.topics import kept
from tests.spark.works import Count, Sleep
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

_memory: dict[str, int] = {}


@dataclass(frozen=True)
class Remember:
    """Counts, in the memory of the process, how often its pin was there."""

    pin: str

    def run(self) -> Receipt:
        _memory[self.pin] = _memory.get(self.pin, 0) + 1
        kept.keep(self.pin, _memory.clear)
        return Receipt(read=_memory[self.pin], state={"pid": os.getpid()})


@dataclass(frozen=True)
class PinnedSleep(Sleep):
    pin: str = ""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    engine = start_spark({"spark.master": "local[6]"}, tmp_path_factory.mktemp("data"))
    yield engine
    engine.stop()


@pytest.fixture
def dispatcher(engine: SparkEngine) -> Iterator[Dispatcher]:
    dispatcher = Dispatcher(engine, idle_seconds=2.0)
    yield dispatcher
    dispatcher.stop()


def submit(dispatcher: Dispatcher, task_key: str, works: Sequence[Runnable]) -> Future[list[Receipt]]:
    receipts: Future[list[Receipt]] = Future()
    dispatcher.submit(task_key, works, lambda result: receipts.set_result(list(result)))
    return receipts


def test_a_pin_stays_in_its_process_whoever_else_comes(dispatcher: Dispatcher) -> None:
    together = [submit(dispatcher, f"task-{n % 3}", [Remember(f"pin-{n % 3}")]) for n in range(30)]
    others = [submit(dispatcher, "other", [Count(n) for n in range(5)]) for _ in range(10)]
    seen: dict[int, list[int]] = {}
    pids: dict[int, set[int]] = {}
    for n, future in enumerate(together):
        [receipt] = future.result(120)
        assert receipt.state is not None
        seen.setdefault(n % 3, []).append(receipt.read)
        pids.setdefault(n % 3, set()).add(receipt.state["pid"])
    assert all(counts == list(range(1, 11)) for counts in seen.values())
    assert all(len(found) == 1 for found in pids.values())
    assert all(len(future.result(120)) == 5 for future in others)
    assert dispatcher.holds("pin-0")
    assert not dispatcher.holds("nobody")


def test_a_lost_process_is_forgotten_and_the_next_one_takes_over(dispatcher: Dispatcher) -> None:
    [first] = submit(dispatcher, "task", [Remember("mortal")]).result(120)
    assert first.state is not None
    os.kill(first.state["pid"], signal.SIGKILL)
    again = submit(dispatcher, "task", [Remember("mortal")]).result(120)
    if again[0].failure is not None:
        assert again[0].failure.retriable
        again = submit(dispatcher, "task", [Remember("mortal")]).result(120)
    assert again[0].read == 1
    assert again[0].state is not None
    assert again[0].state["pid"] != first.state["pid"]


def test_a_lane_that_ends_lets_go_of_what_it_kept(dispatcher: Dispatcher) -> None:
    submit(dispatcher, "task", [Remember("ending")]).result(120)
    wait_until(lambda: not dispatcher.holds("ending"), "the idle lane has ended")
    [receipt] = submit(dispatcher, "task", [Remember("ending")]).result(120)
    assert receipt.read == 1, "nothing is left of what an earlier lane kept, though its process may be the same"


def test_a_lane_with_something_open_stays_though_it_is_idle(dispatcher: Dispatcher) -> None:
    firsts = [submit(dispatcher, "task", [Remember(pin)]) for pin in ("open", "closed")]
    dispatcher.hold("open", True)
    pids = {receipt.state["pid"] for first in firsts for receipt in first.result(120) if receipt.state is not None}
    if len(pids) == 2:
        wait_until(lambda: not dispatcher.holds("closed"), "the other lane has ended")
    [receipt] = submit(dispatcher, "task", [Remember("open")]).result(120)
    assert receipt.read == 2
    dispatcher.hold("open", False)
    wait_until(lambda: not dispatcher.holds("open"), "the lane has ended, too")


def test_a_lane_with_something_open_that_takes_a_work_by_itself_is_not_given_another(
    engine: SparkEngine, tmp_path: Path
) -> None:
    dispatcher = Dispatcher(engine, idle_seconds=0.02)
    try:
        submit(dispatcher, "task", [Remember("open")]).result(120)
        dispatcher.hold("open", True)
        [receipt] = submit(dispatcher, "task", [Remember("open")]).result(120)
        assert receipt.read == 2
        taken: Future[list[Receipt]] = Future()
        ticket = Ticket("long", 1, lambda result: taken.set_result(list(result)), lambda ticket: None)
        with dispatcher._lock:
            dispatcher._schedule.queue.add(Entry(ticket, 0, Sleep(str(tmp_path), 2.0)))
        wait_until(lambda: any(tmp_path.glob("begun-*")), "the lane has seen by itself that a work waits")
        others = [submit(dispatcher, "other", [Count(n)]) for n in range(3)]
        assert all(len(other.result(120)) == 1 for other in others)
        assert taken.result(120)[0].failure is None
    finally:
        dispatcher.stop()


def test_waiting_works_of_a_pin_can_be_cancelled(
    dispatcher: Dispatcher, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("sleep")
    running = submit(dispatcher, "task", [PinnedSleep(str(folder), 2.0, "busy")])
    wait_until(lambda: any(folder.glob("begun-*")), "the first work runs")
    receipts: Future[list[Receipt]] = Future()
    ticket = dispatcher.submit("task", [Remember("busy")], lambda result: receipts.set_result(list(result)))
    ticket.cancel()
    [cancelled] = receipts.result(30)
    assert cancelled.failure is not None
    assert cancelled.failure.trace == CANCELLED
    assert running.result(30)[0].read == 1


def test_what_waits_behind_a_cancelled_work_of_its_pin_runs_in_another_process(
    dispatcher: Dispatcher, tmp_path: Path
) -> None:
    first = submit(dispatcher, "task", [Remember("pin")]).result(60)[0]
    running = dispatcher.submit("task", [PinnedSleep(str(tmp_path), 120.0, "pin")], lambda receipts: None)
    wait_until(lambda: any(tmp_path.glob("begun-*")), "the work runs")
    behind = submit(dispatcher, "transactions", [Remember("pin")])
    running.cancel()
    second = behind.result(60)[0]
    assert second.failure is None
    assert second.read == 1
    assert second.state["pid"] != first.state["pid"]
