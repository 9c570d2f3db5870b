"""A source task driven as a worker drives it, without one: plan, read on a copy, commit, tell."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.api import (
    Batch,
    Progress,
    Record,
    SourceConnector,
    SourceItem,
    SourceOffsets,
    SourceTask,
    Split,
    TransactionEnd,
)

from .session import session

Offset = tuple[Mapping[str, Any], Mapping[str, Any]]


class CommittedOffsets(SourceOffsets):
    """Source offsets by partition, as ``plan`` sees them."""

    def __init__(self, offsets: Sequence[Offset] = ()) -> None:
        self._known: dict[str, Offset] = {}
        self.commit(offsets)

    def get(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        found = self._known.get(_key(partition))
        return None if found is None else found[1]

    def all(self) -> Sequence[Offset]:
        return list(self._known.values())

    def commit(self, offsets: Sequence[Offset]) -> None:
        """Take offsets through JSON, as the offset store does: what does not survive it is an error here too."""
        for partition, offset in offsets:
            self._known[_key(partition)] = (json.loads(json.dumps(partition)), json.loads(json.dumps(offset)))

    def copy(self) -> CommittedOffsets:
        return CommittedOffsets(self.all())


@dataclass(frozen=True)
class ReadBatch:
    """The records of one batch, and the offsets that are committed with them."""

    records: list[Record]
    ends: list[Offset]


@dataclass
class Run:
    """Batches in order; ``before`` holds the offsets before each. ``complete``: the source had nothing more."""

    batches: list[ReadBatch] = field(default_factory=list)
    before: list[CommittedOffsets] = field(default_factory=list)
    complete: bool = False

    def records(self, start: int = 0) -> list[Record]:
        """The records of all batches from one on."""
        return [record for batch in self.batches[start:] for record in batch.records]


class SourceDriver:
    """One task of a connector, made anew as often as a crash would."""

    def __init__(self, connector: type[SourceConnector], config: Mapping[str, str]) -> None:
        self._connector = connector
        self._config = config

    def task_configs(self, most: int = 1) -> list[Mapping[str, str]]:
        """What a fresh, started connector instance wants its tasks to be."""
        made = self._connector()
        made.configure(self._config)
        made.start()
        try:
            return [dict(config) for config in made.task_configs(most)]
        finally:
            made.stop()

    def new_task(self) -> SourceTask:
        """A fresh copy of the first task, configured and not started."""
        configs = self.task_configs()
        task = self._connector.task()
        task.configure({**configs[0], "connector": "contract"} if configs else dict(self._config))
        return task

    def next_batch(self, task: SourceTask, offsets: SourceOffsets) -> ReadBatch | None:
        """What a started task reads next; the reading is done by copies that know only their split."""
        if type(task).load is not SourceTask.load:
            frame = task.load(session(), offsets)
            if frame is None:
                return None
            rows = frame.dataframe.toArrow().to_batches()
            return _gathered((item for batch in rows for item in self.new_task().records(batch)), frame.ends)
        plan = task.plan(offsets)
        if plan is None:
            return None
        return _gathered((item for split in plan.splits for item in self.read(split)), plan.ends)

    def read(self, split: Split) -> Iterator[SourceItem]:
        """A split as an executor reads it: pickled, by a copy of the task."""
        return self.new_task().read(pickle.loads(pickle.dumps(split)))

    def run(self, offsets: CommittedOffsets | None = None, most: int = 100) -> Run:
        """Read from some offsets on, up to the end or ``most`` batches."""
        known = offsets.copy() if offsets is not None else CommittedOffsets()
        task = self.new_task()
        task.start()
        run = Run()
        try:
            while len(run.batches) < most:
                batch = self.next_batch(task, known.copy())
                if batch is None:
                    run.complete = True
                    break
                run.before.append(known.copy())
                run.batches.append(batch)
                known.commit(batch.ends)
                task.committed(batch.ends)
        finally:
            task.stop()
        run.before.append(known)
        return run


def records_of(items: Iterator[SourceItem], seen: Callable[[Progress], None]) -> Iterator[Record]:
    """Records one by one; progress goes to ``seen``, and ends of transactions nowhere."""
    for item in items:
        if isinstance(item, Progress):
            seen(item)
        elif isinstance(item, Batch):
            yield from item.records()
        elif not isinstance(item, TransactionEnd):
            yield item


def _gathered(items: Iterator[SourceItem], ends: Sequence[Offset]) -> ReadBatch:
    found: list[Offset] = list(ends)
    records = list(records_of(items, lambda progress: found.append((progress.partition, progress.offset))))
    return ReadBatch(records, found)


def _key(partition: Mapping[str, Any]) -> str:
    return json.dumps(partition, sort_keys=True)
