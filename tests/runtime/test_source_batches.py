"""Batches of sources: what is planned, what is told of them, and what is left of those that fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from penstock.api import (
    Plan,
    Progress,
    Record,
    RetriableError,
    SourceItem,
    SourceOffset,
    SourceOffsets,
    SourcePartition,
    SourceTask,
    Split,
    TransactionEnd,
)
from penstock.runtime.calls import UserCode
from penstock.runtime.held_batches import HoldingPump
from penstock.runtime.pace import SHORTEST_SECONDS
from penstock.runtime.pump import TaskFailed
from penstock.runtime.requests import State
from penstock.runtime.source_pump import SourcePump, latest_offsets
from penstock.spark.letters import Letter
from penstock.spark.splits import ErrorPolicy, Receipt
from penstock.topics.interface import SinkCommit, TopicPartition
from tests.spark.pumping import FailOnBad
from tests.topics.world import World

from .pumps import TASK, Here, pump_of

PARTITION = {"p": 1}
TOLERANT = ErrorPolicy(tolerate_all=True, log=True, dead_letter_topic="dead")
KINDS = pytest.mark.parametrize("kind", [SourcePump, HoldingPump])


class Scripted(SourceTask):
    """Makes one batch of each list of items, each list a split. What the driver's copy hears is noted."""

    items: ClassVar[dict[int, Sequence[Any]]] = {}

    def __init__(self) -> None:
        self.end: TransactionEnd | None = TransactionEnd.COMMIT
        self.known: list[Sequence[tuple[SourcePartition, SourceOffset]]] = []
        self.told: list[Sequence[tuple[SourcePartition, SourceOffset]]] = []
        self.life: list[str] = []

    def configure(self, settings: Mapping[str, Any]) -> None:
        self.mark = settings.get("mark")

    def start(self) -> None:
        self.life.append(f"started with {self.mark}")

    def stop(self) -> None:
        self.life.append("stopped")

    def plan(self, offsets: SourceOffsets) -> Plan | None:
        self.known.append(offsets.all())
        start = (offsets.get(PARTITION) or {"next": 0})["next"]
        if start not in Scripted.items:
            return None
        return Plan([Split({"batch": start})], [(PARTITION, {"next": start + 1})], self.end)

    def read(self, split: Split) -> Iterator[SourceItem]:
        for item in Scripted.items[split.payload["batch"]]:
            if isinstance(item, Exception):
                raise item
            yield item if isinstance(item, Progress | TransactionEnd) else Record(topic="t", value=str(item))

    def committed(self, offsets: Sequence[tuple[SourcePartition, SourceOffset]]) -> None:
        self.told.append(offsets)


def scripted(
    *batches: Sequence[Any], end: TransactionEnd | None = TransactionEnd.COMMIT, kind: type[Scripted] = Scripted
) -> Scripted:
    """The driver's copy of a task with these batches."""
    Scripted.items = dict(enumerate(batches))
    source = kind()
    source.end = end
    return source


class Two(Scripted):
    """One plan, of two splits."""

    def plan(self, offsets: SourceOffsets) -> Plan | None:
        return Plan([Split({"batch": 0}), Split({"batch": 1})], [(PARTITION, {"next": 1})], self.end)


class Grumbling(Scripted):
    """Wants to hear nothing."""

    def committed(self, offsets: Sequence[tuple[SourcePartition, SourceOffset]]) -> None:
        raise ValueError("leave me alone")


@dataclass
class Lane(Here):
    """A lane that answers what the test wants before it works."""

    answers: list[list[Receipt]] = field(default_factory=list)
    works: list[Sequence[Any]] = field(default_factory=list)

    def submit(self, task_key: str, works: Sequence[Any], done: Callable[[Sequence[Receipt]], None]) -> Here:
        self.works.append(works)
        if not self.answers:
            return super().submit(task_key, works, done)
        done(self.answers.pop(0))
        return self


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


