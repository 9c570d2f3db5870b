"""``/connectors`` and everything under it but offsets."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from penstock.runtime.herder import Herder
from penstock.runtime.requests import (
    ConnectorInfo,
    CreateRequest,
    NotFound,
    RestartRequest,
    TargetState,
)

from .answers import Answer, ok, to_json
from .health import healths
from .models import ActiveTopics, status_view
from .problems import bad_request
from .request import Request
from .statuses import add_restarts, may_restart
from .waiting import answer_of

_HOST = re.compile(rb"[A-Za-z0-9._\-:\[\]]{1,255}")
_PLAIN_IN_PATH = "+&:@!$'()*,;="


def list_connectors(herder: Herder, request: Request) -> Answer | Awaitable[Answer]:
    wanted = request.query.get("expand")
    if wanted is None:
        return ok(list(herder.connectors()))
    expanded = _expanded(herder, request, wanted)
    restarting = [name for name in expanded if may_restart(herder, name)] if "status" in wanted else []
    if not restarting and "health" not in wanted:
        return ok(expanded)
    return _with_health(herder, request, expanded, restarting, "health" in wanted)


async def _with_health(
    herder: Herder, request: Request, expanded: dict[str, dict[str, Any]], restarting: Sequence[str], wanted: bool
) -> Answer:
    """With what only the workers know that run a connector: its restarts, and its health where that is wanted."""
    await add_restarts(herder, request, {name: expanded[name]["status"] for name in restarting})
    if wanted:
        for name, health in (await healths(herder, request, list(expanded))).items():
            expanded[name]["health"] = health
    return ok(expanded)


def _expanded(herder: Herder, request: Request, wanted: Sequence[str]) -> dict[str, dict[str, Any]]:
    expanded: dict[str, dict[str, Any]] = {}
    for name in herder.connectors():
        try:
            expanded[name] = _expansion(herder, request, name, wanted)
        except NotFound:
            continue
    return expanded


def _expansion(herder: Herder, request: Request, name: str, wanted: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in wanted:
        if part == "status":
            found["status"] = status_view(herder.connector_status(name))
        elif part == "info":
            found["info"] = _info(herder, request, name)
    return found


async def create_connector(herder: Herder, request: Request) -> Answer:
    wanted: CreateRequest = request.body
    named = CreateRequest(wanted.name, _named(wanted.config, wanted.name), wanted.initial_state, wanted.offsets)
    return _created(await answer_of(herder.create_connector(named)), request)


def get_connector(herder: Herder, request: Request) -> Answer:
    return ok(_info(herder, request, request.name))


def get_config(herder: Herder, request: Request) -> Answer:
    return ok(_info(herder, request, request.name).config)


def _info(herder: Herder, request: Request, name: str) -> ConnectorInfo:
    """A connector as the caller may see it."""
    info = herder.connector_info(name)
    return info if request.sees_secrets else replace(info, config=herder.masked(info.config))


async def put_config(herder: Herder, request: Request) -> Answer:
    name = request.name
    if "/" in name and name not in herder.connectors():
        raise bad_request(
            f"Connector {name} not found, and a name with a slash cannot be created through the path. "
            "Create it with POST /connectors."
        )
    created, info = await answer_of(herder.put_config(name, _named(request.body, name)))
    return _created(info, request) if created else ok(info)


async def patch_config(herder: Herder, request: Request) -> Answer:
    return ok(await answer_of(herder.patch_config(request.name, request.body)))


async def delete_connector(herder: Herder, request: Request) -> Answer:
    await answer_of(herder.delete_connector(request.name, include_offsets=request.flag("includeOffsets")))
    return Answer(204)


def list_tasks(herder: Herder, request: Request) -> Answer:
    name = request.name
    configs = herder.task_configs(name)
    if not request.sees_secrets:
        own = herder.connector_info(name).config
        configs = [(task, herder.masked(config, own)) for task, config in configs]
    return ok([{"id": {"connector": name, "task": task}, "config": config} for task, config in configs])


async def restart_task(herder: Herder, request: Request) -> Answer:
    await answer_of(herder.restart_task(request.name, request.task))
    return Answer(204)


async def restart_connector(herder: Herder, request: Request) -> Answer:
    wanted = RestartRequest(request.name, request.flag("onlyFailed"), request.flag("includeTasks"))
    plan = await answer_of(herder.restart_connector(wanted))
    return Answer(204) if plan is None else Answer(202, to_json(status_view(plan)))


async def pause(herder: Herder, request: Request) -> Answer:
    await answer_of(herder.set_target_state(request.name, TargetState.PAUSED))
    return Answer(202)


async def resume(herder: Herder, request: Request) -> Answer:
    await answer_of(herder.set_target_state(request.name, TargetState.STARTED))
    return Answer(202)


async def stop(herder: Herder, request: Request) -> Answer:
    await answer_of(herder.set_target_state(request.name, TargetState.STOPPED))
    return Answer(204)


def get_topics(herder: Herder, request: Request) -> Answer:
    return ok({request.name: ActiveTopics(list(herder.active_topics(request.name)))})


async def reset_topics(herder: Herder, request: Request) -> Answer:
    await answer_of(herder.reset_active_topics(request.name))
    return Answer(202)


def _named(config: Mapping[str, str | None], name: str) -> dict[str, str | None]:
    """The configuration with its ``name`` filled in, which must not be another one."""
    given = config.get("name")
    if given is not None and given != name:
        raise bad_request(f"Connector name configuration ({given}) doesn't match connector name in the URL ({name})")
    return {**config, "name": name}


def _created(info: ConnectorInfo, request: Request) -> Answer:
    return Answer(201, to_json(info), [(b"location", _location(info.name, request))])


def _location(name: str, request: Request) -> bytes:
    path = f"/connectors/{quote(name, safe=_PLAIN_IN_PATH)}".encode()
    host = request.header(b"host")
    return path if host is None or not _HOST.fullmatch(host) else request.scheme.encode() + b"://" + host + path
