"""``/connectors/{name}/health``: how a connector is, and why."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.runtime.health import ConnectorHealth
from penstock.runtime.herder import Herder

from .answers import Answer, ok
from .request import Request
from .waiting import answer_of


async def get_connector_health(herder: Herder, request: Request) -> Answer:
    herder.connector_info(request.name)
    return ok((await healths(herder, request, [request.name]))[request.name])


async def healths(herder: Herder, request: Request, names: Sequence[str]) -> dict[str, ConnectorHealth]:
    """Connectors by name. ``forward=false`` keeps to what this worker knows by itself."""
    found = await answer_of(herder.connector_healths(names, others=request.flag("forward", default=True)))
    return dict(found)