@dataclass
class Life:
    """One life of a pump on a loop of its own."""

    world: World
    calls: UserCode
    used: list[str] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    def run(
        self,
        kind: type[SourcePump],
        source: SourceTask,
        work: Callable[[SourcePump], Awaitable[None]],
        **options: Any,
    ) -> SourcePump:
        async def whole() -> SourcePump:
            pump = pump_of(
                kind,
                source,
                self.world.topics,
                self.world.offsets,
                self.calls,
                use_topic=lambda task, topic: self.used.append(f"{task} {topic}"),
                report=lambda state, trace: self.states.append(state),
                **options,
            )
            await asyncio.wait_for(work(pump), 60)
            return pump

        return asyncio.run(whole())

    def texts(self, topic: str = "t") -> list[str]:
        if topic not in self.world.topics.topics():
            return []
        return [(value or b"").decode() for _, (_, value) in self.world.records(topic)]

    def left_on_disk(self) -> list[Path]:
        """Files of records that never came into a topic."""
        self.world.close()
        left = list(self.world.topics.folders.staged.iterdir())
        self.world.open()
        return left


@pytest.fixture
def life(world: World, calls: UserCode) -> Life:
    return Life(world, calls)


async def once(pump: SourcePump) -> None:
    assert await pump.step()


@KINDS
def test_a_batch_is_committed_counted_and_told_of(life: Life, kind: type[SourcePump]) -> None:
    source = scripted(["a", "b"])
    pump = life.run(kind, source, once)
    assert life.texts() == ["a", "b"]
    assert life.world.offsets.get("c", PARTITION) == {"next": 1}
    assert source.told == [[(PARTITION, {"next": 1})]]
    assert life.used == ["c-0 t"]
    counted = pump.metrics
    assert (counted.batches, counted.read, counted.written, counted.commits, counted.active) == (1, 2, 2, 1, 0)
    assert (counted.transactions.least, counted.transactions.most, counted.actives.most) == (2, 2, 2)


@KINDS
def test_a_source_sees_all_that_is_committed(life: Life, kind: type[SourcePump]) -> None:
    async def twice(pump: SourcePump) -> None:
        await once(pump)
        await once(pump)

    life.world.offsets.put("c", [({"p": 2}, {"next": 5})]).result()
    life.world.offsets.put("other", [({"p": 3}, {"next": 6})]).result()
    source = scripted(["a"], ["b"])
    life.run(kind, source, twice)
    assert source.known == [[({"p": 2}, {"next": 5})], [({"p": 2}, {"next": 5}), (PARTITION, {"next": 1})]]
    assert life.texts() == ["a", "b"]


@KINDS
def test_a_source_that_does_not_want_to_hear_of_commits_loses_nothing(
    life: Life, kind: type[SourcePump], caplog: pytest.LogCaptureFixture
) -> None:
    life.run(kind, scripted(["a"], kind=Grumbling), once)
    assert life.texts() == ["a"]
    assert "c-0: committed() failed; the records are safe" in caplog.text
    assert "leave me alone" in caplog.text


def test_pauses_grow_while_there_is_nothing_and_end_with_a_record_or_a_pause_of_the_task(life: Life) -> None:
    source = scripted()

    async def work(pump: SourcePump) -> None:
        assert pump.idle_seconds() == SHORTEST_SECONDS
        for _ in range(2):
            assert not await pump.step()
        assert pump.idle_seconds() == 4 * SHORTEST_SECONDS
        pump.resumed()
        assert pump.idle_seconds() == SHORTEST_SECONDS
        for _ in range(2):
            assert not await pump.step()
        Scripted.items = {0: ["a"]}
        await once(pump)
        assert pump.idle_seconds() == SHORTEST_SECONDS

    life.run(SourcePump, source, work)


