"""``/``, ``/health`` and the endpoints that workers keep for each other."""

from __future__ import annotations

from penstock.runtime.herder import Herder
from penstock.runtime.requests import TimedOut

from .answers import Answer, ok, to_json
from .models import HealthView
from .problems import bad_request
from .request import Request
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


def put_task_configs(herder: Herder, request: Request) -> Answer:
    _signed(request)
    raise bad_request("Kafka Connect in standalone mode does not support externally setting task configurations.")


def fence_zombies(herder: Herder, request: Request) -> Answer:
    _signed(request)
    raise bad_request("Kafka Connect in standalone mode does not support exactly-once source connectors.")


def _signed(request: Request) -> None:
    signature = request.header(b"x-connect-authorization")
    algorithm = request.header(b"x-connect-request-signature-algorithm")
    if signature is None or algorithm is None:
        raise bad_request("Internal request missing required signature")
