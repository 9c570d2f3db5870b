"""``/connector-plugins``: what is installed, its keys, and checking a configuration."""

from __future__ import annotations

from penstock.runtime.herder import Herder

from .answers import Answer, ok
from .request import Request
from .waiting import answer_of


def list_plugins(herder: Herder, request: Request) -> Answer:
    return ok(herder.plugins(request.flag("connectorsOnly", default=True)))


async def get_plugin_config(herder: Herder, request: Request) -> Answer:
    keys = await answer_of(herder.plugin_config(request.name, request.first("version")))
    return ok(keys)


async def validate(herder: Herder, request: Request) -> Answer:
    return ok(await answer_of(herder.validate(request.name, request.body)))
