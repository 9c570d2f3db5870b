"""What becomes of batches: committed as planned or not at all, and nothing is kept of them."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from penstock.api import (
    Plan,
    PluginError,
    Progress,
    Record,
    SourceItem,
    SourceOffsets,
    SourceTask,
    Split,
    TransactionEnd,
)
from penstock.runtime.calls import UserCode
from penstock.runtime.exactly_once import Boundary, ExactlyOnce, ExactlyOncePump
from penstock.runtime.held_batches import HoldingPump
from penstock.runtime.leased_topics import leased
from penstock.runtime.metrics import TaskMetrics
from penstock.runtime.planning import Planner
from penstock.runtime.pump import PumpServices
from penstock.runtime.requests import TaskId
from penstock.runtime.source_pump import SourcePump
from penstock.runtime.topic_homes import kafka_home, open_offsets
from penstock.runtime.worker_config import WorkerConfig
from penstock.spark.splits import Receipt
from penstock.storage.errors import PassingStorageError
from penstock.storage.kafka_log import KafkaLog
from penstock.storage.offset_store import OffsetStore
from penstock.topics.interface import TopicHome
from tests.spark.pumping import spec_for, without_faults
from tests.support.kafka import KafkaBroker
from tests.topics.world import World

PARTITION = {"p": 1}
BATCHES = 10


class Place(dict[str, int]):
    """An offset of which can be seen whether anybody still has it."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class Counting(SourceTask):
    """One record a batch, which is a transaction."""

    def __init__(self) -> None:
        self.places: weakref.WeakSet[Place] = weakref.WeakSet()

    def plan(self, offsets: SourceOffsets) -> Plan:
        start = (offsets.get(PARTITION) or {"next": 0})["next"]
        place = Place(next=start + 1)
        self.places.add(place)
        return Plan([Split({"start": start})], [(PARTITION, place)], TransactionEnd.COMMIT)

    def read(self, split: Split) -> Iterator[SourceItem]:
        yield Record(topic="t", value=str(split.payload["start"]))


class Aborting(Counting):
    """Wants none of its records."""

    def plan(self, offsets: SourceOffsets) -> Plan:
        return replace(super().plan(offsets), transaction_end=TransactionEnd.ABORT)


class Dividing(Counting):
    """Three transactions a batch."""

    def read(self, split: Split) -> Iterator[SourceItem]:
        for part in range(3):
            yield Record(topic="t", value=str(part))
            yield Progress(PARTITION, {"next": split.payload["start"], "part": part})
            yield TransactionEnd.COMMIT


class Here:
    """Runs works in this process, as if it were the one lane."""

    def submit(self, task_key: str, works: Sequence[Any], done: Callable[[Sequence[Receipt]], None]) -> Here:
        done([without_faults(work.run()) for work in works])
        return self

    def cancel(self) -> None:
        raise AssertionError("nothing is given up")

    def holds(self, pin: str) -> bool:
        return True

    def hold(self, pin: str, held: bool) -> None:
        """The lane stays in any case."""

    def leave_slots(self, task_key: str, needed: bool) -> None:
        raise NotImplementedError


@pytest.fixture
def calls() -> Iterator[UserCode]:
    calls = UserCode()
    yield calls
    calls.stop()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path, inline_bytes=0)
    yield world
    world.close()


def pump_of(
    kind: type[SourcePump],
    source: SourceTask,
    topics: TopicHome,
    offsets: OffsetStore,
    calls: UserCode,
) -> SourcePump:
    use = (Here(), topics, offsets, lambda task, topic: None, 60.0, 60.0, cast(Any, None))
    services = PumpServices(calls, Planner(calls, 60.0), *use)
    return kind(
        TaskId("c", 0), spec_for(type(source)), source, services, lambda *state: None, TaskMetrics(), lambda topic: {}
    )


def test_offsets_of_embedded_transactions_are_let_go_when_nobody_is_told(world: World, calls: UserCode) -> None:
    source = Counting()

    async def life() -> None:
        pump = pump_of(HoldingPump, source, world.topics, world.offsets, calls)
        for _ in range(BATCHES):
            assert await pump.step()
        gc.collect()
        assert len(source.places) <= 2

    asyncio.run(life())
    assert world.values() == list(range(BATCHES))


def test_a_plan_can_only_abort_a_transaction_that_its_source_ends(world: World, calls: UserCode) -> None:
    async def life() -> None:
        own = pump_of(HoldingPump, Aborting(), world.topics, world.offsets, calls)
        assert await own.step()
        others = pump_of(SourcePump, Aborting(), world.topics, world.offsets, calls)
        with pytest.raises(PluginError, match="only abort transactions that it ends itself"):
            await others.step()

    asyncio.run(life())
    assert world.offsets.get("c", PARTITION) == {"next": 1}
    assert world.topics.topics() == {}


@pytest.mark.integration
@pytest.mark.parametrize("boundary", [Boundary.POLL, Boundary.CONNECTOR])
def test_offsets_of_kafka_transactions_are_let_go_when_nobody_is_told(
    broker: KafkaBroker, calls: UserCode, boundary: Boundary
) -> None:
    source = Counting()
    worker = WorkerConfig.from_properties(
        {
            "bootstrap.servers": broker.bootstrap,
            "exactly.once.source.support": "enabled",
            "group.id": boundary.value,
            "offset.storage.topic": f"offsets-{boundary.value}",
            "offset.storage.partitions": "1",
            "offset.storage.replication.factor": "1",
        }
    )
    offsets = open_offsets(worker, cast(Any, None))
    topics = kafka_home(worker.properties, offsets)
    log = cast(KafkaLog, offsets.log)

    async def life() -> None:
        once = ExactlyOnce(boundary.value, log.topic.name, log.read_to_end, boundary)
        pump = cast(ExactlyOncePump, pump_of(ExactlyOncePump, source, topics, offsets, calls)).use(once)
        for _ in range(BATCHES):
            assert await pump.step()
        gc.collect()
        assert len(source.places) <= 2

    try:
        asyncio.run(life())
    finally:
        topics.stop()
        offsets.stop()


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as broker:
        yield broker


def test_records_of_transactions_that_cannot_be_committed_now_leave_the_disk(world: World, calls: UserCode) -> None:
    async def life() -> None:
        pump = pump_of(HoldingPump, Dividing(), leased(world.topics, lambda: False), world.offsets, calls)
        with pytest.raises(PassingStorageError):
            await pump.step()

    asyncio.run(life())
    world.close()
    assert list(world.topics.folders.staged.iterdir()) == []
    world.open()
