"""The ASGI application: routing, content negotiation, bodies, failures, the access log."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from typing import Any

from penstock.runtime.herder import Herder
from penstock.runtime.logging import ACCESS_LOG
from penstock.runtime.requests import RequestError

from . import forwarding
from .access import Access
from .answers import JSON, Answer, to_json
from .negotiation import accepts_json, is_json, prefers_plain_text
from .openapi import openapi_document
from .origins import READS, check_source
from .problems import (
    ClientGone,
    ErrorMessage,
    HttpProblem,
    method_not_allowed,
    not_acceptable,
    not_found,
    too_large,
    unsupported_media_type,
)
from .request import Request, parse_query, path_segments
from .response_headers import Header, apply_rules
from .routing import Reply, Route, Router
from .settings import RestSettings
from .static_files import StaticFiles

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_MAX_TARGET = 32 * 1024
_MAX_DRAINED = 64 * 1024 * 1024
_THREAD_PARSE = 256 * 1024
_BODY_SECONDS = 90.0
_WORDS_WITHOUT_BODY = frozenset({204, 304})
_INTERNAL_ERROR = "The worker failed to handle this request because of an error of its own; its log has the details."

log = logging.getLogger(__name__)
access_log = logging.getLogger(ACCESS_LOG)


class RestApp:
    """Answers every request of the given routes with a call of ``herder``, and those of ``page`` with a file."""

    def __init__(
        self, herder: Herder, settings: RestSettings, routes: Iterable[Route], page: StaticFiles | None = None
    ) -> None:
        self._herder = herder
        self._page = page
        self._settings = settings
        self._access = None if settings.access is None else Access(settings.access, settings.cors, herder)
        self._forwarder = forwarding.Forwarder(settings)
        table = tuple(routes)
        version = herder.server_info().get("version", "")
        document = to_json(openapi_document(table, version, with_users=self._access is not None))
        self._router = Router([*table, _document_route(document)])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} is not served")
        started = time.perf_counter()
        try:
            answer = await self._safe_answer(scope, receive)
        except ClientGone:
            return
        await send({"type": "http.response.start", "status": answer.status, "headers": self._headers(scope, answer)})
        body = b"" if scope["method"] == "HEAD" else answer.body
        await send({"type": "http.response.body", "body": body})
        level = logging.DEBUG if scope["method"] in READS and answer.status < 400 else logging.INFO
        if access_log.isEnabledFor(level):
            _note(level, scope, answer, time.perf_counter() - started)

    async def _safe_answer(self, scope: Scope, receive: Receive) -> Answer:
        try:
            return await self._answer(scope, receive)
        except ClientGone:
            raise
        except HttpProblem as problem:
            return Answer(problem.status, to_json(ErrorMessage(problem.status, str(problem))), problem.headers)
        except RequestError as error:
            return Answer(error.status, to_json(ErrorMessage(error.status, str(error))))
        except asyncio.CancelledError:
            return Answer(500, to_json(ErrorMessage(500, "Worker is shutting down")))
        except Exception:
            log.exception("%s %s failed", scope["method"], _target(scope))
            return Answer(500, to_json(ErrorMessage(500, _INTERNAL_ERROR)))

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        raw_path, query = scope["raw_path"], scope["query_string"]
        if len(raw_path) + len(query) > _MAX_TARGET:
            raise HttpProblem(414, f"The path and query are longer than {_MAX_TARGET} bytes")
        request = Request(headers=scope["headers"], scheme=scope["scheme"])
        check_source(scope, request, self._settings.cors)
        if self._page is not None and self._page.owns(raw_path):
            await self._admit(scope, request)
            return await asyncio.to_thread(self._page.answer, scope["method"], raw_path, scope["headers"])
        endpoint = self._router.find(path_segments(raw_path), request)
        method = scope["method"]
        route = None if endpoint is None else endpoint.routes.get("GET" if method == "HEAD" else method)
        await self._admit(scope, request, route)
        if endpoint is None:
            raise not_found()
        if route is None:
            if method == "OPTIONS":
                return _options(endpoint.allow, _header(scope, b"accept"))
            raise method_not_allowed(endpoint.allow)
        _negotiate(route, scope)
        if query:
            request.query = parse_query(query)
        body = b""
        if route.body is not None:
            body = await self._read(scope, receive)
            if body and not _header(scope, b"content-type"):
                raise unsupported_media_type()
            large = len(body) > _THREAD_PARSE
            request.body = await asyncio.to_thread(route.body.parse, body) if large else route.body.parse(body)
        left = functools.partial(_left, receive)
        return await forwarding.answer(self._herder, self._forwarder, route, request, scope, body, left)

    async def _admit(self, scope: Scope, request: Request, route: Route | None = None) -> None:
        if self._access is not None:
            try:
                await self._access.admit(scope, request, route)
            finally:
                scope["user"] = request.user

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        limit = self._settings.max_request_bytes
        try:
            return await asyncio.wait_for(_read_body(scope, receive, limit), _BODY_SECONDS)
        except TimeoutError:
            raise HttpProblem(408, "The request body did not arrive in time", [(b"connection", b"close")]) from None

    def _headers(self, scope: Scope, answer: Answer) -> list[Header]:
        headers = list(answer.headers)
        if answer.body:
            headers.append((b"content-type", answer.content_type))
        if answer.status not in _WORDS_WITHOUT_BODY:
            headers.append((b"content-length", b"%d" % len(answer.body)))
        if self._settings.cors.origins:
            origin = _header(scope, b"origin")
            if origin:
                preflight = scope["method"] == "OPTIONS" and bool(_header(scope, b"access-control-request-method"))
                headers += self._settings.cors.headers(origin, preflight)
        return apply_rules(headers, self._settings.header_rules) if self._settings.header_rules else headers


def _document_route(document: bytes) -> Route:
    def openapi(herder: Herder, request: Request) -> Answer:
        return Answer(200, document)

    return Route("GET", "/openapi.json", "This document", openapi, {200: Reply("The document")}, json_only=False)


def _options(allow: bytes, accept: bytes) -> Answer:
    if prefers_plain_text(accept):
        return Answer(200, allow, [(b"allow", allow)], b"text/plain")
    return Answer(200, b"", [(b"allow", allow), (b"content-type", JSON)])


def _negotiate(route: Route, scope: Scope) -> None:
    accept: Sequence[bytes] = ()
    for name, value in scope["headers"]:
        if name == b"accept":
            accept = [*accept, value]
        elif name == b"content-type" and route.json_only and value.strip() and not is_json(value):
            raise unsupported_media_type()
    if accept and not accepts_json(b",".join(accept)):
        raise not_acceptable()


def _header(scope: Scope, wanted: bytes) -> bytes:
    return b",".join(value for name, value in scope["headers"] if name == wanted)


async def _read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole body. One that is too large is taken in and dropped within reason, so that the answer arrives."""
    declared = _header(scope, b"content-length")
    length = int(declared) if declared.isdigit() else 0
    if length > limit and (_header(scope, b"expect") or length > _MAX_DRAINED):
        raise too_large(limit)
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        elif size > _MAX_DRAINED:
            raise too_large(limit)
        if not message.get("more_body", False):
            break
    if size > limit:
        raise too_large(limit)
    return b"".join(chunks)


async def _left(receive: Receive) -> None:
    """Ends when the client has left; only once its request was read."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _target(scope: Scope) -> str:
    query = scope["query_string"]
    target = scope["raw_path"] + (b"?" + query if query else b"")
    return str(target[:2048].decode("latin-1").encode("unicode_escape").decode("ascii"))


def _note(level: int, scope: Scope, answer: Answer, seconds: float) -> None:
    client = scope.get("client")
    access_log.log(
        level,
        '%s%s "%s %s HTTP/%s" %d %d %.1f ms',
        client[0] if client else "-",
        f" {scope['user']}" if scope.get("user") else "",
        scope["method"],
        _target(scope),
        scope["http_version"],
        answer.status,
        len(answer.body),
        seconds * 1000,
    )
