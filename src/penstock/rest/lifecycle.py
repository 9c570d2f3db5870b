"""``/connectors/{name}/lifecycle`` and ``/lifecycle``: what hooks have done and have to do."""

from __future__ import annotations

from penstock.runtime.herder import Herder

from .answers import Answer, ok
from .request import Request
from .waiting import answer_of


async def get_lifecycle(herder: Herder, request: Request) -> Answer:
    return ok(herder.lifecycle(request.name))


async def list_cleanups(herder: Herder, request: Request) -> Answer:
    return ok(list(herder.cleanups()))


async def give_up_cleanup(herder: Herder, request: Request) -> Answer:
    await answer_of(herder.give_up_cleanup(request.name))
    return Answer(204)