@KINDS
def test_a_task_starts_its_copy_reads_and_stops_it(life: Life, kind: type[SourcePump]) -> None:
    source = scripted(["a"])

    async def work(pump: SourcePump) -> None:
        running = asyncio.ensure_future(pump.run())
        while not source.told:
            await asyncio.sleep(0.005)
        pump.stop()
        await running

    pump = life.run(kind, source, work, settings={"mark": "blue"})
    assert source.life == ["started with blue", "stopped"]
    assert life.states == [State.RUNNING]
    assert life.texts() == ["a"]
    assert (pump.measured().task, pump.measured().kind, pump.measured().metrics) == (TASK, "source", pump.metrics)


def test_a_task_that_is_to_stop_waits_for_no_plan(life: Life) -> None:
    source, asked, go_on = scripted(), threading.Event(), threading.Event()

    def plan(offsets: SourceOffsets) -> Plan | None:
        asked.set()
        go_on.wait(60)
        return None

    async def work(pump: SourcePump) -> None:
        stepping = asyncio.ensure_future(pump.step())
        while not asked.is_set():
            await asyncio.sleep(0.005)
        pump.stop()
        with pytest.raises(asyncio.CancelledError):
            await stepping
        go_on.set()

    source.plan = plan  # type: ignore[method-assign]
    life.run(SourcePump, source, work)


