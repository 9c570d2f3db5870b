"""All records of a case in one batch, through the code that executors run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import count
from typing import Any

from penstock.runtime.connector_config import converter_ref, transform_chain
from penstock.spark.splits import PluginRef, TaskSpec
from penstock.topics.interface import TopicPartition
from tests.records.casefile import to_bytes
from tests.records.runner import plugins
from tests.spark.chain_cases import DEAD_LETTERS, exact
from tests.spark.pumping import Keeping, MemoryTopics, here, put_all

_keys = count()


def _spec(case: Mapping[str, Any], task: type[Any]) -> TaskSpec:
    roles = [converter_ref(plugins(), {}, case["in"], f"{role}.converter") for role in ("key", "value", "header")]
    chain = transform_chain(plugins(), case["config"])
    return TaskSpec(f"case-{next(_keys)}", "c", 0, PluginRef(here(task)), *roles, chain, DEAD_LETTERS)


def _row(raw: Mapping[str, Any]) -> dict[str, Any]:
    headers = [{"key": name, "value": to_bytes(form)} for name, form in raw["headers"]]
    cells = {"key": to_bytes(raw["key"]), "value": to_bytes(raw["value"])}
    return {**cells, "headers": headers or None, "timestamp": raw["timestamp"]}


def put_case(case: Mapping[str, Any], task: type[Any], times: int) -> tuple[Any, ...]:
    """All records of a case in one batch, several times over; offsets go on from that of the first record."""
    topics, began = MemoryTopics(), int(time.time() * 1000)
    places: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for raw in case["records"]:
        places.setdefault((raw["topic"], raw["partition"]), []).append(raw)
    ranges = [
        topics.store(topic, [_row(raw) for raw in records] * times, first=records[0]["offset"], partition=partition)
        for (topic, partition), records in places.items()
    ]
    receipt = put_all(topics, ranges, _spec(case, task))
    assert receipt.failure is None, receipt.failure
    letters = topics.written.get(TopicPartition("dlq", 0), [])
    for letter in letters:
        if letter["timestamp"] >= began:
            letter["timestamp"] = "when it failed"
    counts = (receipt.read, receipt.written, receipt.filtered, receipt.skipped, receipt.failed, receipt.error_log)
    return list(Keeping.kept), letters, counts


def comparable(outcome: tuple[Any, ...]) -> tuple[Any, ...]:
    """An outcome in which only records of the same types, digits and order are equal."""
    records, letters, counts = outcome
    return [exact(record) for record in records], letters, counts
