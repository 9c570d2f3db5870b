"""The health of connectors whose parts run on several workers: each worker is asked for what it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from urllib.parse import quote

import msgspec

from .forwarding import InternalClient
from .health import ConnectorHealth, PartHealth, TaskHealth, judge
from .requests import State

log = logging.getLogger(__name__)

ASK_SECONDS = 3.0

Healths = dict[str, ConnectorHealth]


class ClusterHealth:
    """Completes what one worker knows. A worker that does not answer in time leaves what its statuses tell."""

    def __init__(self, internal: InternalClient, protocol: str) -> None:
        self._internal = internal
        self._protocol = protocol

    async def completed(self, known: Mapping[str, ConnectorHealth]) -> Healths:
        """The same with what other workers say of their parts."""
        workers = sorted({worker for health in known.values() for worker in _elsewhere(health)})
        answers = await asyncio.gather(*(self._ask(worker, known) for worker in workers))
        told = dict(zip(workers, answers, strict=True))
        return {name: _merged(health, told) for name, health in known.items()}

    async def _ask(self, worker: str, known: Mapping[str, ConnectorHealth]) -> Healths:
        url = f"{self._protocol}://{worker}"
        try:
            if len(known) == 1:
                (name,) = known
                path = f"/connectors/{quote(name, safe='')}/health"
                answer = await asyncio.wait_for(self._internal.ask(url, path), ASK_SECONDS)
                return {name: msgspec.convert(answer, ConnectorHealth)}
            answer = await asyncio.wait_for(self._internal.ask(url, "/connectors", expand="health"), ASK_SECONDS)
            return {name: msgspec.convert(one["health"], ConnectorHealth) for name, one in answer.items()}
        except Exception as error:
            log.debug("%s did not tell the health of its tasks: %r", worker, error)
            return {}


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
