"""Requests that another worker of the cluster answers: asked in the caller's place, the answer handed on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2

from penstock.runtime.cluster_reads import PATIENCE_SECONDS
from penstock.runtime.forwarding import TOO_MANY_HOPS, AskAnotherWorker, NoLeader
from penstock.runtime.herder import Herder
from penstock.runtime.requests import Conflict, RequestError, TimedOut

from .answers import Answer
from .problems import ClientGone
from .request import Request
from .routing import Route
from .settings import RestSettings
from .tls import TlsSettings
from .waiting import REQUEST_SECONDS, answer_of

HANDED_ON = (b"authorization", b"x-connect-authorization", b"x-connect-request-signature-algorithm")
SHARED = ("/connectors", "/lifecycle", "/pipelines")
"""Routes that show what all workers share."""
LOOK_SECONDS = 0.25


class NobodyListens(RequestError):
    """The other worker is not there, so nothing was sent: the request can be done by whoever takes its place."""


class Forwarder:
    """One HTTP client for all other workers. Lives on the REST server's loop."""

    def __init__(self, settings: RestSettings) -> None:
        self._tls = settings.main.tls
        self._http: httpx2.AsyncClient | None = None

    async def ask(self, url: str, scope: Mapping[str, Any], request: Request, body: bytes) -> Answer:
        """The answer of the worker at ``url``. ``Conflict`` when the request has come too far already.

        Raises ``NobodyListens`` when the connection is refused.
        """
        hops = request.first("forward")
        if hops is not None and hops.lower() != "true":
            raise Conflict(TOO_MANY_HOPS)
        if self._http is None:
            self._http = httpx2.AsyncClient(timeout=REQUEST_SECONDS, verify=client_context(self._tls))
        query = {**request.query, "forward": ["false" if hops else "true"]}
        target = f"{url.rstrip('/')}{scope['raw_path'].decode('ascii')}?{urlencode(query, doseq=True)}"
        try:
            answer = await self._http.request(scope["method"], target, content=body, headers=_headers(request))
        except httpx2.HTTPError as error:
            failure = NobodyListens if _is_refused(error) else RequestError
            raise failure(f"IO Error trying to forward REST request: {error!r} ({url})") from error
        return Answer(answer.status_code, _body(answer), _location(answer, request))


def _is_refused(error: httpx2.HTTPError) -> bool:
    """Whether there was no connection, for the other worker's machine has refused it."""
    refused = any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error))
    return refused and isinstance(error, httpx2.ConnectError)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and all that it came of: more than one thing where several addresses were tried."""
    yield error
    for cause in (*getattr(error, "exceptions", ()), error.__cause__ or error.__context__):
        if cause is not None:
            yield from _causes(cause)


def client_context(tls: TlsSettings | None) -> ssl.SSLContext:
    """How other workers with HTTPS are trusted, and what they are shown.

    With a truststore its authorities count and no others. Workers may ask each other for a certificate: it is the one
    of their listeners, as in Kafka Connect.
    """
    if tls is None:
        return ssl.create_default_context()
    if tls.trust is None:
        context = ssl.create_default_context()
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=tls.trust)
    context.check_hostname = tls.check_names
    tls.load_chain(context)
    return context


async def answer(
    herder: Herder,
    forwarder: Forwarder,
    route: Route,
    request: Request,
    scope: Mapping[str, Any],
    body: bytes,
    left: Callable[[], Awaitable[None]],
) -> Answer:
    """Let the handler answer, or another worker. What any worker has answered before is seen by reads on this one.

    Where that worker is gone, the one that takes its place: until somebody has, the request waits, as long as it may
    take anyway, and no longer than its client: ``left`` ends when that has gone.
    """
    if route.method == "GET" and route.path.startswith(SHARED):
        await _know_latest(herder)
    until = time.monotonic() + REQUEST_SECONDS
    gone: NobodyListens | None = None
    leaving: asyncio.Future[None] | None = None
    try:
        while True:
            try:
                return await _answer_now(herder, forwarder, route, request, scope, body)
            except NobodyListens as nobody:
                gone = nobody
            except NoLeader:
                if gone is None:
                    raise
            if time.monotonic() > until:
                raise gone
            leaving = leaving or asyncio.ensure_future(left())
            if (await asyncio.wait({leaving}, timeout=LOOK_SECONDS))[0]:
                raise ClientGone
    finally:
        if leaving is not None:
            leaving.cancel()


async def _answer_now(
    herder: Herder, forwarder: Forwarder, route: Route, request: Request, scope: Mapping[str, Any], body: bytes
) -> Answer:
    try:
        answer = route.handler(herder, request)
        return answer if isinstance(answer, Answer) else await answer
    except AskAnotherWorker as other:
        return await forwarder.ask(other.url, scope, request, body)


async def _know_latest(herder: Herder) -> None:
    """Read what other workers wrote; a broker that does not answer soon holds up nobody."""
    reading = herder.latest()
    if reading is not None:
        with contextlib.suppress(TimedOut):
            await answer_of(reading, PATIENCE_SECONDS)


def _headers(request: Request) -> dict[str, str]:
    handed_on = {name: request.header(name) for name in HANDED_ON}
    headers = {name.decode(): value.decode("latin-1") for name, value in handed_on.items() if value is not None}
    return {**headers, "Accept": "application/json", "Content-Type": "application/json", "User-Agent": "penstock"}


def _body(answer: httpx2.Response) -> bytes:
    """What another worker said; a failure that is not in the API's shape is put into it."""
    if answer.status_code < 400 or not answer.content:
        return answer.content
    try:
        json.loads(answer.content)
        return answer.content
    except ValueError:
        raise RequestError(f"Unexpected status code when handling forwarded request: {answer.status_code}") from None


def _location(answer: httpx2.Response, request: Request) -> Sequence[tuple[bytes, bytes]]:
    """The caller keeps to the worker he asked."""
    location, host = answer.headers.get("location"), request.header(b"host")
    if location is None:
        return ()
    path = urlsplit(location).path.encode()
    return [(b"location", path if host is None else request.scheme.encode() + b"://" + host + path)]
