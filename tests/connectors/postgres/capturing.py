"""The source driven as the runtime drives it, but without Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from penstock.api import Batch, Plan, Progress, Record, SourceOffset, SourceOffsets, SourcePartition
from penstock.connectors.postgres import PostgresCdc, stream
from penstock.connectors.postgres.source import PostgresCdcTask
from tests.support.postgres import PostgresServer


class Committed(SourceOffsets):
    """Offsets as the runtime would keep them."""

    def __init__(self) -> None:
        self._pairs: dict[str, tuple[SourcePartition, SourceOffset]] = {}

    def get(self, partition: SourcePartition) -> SourceOffset | None:
        return self._pairs.get(json.dumps(partition, sort_keys=True), (None, None))[1]

    def all(self) -> Sequence[tuple[SourcePartition, SourceOffset]]:
        return list(self._pairs.values())

    def put(self, partition: SourcePartition, offset: SourceOffset) -> None:
        self._pairs[json.dumps(partition, sort_keys=True)] = (partition, json.loads(json.dumps(offset)))


class Capture:
    """A connector, its task and its topics. ``crash`` loses the task and every connection, ``step`` is one batch."""

    def __init__(self, server: PostgresServer, name: str, **more: str) -> None:
        self.server = server
        names = {"name": name, "topic.prefix": name, "poll.interval.ms": "0"}
        self.config = server.config(**{**names, **more})
        self.offsets = Committed()
        self.topics: dict[str, list[Record]] = {}
        self.connector().on_created(self.config)
        self.task = self._task()

    def connector(self) -> PostgresCdc:
        made = PostgresCdc()
        made.configure(self.config)
        return made

    def _task(self) -> PostgresCdcTask:
        task = PostgresCdcTask()
        task.configure(self.config)
        return task

    def crash(self) -> None:
        self.task.stop()
        for kept in list(stream._kept):
            stream._kept.pop(kept).close()
        self.task = self._task()

    def step(self, commit: bool = True) -> bool:
        plan = self.task.plan(self.offsets)
        if plan is None:
            return False
        records, progress = self._read(plan)
        if commit:
            for record in records:
                self.topics.setdefault(record.topic, []).append(record)
            ends = [*plan.ends, *progress]
            for partition, offset in ends:
                self.offsets.put(partition, offset)
            self.task.committed(ends)
        return True

    def run(self) -> Capture:
        """Everything there is now."""
        while self.step():
            pass
        return self

    def _read(self, plan: Plan) -> tuple[list[Record], list[tuple[SourcePartition, SourceOffset]]]:
        records: list[Record] = []
        progress = []
        for split in plan.splits:
            for item in self.task.read(split):
                if isinstance(item, Progress):
                    progress.append((item.partition, item.offset))
                else:
                    records += item.records() if isinstance(item, Batch) else [item]
        return records, progress

    def told(self, table: str) -> list[tuple[str, Any]]:
        records = self.topics.get(f"{self.config['topic.prefix']}.{table}", [])
        return [(r.value["op"], (r.value["after"] or r.value["before"])["id"]) for r in records if r.value]

    def close(self) -> None:
        self.crash()
        self.task.stop()
        self.connector().on_deleted(self.config)


def slots(server: PostgresServer) -> list[str]:
    return [name for (name,) in server.run("SELECT slot_name FROM pg_replication_slots ORDER BY 1")]
