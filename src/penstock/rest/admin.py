"""``/admin/loggers``: live log levels."""

from __future__ import annotations

import logging
from typing import get_args

from penstock.runtime.herder import Herder

from .answers import Answer, ok
from .bodies import Level
from .problems import HttpProblem, bad_request
from .request import Request

_LEVELS = frozenset(get_args(Level))
_log = logging.getLogger(__name__)


def list_loggers(herder: Herder, request: Request) -> Answer:
    return ok(dict(sorted(herder.loggers().items())))


def get_logger(herder: Herder, request: Request) -> Answer:
    return ok(herder.logger(request.name))


def set_logger(herder: Herder, request: Request) -> Answer:
    level: str | None = request.body
    if level is None:
        raise bad_request("Desired 'level' parameter was not specified in request.")
    if level.upper() not in _LEVELS:
        raise HttpProblem(404, f"invalid log level '{level}'.")
    scope = (request.first("scope") or "worker").lower()
    if scope not in ("worker", "cluster"):
        _log.warning("Unknown scope %r for a log level, the level is set on this worker only", scope)
    changed = herder.set_logger(request.name, level.upper(), cluster=scope == "cluster")
    return Answer(204) if scope == "cluster" else ok(sorted(changed))
