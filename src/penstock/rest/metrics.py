"""``/metrics``: Kafka Connect's metrics under their names in snake case, and lag and hooks under ours.

Made of what the herder knows when it is asked; in a cluster every worker answers for the states of all connectors, and
for the counters of the tasks it runs.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from penstock.runtime.herder import Herder
from penstock.runtime.metrics import Capacity
from penstock.runtime.requests import ConnectorInfo, ConnectorStatus, LifecycleInfo, NotFound, RequestError, State
from penstock.runtime.sink_lag import Lags

from .answers import Answer
from .metrics_catalog import Families
from .metrics_tasks import add_task, add_worker
from .metrics_text import CONTENT_TYPE, exposition
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
    """Asks for what others must find out; the text is made on another thread, as it may be long."""
    known, families = _known(herder), Families()
    await _add_spark(families, herder)
    await _add_healths(families, herder, [info.name for info, _ in known])
    await _add_lags(families, herder, [info.name for info, _ in known if info.type == "sink"])
    return Answer(200, await asyncio.to_thread(_text, herder, known, families), content_type=CONTENT_TYPE)


def _text(herder: Herder, known: Sequence[Known], families: Families) -> bytes:
    families.add("kafka_connect_app_info", 1, **herder.server_info())
    _add_workers(families, herder.worker_id, known)
    add_worker(families, herder.worker_id, herder.worker_metrics(), herder.group())
    _add_connectors(families, known)
    made_of = {info.name: _about(info, status) for info, status in known}
    for measured in herder.measured():
        add_task(families, measured, made_of.get(measured.task.connector, {}))
    _add_hooks(families, herder, known)
    return exposition(families.all())


def _known(herder: Herder) -> list[Known]:
    """Every connector that has a status; one that goes meanwhile is left out."""
    found: list[Known] = []
    for name in sorted(herder.connectors()):
        try:
            found.append((herder.connector_info(name), herder.connector_status(name)))
        except NotFound:
            continue
    return found


def _about(info: ConnectorInfo, status: ConnectorStatus) -> dict[str, str | None]:
    return {
        "connector_class": info.config.get("connector.class"),
        "connector_version": status.connector.version,
    }


def _add_workers(families: Families, own: str, known: Sequence[Known]) -> None:
    """This worker and all that have some work."""
    owners = Counter(status.connector.worker_id for _, status in known)
    hosts = Counter(task.worker_id for _, status in known for _, task in status.tasks)
    for worker in sorted({own} | owners.keys() | hosts.keys()):
        families.add("kafka_connect_worker_connector_count", owners[worker], worker_id=worker)
        families.add("kafka_connect_worker_task_count", hosts[worker], worker_id=worker)


def _add_connectors(families: Families, known: Sequence[Known]) -> None:
    for info, status in known:
        families.add(
            "kafka_connect_connector_status",
            1,
            connector=info.name,
            connector_type=info.type,
            **_about(info, status),
            status=status.connector.state.value.lower(),
        )
        families.add("kafka_connect_worker_connector_total_task_count", len(status.tasks), connector=info.name)
        found = Counter(task.state for _, task in status.tasks)
        for word, counted in _COUNTED.items():
            families.add(f"kafka_connect_worker_connector_{word}_task_count", found[counted], connector=info.name)
        for number, task in status.tasks:
            labels = {"connector": info.name, "task": number, "worker_id": task.worker_id}
            families.add("kafka_connect_connector_task_status", 1, **labels, status=task.state.value.lower())


async def _add_healths(families: Families, herder: Herder, names: Sequence[str]) -> None:
    """Of all connectors, without asking other workers; nothing when this one does not answer in time."""
    try:
        found = await answer_of(herder.connector_healths(names, others=False), LAG_SECONDS)
    except RequestError:
        return
    for name, health in found.items():
        families.add("penstock_connector_health", 1, connector=name, health=health.health)
        families.add("penstock_connector_automatic_restarts", health.restarts, connector=name)


async def _add_spark(families: Families, herder: Herder) -> None:
    """Nothing when Spark does not answer in time."""
    try:
        found = await answer_of(herder.spark_capacity(), LAG_SECONDS)
    except RequestError:
        return
    _add_capacity(families, herder.worker_id, found)


def _add_capacity(families: Families, worker: str, found: Capacity) -> None:
    values = {
        "executors": found.executors,
        "slots": found.slots,
        "slots_reserved": found.reserved,
        "works_waiting": found.waiting,
    }
    for name, value in values.items():
        families.add(f"penstock_spark_{name}", value, worker_id=worker)
    for state, lanes in (("busy", found.busy), ("idle", found.idle), ("pending", found.pending)):
        families.add("penstock_spark_lanes", lanes, worker_id=worker, state=state)


def _add_hooks(families: Families, herder: Herder, known: Sequence[Known]) -> None:
    for info, _ in known:
        try:
            found = herder.lifecycle(info.name)
        except RequestError:
            continue
        hook, state = _hook_state(found)
        if state is not None:
            families.add("penstock_lifecycle_hook_state", 1, connector=info.name, hook=hook, state=state)
        pending = found.pending
        if pending is not None:
            families.add("penstock_lifecycle_hook_tries", pending.tries, connector=info.name, hook=pending.hook)
    families.add("penstock_lifecycle_cleanups", len(herder.cleanups()))


def _hook_state(found: LifecycleInfo) -> tuple[str | None, str | None]:
    """The hook that has something to do and how it is; no state at all for a connector that has not begun."""
    if found.pending is not None:
        return found.pending.hook, "running" if found.pending.error is None else "failed"
    if found.next_hook is not None:
        return found.next_hook, "due"
    return None, None if found.active is None else "active"


async def _add_lags(families: Families, herder: Herder, sinks: Sequence[str]) -> None:
    """What sinks have still to put. A lag that is not known is left out, and counted."""
    found = await asyncio.gather(*(_lag(herder, name) for name in sinks), return_exceptions=True)
    for name, places in zip(sinks, found, strict=True):
        if isinstance(places, BaseException) and not isinstance(places, RequestError):
            raise places
        known = {} if isinstance(places, RequestError) else places
        for at, behind in sorted(known.items()):
            if behind is not None:
                labels = {"connector": name, "topic": at.topic, "partition": at.partition}
                families.add("penstock_sink_record_lag", behind, **labels)
        if isinstance(places, RequestError) or None in known.values():
            families.add("penstock_sink_record_lag_unknown", 1, connector=name)


async def _lag(herder: Herder, name: str) -> Lags:
    return await answer_of(herder.sink_lag(name), LAG_SECONDS)
