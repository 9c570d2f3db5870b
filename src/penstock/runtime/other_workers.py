"""What only the worker knows that runs a task: its health and its log, asked for in a cluster."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from .forwarding import InternalClient
from .health import ConnectorHealth, PartHealth, TaskHealth, judge
from .recent_log import LogLine
from .requests import State

log = logging.getLogger(__name__)

ASK_SECONDS = 3.0

Healths = dict[str, ConnectorHealth]


class OtherWorkers:
    """Completes what one worker knows. One that does not answer in time adds nothing."""

    def __init__(self, internal: InternalClient, protocol: str) -> None:
        self._internal = internal
        self._protocol = protocol

    async def completed(self, known: Mapping[str, ConnectorHealth]) -> Healths:
        """The health of connectors, with what other workers say of their parts."""
        workers = sorted({worker for health in known.values() for worker in _elsewhere(health)})
        answers = await asyncio.gather(*(self._healths(worker, known) for worker in workers))
        told = dict(zip(workers, answers, strict=True))
        return {name: _merged(health, told) for name, health in known.items()}

    async def log_lines(
        self, name: str, lines: int, workers: Sequence[str], known: Sequence[LogLine]
    ) -> Sequence[LogLine]:
        """The last lines of a connector on all these workers, and ``known`` ones, by time."""
        path = f"/connectors/{quote(name, safe='')}/logs"
        answers = await asyncio.gather(*(self._ask(worker, path, lines=str(lines)) for worker in workers))
        told = [line for answer in answers if answer for line in msgspec.convert(answer["lines"], list[LogLine])]
        return sorted([*known, *told], key=lambda line: line.time)[-lines:]

    async def versions(self, workers: Sequence[str]) -> dict[str, str]:
        """The version of each of these workers that answers."""
        answers = await asyncio.gather(*(self._ask(worker, "/") for worker in workers))
        return {worker: str(told["version"]) for worker, told in zip(workers, answers, strict=True) if told}

    async def _healths(self, worker: str, known: Mapping[str, ConnectorHealth]) -> Healths:
        if len(known) == 1:
            (name,) = known
            answer = await self._ask(worker, f"/connectors/{quote(name, safe='')}/health")
            return {name: msgspec.convert(answer, ConnectorHealth)} if answer else {}
        answer = await self._ask(worker, "/connectors", expand="health") or {}
        return {name: msgspec.convert(one["health"], ConnectorHealth) for name, one in answer.items()}

    async def _ask(self, worker: str, path: str, **query: str) -> Any:
        try:
            asking = self._internal.ask(f"{self._protocol}://{worker}", path, **query)
            return await asyncio.wait_for(asking, ASK_SECONDS)
        except Exception as error:
            log.debug("%s did not answer GET %s: %r", worker, path, error)
            return None


def _elsewhere(health: ConnectorHealth) -> set[str]:
    """The workers that know more of some part."""
    parts: list[PartHealth | TaskHealth] = [health.connector, *health.tasks]
    return {part.worker_id for part in parts if not part.live and part.state != State.UNASSIGNED.value}


def _merged(health: ConnectorHealth, told: Mapping[str, Healths]) -> ConnectorHealth:
    """Each part as its own worker sees it."""
    connector = health.connector
    theirs = told.get(connector.worker_id, {}).get(health.name)
    if not connector.live and theirs is not None and theirs.connector.live:
        connector = theirs.connector
    tasks = []
    for task in health.tasks:
        theirs = told.get(task.worker_id, {}).get(health.name)
        same = [] if theirs is None or task.live else [one for one in theirs.tasks if one.id == task.id and one.live]
        tasks.append(same[0] if same else task)
    return judge(health.name, health.type, connector, tasks)