@KINDS
@pytest.mark.parametrize(
    ("error", "raised"), [(ValueError("broken"), TaskFailed), (RetriableError("n"), RetriableError)]
)
def test_of_a_batch_that_fails_only_the_dead_letters_are_kept(
    life: Life, kind: type[SourcePump], error: Exception, raised: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    async def work(pump: SourcePump) -> None:
        with pytest.raises(raised):
            await pump.step()
        assert (pump.metrics.batches, pump.metrics.failed, pump.metrics.dead_letters, pump.metrics.logged) == (
            0,
            1,
            1,
            1,
        )
        assert pump.metrics.last_error is not None
        assert pump.metrics.transactions.most == 0

    source = scripted(["a", "bad"], ["b", error], kind=Two)
    life.run(kind, source, work, transforms=[FailOnBad], errors=TOLERANT)
    assert life.world.offsets.get("c", PARTITION) is None
    assert (life.texts(), life.texts("dead"), source.told, life.used) == ([], ["bad"], [], [])
    assert life.left_on_disk() == []
    assert "cannot take bad" in caplog.text


@KINDS
def test_works_that_miss_topics_run_again_when_these_were_made(
    life: Life, kind: type[SourcePump], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[Sequence[str], int]] = []

    def ensure(topics: Sequence[str], settings: Any) -> Future[None]:
        def make() -> None:
            made.append((topics, len(lane.works)))
            done.set_result(None)

        done: Future[None] = Future()
        threading.Timer(0.05, make).start()
        return done

    lane = Lane([[Receipt(missing_topics=["t", "dead"]), Receipt(read=7)], [Receipt(missing_topics=["s"])]])
    monkeypatch.setattr(life.world.topics, "ensure", ensure)
    pump = life.run(kind, scripted(["a"], ["b"], kind=Two), once, runner=lane)
    assert made == [(["dead", "t"], 1), (["s"], 2)]
    assert [[work.split.payload["batch"] for work in works] for works in lane.works] == [[0, 1], [0], [0]]
    assert life.texts() == ["a"]
    assert pump.metrics.read == 8


def test_dead_letters_are_taken_again_and_committed_with_the_mark(life: Life) -> None:
    async def work(pump: SourcePump) -> None:
        letters = [Letter(str(n), "t", 0, n, 1, None, value, ()) for n, value in enumerate((b"bad", b"mended"))]
        works = await pump.replay_works(letters)
        receipts = await pump.dispatch(works)
        mark = SinkCommit("replays", {TopicPartition("dead", 0): 2})
        await asyncio.wrap_future(pump.commit_replay(receipts, mark))

    life.run(SourcePump, scripted(), work, transforms=[FailOnBad], errors=replace(TOLERANT, tolerate_all=False))
    assert (life.texts(), life.texts("dead")) == (["mended"], ["bad"])
    assert life.world.topics.positions("replays") == {TopicPartition("dead", 0): 2}


def test_an_open_transaction_waits_for_its_end_and_so_does_what_is_told(life: Life) -> None:
    source = scripted(["a"], ["b", Progress(PARTITION, {"next": 2}), TransactionEnd.COMMIT, "c"], ["d"], end=None)

    async def work(pump: SourcePump) -> None:
        await once(pump)
        assert (life.texts(), source.told, pump.metrics.commits) == ([], [], 0)
        await once(pump)
        assert source.known[-1] == [(PARTITION, {"next": 1})], "the source goes on from what is open"
        assert (life.texts(), source.told) == (["a", "b"], [[(PARTITION, {"next": 2})]])
        assert life.world.offsets.get("c", PARTITION) == {"next": 2}
        await once(pump)
        source.end = TransactionEnd.COMMIT
        Scripted.items = {**Scripted.items, 3: ["e"]}
        await once(pump)
        assert life.texts() == ["a", "b", "c", "d", "e"]
        assert source.told[1:] == [[(PARTITION, {"next": 4})]]
        assert (pump.metrics.transactions.least, pump.metrics.transactions.most) == (2, 3)

    life.run(HoldingPump, source, work)
    assert life.left_on_disk() == []


def test_a_pause_gives_up_the_open_transaction_and_it_is_read_again(life: Life) -> None:
    source = scripted(["a"], ["b"], end=None)

    async def work(pump: SourcePump) -> None:
        running = asyncio.ensure_future(pump.run())
        while len(source.known) < 3:
            await asyncio.sleep(0.005)
        pump.pause()
        while State.PAUSED not in life.states:
            await asyncio.sleep(0.005)
        source.end = TransactionEnd.COMMIT
        pump.resume()
        while len(life.texts()) < 2:
            await asyncio.sleep(0.005)
        pump.stop()
        await running

    life.run(HoldingPump, source, work, settings={"mark": "blue"})
    assert life.states == [State.RUNNING, State.PAUSED, State.RUNNING]
    assert life.texts() == ["a", "b"]
    assert life.left_on_disk() == []


def test_a_task_that_ends_gives_up_its_open_transaction(life: Life) -> None:
    source = scripted(["a"], end=None)

    async def work(pump: SourcePump) -> None:
        running = asyncio.ensure_future(pump.run())
        while len(source.known) < 2:
            await asyncio.sleep(0.005)
        pump.stop()
        await running

    life.run(HoldingPump, source, work, settings={"mark": "blue"})
    assert source.life == ["started with blue", "stopped"]
    assert (life.texts(), life.world.offsets.get("c", PARTITION)) == ([], None)
    assert life.left_on_disk() == []


def test_an_aborted_transaction_is_nowhere_and_its_offsets_count(life: Life) -> None:
    source = scripted(
        ["a", Progress(PARTITION, {"next": 0}), TransactionEnd.ABORT, "b", Progress(PARTITION, {"next": 1})]
    )
    pump = life.run(HoldingPump, source, once)
    assert life.texts() == ["b"]
    assert life.world.offsets.get("c", PARTITION) == {"next": 1}
    assert pump.metrics.commits == 2
    assert (pump.metrics.transactions.least, pump.metrics.transactions.most) == (1, 1)
    assert life.left_on_disk() == []


def test_what_a_reader_tells_overrules_the_plan_whatever_the_order_of_fields() -> None:
    plan = Plan([], [({"a": 1, "b": 2}, {"n": 1}), ({"a": 3}, {"n": 5})])
    receipts = [Receipt(progress=[({"b": 2, "a": 1}, {"n": 2})]), Receipt(progress=[({"c": 4}, {"n": 7})])]
    found = latest_offsets(plan, receipts)
    assert found == [({"b": 2, "a": 1}, {"n": 2}), ({"a": 3}, {"n": 5}), ({"c": 4}, {"n": 7})]
