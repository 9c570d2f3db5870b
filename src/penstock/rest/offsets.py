"""``/connectors/{name}/offsets`` (KIP-875)."""

from __future__ import annotations

from penstock.runtime.herder import Herder

from .answers import Answer, ok
from .models import Message, OffsetsView
from .request import Request
from .waiting import answer_of


async def get_offsets(herder: Herder, request: Request) -> Answer:
    found = await answer_of(herder.offsets(request.name))
    return ok(OffsetsView(list(found)))


async def alter_offsets(herder: Herder, request: Request) -> Answer:
    return ok(Message(await answer_of(herder.alter_offsets(request.name, request.body))))


async def restore_offsets(herder: Herder, request: Request) -> Answer:
    wanted = herder.restore_offsets(request.name, request.flag("force"), request.flag("dryRun"))
    return ok(await answer_of(wanted))


async def reset_offsets(herder: Herder, request: Request) -> Answer:
    return ok(Message(await answer_of(herder.reset_offsets(request.name))))
