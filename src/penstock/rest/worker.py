"""``/``, ``/health``, ``/user``, ``/workers`` and the endpoints that workers keep for each other."""

from __future__ import annotations

from penstock.runtime.forwarding import CONFIG_POSITION
from penstock.runtime.herder import Herder
from penstock.runtime.requests import TimedOut
from penstock.runtime.session_keys import ALGORITHM, SIGNATURE

from .answers import Answer, ok, to_json
from .models import HealthView, UserView
from .problems import bad_request
from .request import Request
from .users import Role
from .waiting import HEALTH_SECONDS, answer_of

_UNHEALTHY = "Worker was unable to handle this request and may be unable to handle other requests."


def server_info(herder: Herder, request: Request) -> Answer:
    return ok(herder.server_info())


async def health(herder: Herder, request: Request) -> Answer:
    try:
        found = await answer_of(herder.health(), HEALTH_SECONDS)
    except TimedOut:
        return Answer(500, to_json(HealthView("unhealthy", _UNHEALTHY)))
    return Answer(found.http_status, to_json(HealthView(found.status, found.message)))


def get_user(herder: Herder, request: Request) -> Answer:
    return ok(UserView(request.user, Role.ADMIN if request.sees_secrets else Role.READ_ONLY))


async def list_workers(herder: Herder, request: Request) -> Answer:
    workers = await answer_of(herder.workers())
    return ok(list(workers))


def raw_body(body: bytes) -> bytes:
    """Signed requests are checked byte by byte before anybody reads them."""
    return body


async def put_task_configs(herder: Herder, request: Request) -> Answer:
    headers = _signature(request)
    position = request.header(CONFIG_POSITION.encode())
    if position is not None:
        headers[CONFIG_POSITION] = position.decode("latin-1")
    await answer_of(herder.take_task_configs(request.name, request.body, headers))
    return Answer(204)


async def fence_zombies(herder: Herder, request: Request) -> Answer:
    await answer_of(herder.fence_zombies(request.name, b"", _signature(request)))
    return Answer(204)


def _signature(request: Request) -> dict[str, str]:
    """The headers that sign a request between workers."""
    found = {name: request.header(name.encode()) for name in (SIGNATURE, ALGORITHM)}
    if None in found.values():
        raise bad_request("Internal request missing required signature")
    return {name: value.decode("latin-1") for name, value in found.items() if value is not None}
