"""Whom a request is meant for, and which page makes a browser send it."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .problems import HttpProblem
from .request import Request
from .response_headers import Cors

READS = frozenset({"GET", "HEAD", "OPTIONS"})
_SHOWN = 100
_NAMES = "own_names"
_STRANGE = "Pages of other origins may not change anything here. access.control.allow.origin names those that may."


@dataclass(frozen=True)
class LocalApp:
    """An application on a listener that only this machine reaches: it answers to its own names alone.

    A web page can have its own name resolved to this machine ("DNS rebinding"), and would then be of the same origin as
    the worker. The name it was opened by stays in ``Host``.
    """

    app: Callable[..., Awaitable[None]]
    names: frozenset[str]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app({**scope, _NAMES: self.names}, receive, send)


def own_names(configured: Iterable[str]) -> frozenset[str]:
    """The names of a worker on this machine, in lower case: the usual one and what the configuration names."""
    return frozenset({"localhost", *(name.lower() for name in configured if name)})


def is_loopback(host: str) -> bool:
    """Whether this is an address that other machines do not reach."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_source(scope: Mapping[str, Any], request: Request, cors: Cors) -> None:
    """Raises an ``HttpProblem`` (403) for what a browser was talked into asking."""
    names = scope.get(_NAMES)
    if names is not None:
        _check_host(request, names)
    if scope["method"] not in READS:
        _check_origin(request, cors)


def _check_host(request: Request, names: frozenset[str]) -> None:
    given = (request.header(b"host") or b"").decode("latin-1").strip()
    if not given:
        return
    host = given[1:].partition("]")[0] if given.startswith("[") else given.partition(":")[0]
    if host.lower() not in names and not is_loopback(host):
        raise HttpProblem(
            403,
            f"This worker listens on its own machine only and is not called {host[:_SHOWN]}. Ask it as localhost, or "
            "name that host in rest.advertised.host.name of the worker configuration.",
        )


def _check_origin(request: Request, cors: Cors) -> None:
    """Browsers send what a page of somebody else makes them ask, with a password they know."""
    origin = request.header(b"origin")
    site, host = request.header(b"sec-fetch-site"), request.header(b"host")
    if site is not None:
        strange = site not in (b"same-origin", b"none")
    else:
        strange = origin is not None and origin.partition(b"://")[2] != host
    if strange and not (origin is not None and cors.headers(origin, preflight=False)):
        raise HttpProblem(403, _STRANGE)
