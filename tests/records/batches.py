"""All records of a case in one batch, through the code that executors run. No form for columns may raise meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from penstock.api import Batch, Record
from penstock.runtime.connector_config import converter_ref, transform_chain
from penstock.spark.splits import PluginRef, TaskSpec, TransformRef
from penstock.topics.interface import TopicPartition
from tests.records.casefile import to_bytes
from tests.records.runner import plugins
from tests.spark.chain_cases import DEAD_LETTERS, exact
from tests.spark.pumping import Given, Keeping, MemoryTopics, here, put_all, read_all

PARTITIONS = 16
"""Of each topic that is written: as many as the observed records name."""

_keys = count()


Change = Callable[[TaskSpec], TaskSpec]


def _spec(converters: Mapping[str, str], task: type[Any], chain: Sequence[TransformRef]) -> TaskSpec:
    roles = [converter_ref(plugins(), {}, converters, f"{role}.converter") for role in ("key", "value", "header")]
    target = PluginRef(here(task))
    return TaskSpec(
        f"case-{next(_keys)}", "c", 0, target, *roles, chain, DEAD_LETTERS, default_topic_partitions=PARTITIONS
    )


def _unchanged(spec: TaskSpec) -> TaskSpec:
    return spec


def _row(raw: Mapping[str, Any]) -> dict[str, Any]:
    headers = [{"key": name, "value": to_bytes(form)} for name, form in raw["headers"]]
    cells = {"key": to_bytes(raw["key"]), "value": to_bytes(raw["value"])}
    return {**cells, "headers": headers or None, "timestamp": raw["timestamp"]}


def put_case(case: Mapping[str, Any], task: type[Any], times: int, change: Change = _unchanged) -> tuple[Any, ...]:
    """All records of a case in one batch, several times over; offsets go on from that of the first record.

    ``change`` may have others take the part of the task's plugins.
    """
    topics, began = MemoryTopics(), int(time.time() * 1000)
    places: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for raw in case["records"]:
        places.setdefault((raw["topic"], raw["partition"]), []).append(raw)
    ranges = [
        topics.store(topic, [_row(raw) for raw in records] * times, first=records[0]["offset"], partition=partition)
        for (topic, partition), records in places.items()
    ]
    spec = _spec(case["in"], task, transform_chain(plugins(), case["config"]))
    receipt = put_all(topics, ranges, change(spec))
    assert receipt.failure is None, receipt.failure
    letters = topics.written.get(TopicPartition("dlq", 0), [])
    for letter in letters:
        if letter["timestamp"] >= began:
            letter["timestamp"] = "when it failed"
    counts = (receipt.read, receipt.written, receipt.filtered, receipt.skipped, receipt.failed, receipt.error_log)
    return list(Keeping.kept), letters, counts


class KeepingItems(Keeping):
    """Keeps batches as batches."""

    items: list[Record | Batch] = []

    def put_mixed(self, items: Iterable[Record | Batch]) -> Mapping[str, Any] | None:
        KeepingItems.items = list(items)
        return None


def items_of(case: Mapping[str, Any], times: int = 1) -> list[Record | Batch]:
    """What a sink gets of a case, in columns as far as they go."""
    KeepingItems.items = []
    put_case(case, KeepingItems, times)
    return KeepingItems.items


def write_items(case: Mapping[str, Any], items: Sequence[Record | Batch], change: Change = _unchanged) -> Any:
    """What a source that reads these items writes through the converters of a case, and what it counts."""
    topics, began = MemoryTopics(), int(time.time() * 1000)
    receipt = read_all(topics, list(items), change(_spec(case["out"], Given, ())))
    assert receipt.failure is None, receipt.failure
    for row in (row for rows in topics.written.values() for row in rows):
        if row["timestamp"] >= began:
            row["timestamp"] = "when it was written"
    counts = (receipt.read, receipt.written, receipt.bytes, receipt.skipped, receipt.failed, list(receipt.error_log))
    return topics.written, counts


def comparable(outcome: tuple[Any, ...]) -> tuple[Any, ...]:
    """An outcome in which only records of the same types, digits and order are equal."""
    records, letters, counts = outcome
    return [exact(record) for record in records], letters, counts
