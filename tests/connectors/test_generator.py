"""Generator: how many records, which ones, how fast."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from penstock.api import ConfigError, Record, SourceOffset, SourceOffsets, SourcePartition, SourceTask
from penstock.connectors.generator import Generator
from penstock.connectors.generator.source import GeneratorTask


class Offsets(SourceOffsets):
    def __init__(self) -> None:
        self.known: dict[str, SourceOffset] = {}

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        return self.known.get(repr(partition))

    def all(self) -> Sequence[tuple[SourcePartition, SourceOffset]]:
        return []


def tasks_of(max_tasks: int = 1, **settings: str) -> list[SourceTask]:
    connector = Generator()
    connector.configure({"topic": "t", "rate": "0", **settings})
    tasks: list[SourceTask] = []
    for config in connector.task_configs(max_tasks):
        task = GeneratorTask()
        task.configure(config)
        tasks.append(task)
    return tasks


def batch(task: SourceTask, offsets: Offsets) -> list[Record]:
    plan = task.plan(offsets)
    if plan is None:
        return []
    records = [r for split in plan.splits for item in task.read(split) for r in item.records()]  # type: ignore[union-attr]
    for partition, offset in plan.ends:
        offsets.known[repr(partition)] = offset
    return records


def everything(task: SourceTask) -> list[Record]:
    offsets, records = Offsets(), []
    while made := batch(task, offsets):
        records += made
    return records


def test_count_ends_the_series() -> None:
    (task,) = tasks_of(count="1000", shape="counter")
    assert [record.value for record in everything(task)] == list(range(1000))


def test_tasks_share_the_series_without_overlap() -> None:
    made = [[record.value for record in everything(task)] for task in tasks_of(3, count="10", shape="counter")]
    assert made == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]


@pytest.mark.parametrize("shape", ["counter", "text", "order"])
def test_a_series_made_again_is_the_same(shape: str) -> None:
    settings = {"count": "500", "shape": shape, "keys": "7"}
    (first,), (second,) = tasks_of(**settings), tasks_of(**settings)
    records = everything(first)
    assert records == everything(second)
    assert len({record.key for record in records}) == 7


@pytest.mark.parametrize("size", [1, 19, 20, 21, 100, 1000])
def test_texts_have_the_length_that_was_asked_for(size: int) -> None:
    (task,) = tasks_of(count="3", shape="text", **{"text.bytes": str(size)})
    values = [record.value for record in everything(task)]
    assert [len(value) for value in values] == [size] * 3
    assert len(set(values)) == 3


def test_orders_are_structs_with_a_schema() -> None:
    (task,) = tasks_of(count="2", shape="order")
    record = everything(task)[1]
    assert record.value_schema is not None
    assert list(record.value) == [field.name for field in record.value_schema.fields]
    assert record.value["order_id"] == 1
    assert record.key is None


def test_the_rate_is_kept_and_a_pause_makes_no_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    (task,), offsets = tasks_of(rate="100"), Offsets()
    assert len(batch(task, offsets)) == 1
    assert batch(task, offsets) == []
    made = 0
    for _ in range(50):
        now += 0.1
        made += len(batch(task, offsets))
    assert 499 <= made <= 501
    now += 3600
    assert len(batch(task, offsets)) <= 100


def test_many_tasks_share_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    tasks = tasks_of(4, rate="100")
    offsets = [Offsets() for _ in tasks]
    for task, own in zip(tasks, offsets, strict=True):
        batch(task, own)
    now += 0.41
    assert [len(batch(task, own)) for task, own in zip(tasks, offsets, strict=True)] == [10] * 4


def test_altered_offsets_move_the_series(monkeypatch: pytest.MonkeyPatch) -> None:
    (task,), offsets = tasks_of(count="10", shape="counter"), Offsets()
    offsets.known[repr({"part": 0, "parts": 1})] = {"next": 8}
    assert [record.value for record in batch(task, offsets)] == [8, 9]


@pytest.mark.parametrize(
    ("partition", "offset"),
    [({"part": 0, "parts": 1}, {"next": -1}), ({"part": 0, "parts": 1}, {}), ({"part": 0}, {"next": 1})],
)
def test_offsets_that_make_no_sense_are_refused(partition: dict[str, Any], offset: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Generator().alter_offsets({}, [(partition, offset)])


@pytest.mark.parametrize(("key", "value"), [("rate", "-1"), ("shape", "cube"), ("text.bytes", "0"), ("topic", "")])
def test_bad_settings_are_named(key: str, value: str) -> None:
    found = Generator.config.validate({"topic": "t", key: value})
    assert [name for name, result in found.items() if result.errors] == [key]
