"""Lanes leave slots to a task with Spark jobs of its own for as long as it runs, and not while it is paused."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import cast

from penstock.runtime.pump import PumpServices
from penstock.spark import copies
from penstock.spark.splits import PluginRef, TransformRef
from tests.runtime.test_pump_pace import Endless, Lane
from tests.spark.pumping import Given, spec_for


class Slots(Lane):
    """Writes down who needs slots."""

    def __init__(self) -> None:
        super().__init__(1000)
        self.told: list[tuple[str, bool]] = []

    def leave_slots(self, task_key: str, needed: bool) -> None:
        self.told.append((task_key, needed))


class Task(Endless):
    """Goes on until it is stopped; ``fails`` at its first batch."""

    def __init__(self, slots: Slots, has_spark_jobs: bool, fails: bool = False) -> None:
        super().__init__(1000, -1, pause=0)
        self.services = cast(PumpServices, type("Services", (), {"runner": slots, "topics": None})())
        self.spec = replace(self.spec, has_spark_jobs=has_spark_jobs)
        self.fails = fails

    async def step(self) -> bool:
        if self.fails:
            raise ValueError("no such table")
        await asyncio.sleep(0)
        return await super().step()


async def a_life(has_spark_jobs: bool) -> list[tuple[str, bool]]:
    """A task runs, is paused, resumed and stopped; what it said of slots."""
    slots = Slots()
    task = Task(slots, has_spark_jobs)
    running = asyncio.ensure_future(task.run())
    for count, ask in enumerate((task.pause, task.resume, task.stop), start=1):
        while has_spark_jobs and len(slots.told) < count and not running.done():
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        ask()
    await running
    return slots.told


async def a_failure() -> list[tuple[str, bool]]:
    slots = Slots()
    await Task(slots, has_spark_jobs=True, fails=True).run()
    return slots.told


def test_slots_are_needed_while_the_task_runs_and_not_while_it_is_paused() -> None:
    told = asyncio.run(asyncio.wait_for(a_life(has_spark_jobs=True), 60))
    assert [needed for _, needed in told] == [True, False, True, False]
    assert len({task for task, _ in told}) == 1


def test_a_task_that_fails_needs_them_no_more() -> None:
    assert [needed for _, needed in asyncio.run(asyncio.wait_for(a_failure(), 60))] == [True, False]


def test_other_tasks_say_nothing() -> None:
    assert asyncio.run(asyncio.wait_for(a_life(has_spark_jobs=False), 60)) == []


def test_a_chain_tells_whether_dataframes_are_in_it() -> None:
    spec = spec_for(Given)
    assert not copies.check(spec).needs_spark
    link = TransformRef("sql", PluginRef("penstock.transforms.sql:Sql", {"select": "id"}))
    assert copies.check(replace(spec, transforms=[link])).needs_spark
