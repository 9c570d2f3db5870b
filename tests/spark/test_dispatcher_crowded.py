"""Works that take for ever hold their lanes, and still others get their turn."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from penstock.spark.dispatcher import Dispatcher
from penstock.spark.executor import Runnable
from penstock.spark.session import SparkEngine, start_spark
from penstock.spark.splits import Receipt
from tests.spark.works import Burn, Count, Sleep
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

FOR_EVER = 3600.0
SLOTS = 6


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    engine = start_spark({"spark.master": f"local[{SLOTS}]"}, tmp_path_factory.mktemp("data"))
    yield engine
    engine.stop()


@pytest.fixture
def dispatcher(engine: SparkEngine) -> Iterator[Dispatcher]:
    dispatcher = Dispatcher(engine)
    yield dispatcher
    dispatcher.stop()


def submit(dispatcher: Dispatcher, task_key: str, works: Sequence[Runnable]) -> Future[list[Receipt]]:
    receipts: Future[list[Receipt]] = Future()
    dispatcher.submit(task_key, works, lambda result: receipts.set_result(list(result)))
    return receipts


def test_works_that_hang_in_every_lane_make_room_for_quick_ones(dispatcher: Dispatcher, tmp_path: Path) -> None:
    hanging = [submit(dispatcher, f"hangs-{n}", [Sleep(str(tmp_path), FOR_EVER)]) for n in range(SLOTS + 2)]
    quick = [submit(dispatcher, f"quick-{n}", [Count(n)]) for n in range(5)]
    assert [future.result(120)[0].read for future in quick] == list(range(5))
    sent_back = [future.result()[0].failure for future in hanging if future.done()]
    assert sent_back
    assert all(failure is not None and failure.retriable for failure in sent_back)

    assert submit(dispatcher, "next", [Count(7)]).result(120)[0].read == 7
    assert sum(future.done() for future in hanging) == len(sent_back), "room was made once and stays"


def test_works_that_hang_do_not_keep_other_long_works_from_the_cores(dispatcher: Dispatcher, tmp_path: Path) -> None:
    for number in range(2):
        submit(dispatcher, f"hangs-{number}", [Sleep(str(tmp_path), FOR_EVER)])
    for _ in range(3):
        assert submit(dispatcher, "long", [Sleep(str(tmp_path), 0.3)]).result(120)[0].read == 1


def test_long_works_get_their_turn_although_quick_ones_never_end(dispatcher: Dispatcher, tmp_path: Path) -> None:
    submit(dispatcher, "long", [Sleep(str(tmp_path), 0.5)]).result(120)
    submit(dispatcher, "long", [Sleep(str(tmp_path), 0.5)]).result(120)
    enough = threading.Event()

    def keep_busy(task_key: str) -> None:
        def again(result: object) -> None:
            if not enough.is_set():
                keep_busy(task_key)

        dispatcher.submit(task_key, [Burn(0.001)], again)

    for number in range(4 * SLOTS):
        keep_busy(f"quick-{number}")
    try:
        wait_until(lambda: dispatcher.waiting > SLOTS, "quick works wait for lanes")
        assert submit(dispatcher, "long", [Sleep(str(tmp_path), 0.2)]).result(20)[0].read == 1
    finally:
        enough.set()
