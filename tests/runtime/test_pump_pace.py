"""How soon a task begins its next batch."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, cast

import pytest

from penstock.runtime.metrics import MeasuredTask, TaskMetrics
from penstock.runtime.pump import SMALL_BATCH_RECORDS, Pump, PumpServices
from penstock.runtime.requests import State, TaskId
from penstock.spark.letters import Letter
from penstock.spark.splits import Receipt, Work
from penstock.topics.interface import SinkCommit
from tests.spark.pumping import Given, spec_for

PAUSE = 0.2


class Lane:
    """Runs every work at once and says that it read ``records``."""

    def __init__(self, records: int) -> None:
        self.records = records

    def submit(self, task_key: str, works: Sequence[Any], done: Any) -> Lane:
        done([Receipt(read=self.records) for _ in works])
        return self

    def cancel(self) -> None:
        raise AssertionError("nothing is given up")

    def hold(self, pin: str, held: bool) -> None:
        raise NotImplementedError

    def leave_slots(self, task_key: str, needed: bool) -> None:
        raise NotImplementedError

    def holds(self, pin: str) -> bool:
        return False


class Endless(Pump):
    """Always has another batch; stops itself after some."""

    def __init__(self, records: int, batches: int, pause: float) -> None:
        services = cast(PumpServices, type("Services", (), {"runner": Lane(records), "topics": None})())
        super().__init__(TaskId("endless", 0), spec_for(Given), services, lambda state, trace: None, TaskMetrics())
        self.small_batch_seconds = pause
        self.begun: list[float] = []
        self._batches = batches

    async def begin(self) -> None:
        """There is nothing to start."""

    async def step(self) -> bool:
        self.begun.append(asyncio.get_running_loop().time())
        await self.dispatch_once([cast(Any, None)])
        if len(self.begun) == self._batches:
            self.stop()
        return True

    def interrupt(self) -> None:
        """A batch takes no time."""

    def idle_seconds(self) -> float | None:
        raise AssertionError("there is always something to do")

    def measured(self) -> MeasuredTask:
        raise NotImplementedError

    async def replay_works(self, letters: Sequence[Letter]) -> list[Work]:
        raise NotImplementedError

    def commit_replay(self, receipts: Sequence[Receipt], mark: SinkCommit) -> Future[None]:
        raise NotImplementedError


@pytest.mark.parametrize("woken", [False, True])
def test_small_batches_keep_their_distance_although_records_are_there(woken: bool) -> None:
    async def life() -> list[float]:
        pump = Endless(SMALL_BATCH_RECORDS - 1, 4, PAUSE)
        if woken:
            asyncio.get_running_loop().call_later(PAUSE / 2, pump.wake)
        await pump.run()
        return pump.begun

    begun = asyncio.run(life())
    assert len(begun) == 4
    assert all(later - earlier >= PAUSE * 0.99 for earlier, later in itertools.pairwise(begun))


def test_large_batches_follow_at_once() -> None:
    async def life() -> int:
        pump = Endless(SMALL_BATCH_RECORDS, 50, pause=600)
        await asyncio.wait_for(pump.run(), 60)
        return len(pump.begun)

    assert asyncio.run(life()) == 50


@pytest.mark.parametrize("ask", [Pump.stop, Pump.pause])
def test_a_pause_or_a_stop_does_not_wait_for_the_next_batch(ask: Any) -> None:
    states: list[State] = []

    async def life() -> None:
        pump = Endless(1, 10, pause=600)
        pump._report = lambda state, trace: states.append(state)
        running = asyncio.ensure_future(pump.run())
        while not pump.begun:
            await asyncio.sleep(0)
        ask(pump)
        while not running.done() and State.PAUSED not in states:
            await asyncio.sleep(0.01)
        pump.stop()
        await asyncio.wait_for(running, 60)
        assert len(pump.begun) == 1

    asyncio.run(asyncio.wait_for(life(), 120))
