"""``/metrics``: Kafka Connect's metrics under their names in snake case, and lag and hooks under ours.

Made of what the herder knows when it is asked; in a cluster every worker answers for all connectors.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from penstock.runtime.herder import Herder
from penstock.runtime.requests import ConnectorInfo, ConnectorStatus, NotFound, RequestError, State
from penstock.runtime.topic_views import LATEST

from .answers import Answer
from .metrics_text import CONTENT_TYPE, Family, exposition
from .request import Request
from .waiting import answer_of

LAG_SECONDS = 5.0
_COUNTED = {
    "running": State.RUNNING,
    "paused": State.PAUSED,
    "failed": State.FAILED,
    "unassigned": State.UNASSIGNED,
    "destroyed": State.DESTROYED,
    "restarting": State.RESTARTING,
}

Known = tuple[ConnectorInfo, ConnectorStatus]


async def get_metrics(herder: Herder, request: Request) -> Answer:
    known = _known(herder)
    families = [_app_info(herder), *_workers(known), *_connectors(known), *_tasks(known), *_hooks(herder, known)]
    families += await _lags(herder, [info.name for info, _ in known if info.type == "sink"])
    return Answer(200, exposition(families), content_type=CONTENT_TYPE)


def _known(herder: Herder) -> list[Known]:
    """Every connector that has a status; one that goes meanwhile is left out."""
    found: list[Known] = []
    for name in sorted(herder.connectors()):
        try:
            found.append((herder.connector_info(name), herder.connector_status(name)))
        except NotFound:
            continue
    return found


def _app_info(herder: Herder) -> Family:
    family = Family("kafka_connect_app_info", "gauge", "Version of the worker that answers.")
    family.add(1, **herder.server_info())
    return family


def _workers(known: Sequence[Known]) -> list[Family]:
    connectors = Family("kafka_connect_worker_connector_count", "gauge", "Connectors of a worker.")
    tasks = Family("kafka_connect_worker_task_count", "gauge", "Tasks of a worker.")
    owners = Counter(status.connector.worker_id for _, status in known)
    hosts = Counter(task.worker_id for _, status in known for _, task in status.tasks)
    for worker in sorted(owners.keys() | hosts.keys()):
        connectors.add(owners[worker], worker_id=worker)
        tasks.add(hosts[worker], worker_id=worker)
    return [connectors, tasks]


def _connectors(known: Sequence[Known]) -> list[Family]:
    state = Family("kafka_connect_connector_status", "gauge", "1 for the state that a connector is in.")
    total = Family("kafka_connect_worker_connector_total_task_count", "gauge", "Tasks of a connector.")
    counts = {
        word: Family(f"kafka_connect_worker_connector_{word}_task_count", "gauge", f"Tasks of a connector: {word}.")
        for word in _COUNTED
    }
    for info, status in known:
        state.add(
            1,
            connector=info.name,
            connector_type=info.type,
            connector_class=info.config.get("connector.class"),
            connector_version=status.connector.version,
            status=status.connector.state.value.lower(),
        )
        total.add(len(status.tasks), connector=info.name)
        found = Counter(task.state for _, task in status.tasks)
        for word, counted in _COUNTED.items():
            counts[word].add(found[counted], connector=info.name)
    return [state, total, *counts.values()]


def _tasks(known: Sequence[Known]) -> list[Family]:
    state = Family("kafka_connect_connector_task_status", "gauge", "1 for the state that a task is in.")
    for info, status in known:
        for number, task in status.tasks:
            labels = {"connector": info.name, "task": number, "worker_id": task.worker_id}
            state.add(1, **labels, status=task.state.value.lower())
    return [state]


def _hooks(herder: Herder, known: Sequence[Known]) -> list[Family]:
    tries = Family("penstock_lifecycle_hook_tries", "gauge", "Calls of a lifecycle hook that has not succeeded yet.")
    cleanups = Family("penstock_lifecycle_cleanups", "gauge", "Deletion hooks that still have to succeed.")
    for info, _ in known:
        try:
            pending = herder.lifecycle(info.name).pending
        except RequestError:
            continue
        if pending is not None:
            tries.add(pending.tries, connector=info.name, hook=pending.hook)
    cleanups.add(len(herder.cleanups()))
    return [tries, cleanups]


async def _lags(herder: Herder, sinks: Sequence[str]) -> list[Family]:
    """What sinks have still to put. A lag that cannot be found out in time is left out, and counted."""
    lag = Family("penstock_sink_record_lag", "gauge", "Records of a topic partition that a sink has not put yet.")
    unknown = Family("penstock_sink_record_lag_unknown", "gauge", "1 for a sink whose lag could not be found out.")
    found = await asyncio.gather(*(_lag(herder, name) for name in sinks), return_exceptions=True)
    for name, places in zip(sinks, found, strict=True):
        if isinstance(places, RequestError):
            unknown.add(1, connector=name)
        elif isinstance(places, BaseException):
            raise places
        else:
            for topic, partition, behind in places:
                lag.add(behind, connector=name, topic=topic, partition=partition)
    return [lag, unknown]


async def _lag(herder: Herder, name: str) -> list[tuple[str, int, int]]:
    ends: dict[str, Sequence[int]] = {}
    behind: list[tuple[str, int, int]] = []
    for entry in await answer_of(herder.offsets(name), LAG_SECONDS):
        if entry.partition is None or entry.offset is None:
            continue
        topic, partition = str(entry.partition["kafka_topic"]), int(entry.partition["kafka_partition"])
        if topic not in ends:
            ends[topic] = await answer_of(herder.topic_offsets(topic, LATEST), LAG_SECONDS)
        if partition < len(ends[topic]):
            behind.append((topic, partition, max(0, ends[topic][partition] - int(entry.offset["kafka_offset"]))))
    return behind
