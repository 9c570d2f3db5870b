"""Offsets of a connector that does not run: read, altered, forgotten and put back, with its own consent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest

from penstock.api import ConfigDef, ConfigKey, PluginError, SinkConnector, SinkTask, SourceConnector, SourceTask, Type
from penstock.api.errors import ConfigError, UnsupportedOperationError
from penstock.runtime.calls import UserCode
from penstock.runtime.offset_changes import OffsetChanges
from penstock.runtime.plugins import Plugins
from penstock.runtime.requests import BadRequest, OffsetEntry, RequestError, TimedOut
from penstock.runtime.services import Services
from penstock.runtime.worker_config import WorkerConfig
from penstock.storage.config_store import ConfigStore
from penstock.storage.memory_log import MemoryLog
from penstock.topics.errors import GroupInUse, TopicError
from penstock.topics.interface import SinkCommit, TopicPartition
from tests.spark.pumping import here
from tests.topics.world import World

T = TypeVar("T")

A, B, D = ({"file": name} for name in "abd")
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
GROUP = "connect-c"


class Asked:
    """What connectors were asked, and how they answer."""

    changes: ClassVar[list[Any]] = []
    marks: ClassVar[list[str]] = []
    answer: ClassVar[Callable[[], bool]] = staticmethod(lambda: True)

    def alter_offsets(self, config: Mapping[str, Any], offsets: Any) -> bool:
        Asked.marks.append(config["mark"])
        Asked.changes.append(offsets)
        return Asked.answer()


KEYS = ConfigDef(ConfigKey("mark", Type.STRING, ""))


class AskedSource(Asked, SourceConnector):
    config = KEYS
    task = SourceTask


class AskedSink(Asked, SinkConnector):
    config = KEYS
    task = SinkTask


SOURCE = {"name": "c", "connector.class": here(AskedSource), "mark": "one"}
SINK = {"name": "c", "connector.class": here(AskedSink), "topics": "t", "mark": "two"}


class Changing(World):
    """Changes to offsets of connector ``c``, which has come so far: a 1, b 2 as a source; 10 and 20 as a sink."""

    def __init__(self, folder: Path, calls: UserCode, more: Mapping[str, str] | None = None) -> None:
        super().__init__(folder)
        settings = {"data.dir": str(folder), "connector.call.timeout.ms": "500", **(more or {})}
        worker = WorkerConfig.from_properties(settings)
        configs = ConfigStore(MemoryLog())
        self.services = Services(worker, configs, self.offsets, self.topics, Plugins(), calls, "here")
        self.changes = OffsetChanges(self.services)
        self.offsets.put("c", [(A, {"line": 1}), (B, {"line": 2})]).result()
        self.offsets.put("other", [(A, {"line": 9})]).result()
        self.topics.create_topic("t", 3).result()
        self.topics.commit_sink(SinkCommit(GROUP, {T0: 10, T1: 20}, 0, {"rows": 3})).result()

    def do(self, work: Callable[[OffsetChanges], Awaitable[T]]) -> T:
        async def whole() -> T:
            return await work(self.changes)

        return asyncio.run(whole())

    def source(self) -> dict[str, int]:
        assert self.offsets.all("other") == [(A, {"line": 9})]
        return {partition["file"]: offset["line"] for partition, offset in self.offsets.all("c")}

    def sink(self) -> dict[int, int]:
        return {at.partition: position for at, position in self.topics.positions(GROUP).items()}


@pytest.fixture
def calls() -> Iterator[UserCode]:
    calls = UserCode()
    yield calls
    calls.stop()


@pytest.fixture
def world(tmp_path: Path, calls: UserCode) -> Iterator[Changing]:
    Asked.changes.clear()
    Asked.marks.clear()
    Asked.answer = staticmethod(lambda: True)
    world = Changing(tmp_path, calls)
    yield world
    world.close()


def answers(function: Callable[[], bool]) -> None:
    Asked.answer = staticmethod(function)


def raises(error: Exception) -> Callable[[], bool]:
    def answer() -> bool:
        raise error

    return answer


def at(partition: int, offset: int | None) -> OffsetEntry:
    position = None if offset is None else {"kafka_offset": offset}
    return OffsetEntry({"kafka_topic": "t", "kafka_partition": partition}, position)


def test_committed_offsets_are_read(world: Changing) -> None:
    assert world.do(lambda changes: changes.current("c", SOURCE)) == [
        OffsetEntry(A, {"line": 1}),
        OffsetEntry(B, {"line": 2}),
    ]
    assert world.do(lambda changes: changes.current("c", SINK)) == [at(0, 10), at(1, 20)]


def test_source_offsets_are_altered_once_the_connector_agrees(world: Changing) -> None:
    entries = [OffsetEntry(A, {"line": 7}), OffsetEntry(B, None), OffsetEntry(D, {"line": 4})]
    assert world.do(lambda changes: changes.write("c", SOURCE, entries)) is True
    assert world.source() == {"a": 7, "d": 4}
    assert (Asked.marks, Asked.changes) == (["one"], [[(A, {"line": 7}), (B, None), (D, {"line": 4})]])


def test_positions_of_a_sink_are_altered_once_the_connector_agrees(world: Changing) -> None:
    assert world.do(lambda changes: changes.write("c", SINK, [at(0, 1), at(1, None), at(2, 5)])) is True
    assert world.sink() == {0: 1, 2: 5}
    assert (Asked.marks, Asked.changes) == (["two"], [{T0: 1, T1: None, T2: 5}])


@pytest.mark.parametrize("offset", [5, None])
def test_a_partition_that_is_not_there_is_named_before_anybody_is_asked(world: Changing, offset: int | None) -> None:
    with pytest.raises(BadRequest, match=r"no partition 3 of topic t \(it has partitions 0 to 2\)"):
        world.do(lambda changes: changes.write("c", SINK, [at(0, 1), at(3, offset), at(1, 2)]))
    assert (world.sink(), Asked.changes) == ({0: 10, 1: 20}, [])


def test_offsets_of_a_source_are_replaced_once_the_connector_agrees(world: Changing) -> None:
    entries = [OffsetEntry(A, {"line": 7}), OffsetEntry(D, {"line": 4})]
    world.do(lambda changes: replaced(changes, SOURCE, entries))
    assert world.source() == {"a": 7, "d": 4}
    assert Asked.changes == [[(B, None), (A, {"line": 7}), (D, {"line": 4})]]


def test_positions_of_a_sink_are_replaced_once_the_connector_agrees(world: Changing) -> None:
    world.do(lambda changes: replaced(changes, SINK, [at(1, 7), at(2, 4)]))
    assert world.sink() == {1: 7, 2: 4}
    assert Asked.changes == [{T0: None, T1: 7, T2: 4}]


def test_positions_are_not_replaced_by_some_that_are_not_there(world: Changing) -> None:
    with pytest.raises(BadRequest, match="no partition 3 of topic t"):
        world.do(lambda changes: replaced(changes, SINK, [at(1, 7), at(3, 4)]))
    assert (world.sink(), Asked.changes) == ({0: 10, 1: 20}, [])


async def replaced(changes: OffsetChanges, config: Mapping[str, str], entries: list[OffsetEntry]) -> bool:
    return await (await changes.replacing("c", config, entries)).write()


@pytest.mark.parametrize("config", [SOURCE, SINK])
def test_a_connector_that_does_not_look_is_reported(world: Changing, config: Mapping[str, str]) -> None:
    answers(lambda: False)
    entries = [OffsetEntry(A, {"line": 7})] if config is SOURCE else [at(0, 7)]
    assert world.do(lambda changes: changes.write("c", config, entries)) is False
    assert world.do(lambda changes: changes.forget("c", config)) is False


def test_all_offsets_of_a_source_are_forgotten(world: Changing) -> None:
    assert world.do(lambda changes: changes.forget("c", SOURCE)) is True
    assert world.source() == {}
    assert Asked.changes == [[(A, None), (B, None)]]


def test_a_sink_is_forgotten_with_its_state(world: Changing) -> None:
    assert world.do(lambda changes: changes.forget("c", SINK)) is True
    assert (world.sink(), world.topics.sink_state(GROUP, 0)) == ({}, None)
    assert Asked.changes == [{T0: None, T1: None}]


def test_settings_that_no_client_can_use_are_named(tmp_path: Path, calls: UserCode) -> None:
    world = Changing(tmp_path, calls, {"bootstrap.servers": "localhost:9092"})
    config = {**SINK, "consumer.override.max.poll.records": "-5"}
    with pytest.raises(BadRequest, match=r"Invalid value -5 for configuration max\.poll\.records"):
        world.do(lambda changes: changes.current("c", config))
    world.close()


def test_a_reset_that_was_agreed_to_before_asks_nobody(world: Changing) -> None:
    assert world.do(lambda changes: changes.forgotten("c", SOURCE).write()) is True
    assert (world.source(), Asked.changes) == ({}, [])


@pytest.mark.parametrize("config", [SOURCE, SINK])
def test_what_was_there_before_is_put_back_without_a_question(world: Changing, config: Mapping[str, str]) -> None:
    before = world.do(lambda changes: changes.current("c", config))
    later = [OffsetEntry(A, {"line": 7}), OffsetEntry(D, {"line": 4})] if config is SOURCE else [at(0, 7), at(2, 4)]
    world.do(lambda changes: changes.write("c", config, later))
    Asked.changes.clear()
    world.do(lambda changes: changes.put_back("c", config, before))
    assert world.do(lambda changes: changes.current("c", config)) == before
    assert Asked.changes == []


def test_the_offsets_topic_of_a_source_is_opened_and_a_sink_has_none(world: Changing) -> None:
    opened: list[str] = []
    world.services.open_offsets = lambda parsed: opened.append(parsed.name)
    for config in (SINK, SOURCE):
        world.do(lambda changes, config=config: changes.open(config))
    assert opened == ["c"]


def test_offsets_are_put_back_where_the_connector_keeps_them_if_that_can_be_known(world: Changing) -> None:
    opened: list[str] = []
    before = world.do(lambda changes: changes.current("c", SOURCE))
    world.services.open_offsets = lambda parsed: opened.append(f"{parsed.name} with {world.source()}")
    world.do(lambda changes: changes.write("c", SOURCE, [OffsetEntry(A, {"line": 7})]))
    opened.clear()
    world.do(lambda changes: changes.put_back("c", SOURCE, before))
    assert (world.source(), opened) == ({"a": 1, "b": 2}, ["c with {'a': 7, 'b': 2}"])

    def refuse(parsed: Any) -> None:
        raise ConfigError("no such cluster")

    world.do(lambda changes: changes.write("c", SOURCE, [OffsetEntry(A, {"line": 7})]))
    world.services.open_offsets = refuse
    with pytest.raises(BadRequest, match="no such cluster"):
        world.do(lambda changes: changes.open(SOURCE))
    with pytest.raises(BadRequest, match="no such cluster"):
        world.do(lambda changes: changes.write("c", SOURCE, [OffsetEntry(A, {"line": 8})]))
    assert world.source() == {"a": 7, "b": 2}
    world.do(lambda changes: changes.put_back("c", SOURCE, before))
    assert world.source() == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("config", "error", "kind", "text"),
    [
        (SOURCE, PluginError("not mine"), BadRequest, "modify offsets for source connector c: not mine"),
        (SINK, ValueError("not mine"), BadRequest, "modify offsets for sink connector c: not mine"),
        (SOURCE, UnsupportedOperationError("no"), BadRequest, "c because it doesn't support external modification"),
        (SOURCE, RequestError("as it says"), RequestError, "^as it says$"),
    ],
)
def test_a_connector_that_refuses_keeps_its_offsets(
    world: Changing, config: Mapping[str, str], error: Exception, kind: type[Exception], text: str
) -> None:
    answers(raises(error))
    for work in (
        lambda changes: changes.write("c", config, [OffsetEntry(A, None)] if config is SOURCE else [at(0, None)]),
        lambda changes: changes.forget("c", config),
    ):
        with pytest.raises(kind, match=text):
            world.do(work)
    assert (world.source(), world.sink()) == ({"a": 1, "b": 2}, {0: 10, 1: 20})


def test_a_connector_that_does_not_answer_is_named(world: Changing) -> None:
    answers(lambda: time.sleep(1.5) is None)
    text = "Timed out while calling the 'alterOffsets' method for source connector c"
    with pytest.raises(TimedOut, match=text):
        world.do(lambda changes: changes.forget("c", SOURCE))
    assert world.source() == {"a": 1, "b": 2}


def failed(error: Exception) -> Callable[..., Future[None]]:
    def write(*_: Any) -> Future[None]:
        future: Future[None] = Future()
        future.set_exception(error)
        return future

    return write


@pytest.mark.parametrize(
    ("error", "altering", "resetting"),
    [
        (
            GroupInUse("busy"),
            "Failed to alter consumer group offsets for connector c either because its tasks haven't stopped",
            "Failed to reset consumer group offsets for connector c either because its tasks haven't stopped",
        ),
        (
            TopicError("down"),
            "^Failed to alter consumer group offsets for connector c: down$",
            "^Failed to reset consumer group offsets for sink connector c: down$",
        ),
    ],
)
def test_a_group_that_cannot_be_changed_is_told_in_kafka_connects_words(
    world: Changing, monkeypatch: pytest.MonkeyPatch, error: Exception, altering: str, resetting: str
) -> None:
    monkeypatch.setattr(world.topics, "alter_positions", failed(error))
    monkeypatch.setattr(world.topics, "delete_group", failed(error))
    with pytest.raises(RequestError, match=altering):
        world.do(lambda changes: changes.write("c", SINK, [at(0, 1)]))
    with pytest.raises(RequestError, match=resetting):
        world.do(lambda changes: changes.forget("c", SINK))


def test_other_errors_of_a_write_come_as_they_are(world: Changing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.topics, "alter_positions", failed(ZeroDivisionError("odd")))
    with pytest.raises(ZeroDivisionError, match="odd") as raised:
        world.do(lambda changes: changes.write("c", SINK, [at(0, 1)]))
    assert raised.value.__cause__ is None


def test_positions_that_cannot_be_read_are_not_reset(world: Changing, monkeypatch: pytest.MonkeyPatch) -> None:
    def positions(group: str) -> Any:
        raise TopicError("down")

    monkeypatch.setattr(world.topics, "positions", positions)
    text = "Failed to list offsets prior to resetting offsets for sink connector c: down"
    with pytest.raises(RequestError, match=text):
        world.do(lambda changes: changes.forget("c", SINK))


def test_all_offsets_of_an_embedded_home_are_in_one_database(world: Changing) -> None:
    assert world.changes.database(SOURCE) is world.database
    assert world.changes.database(SINK) is world.database
