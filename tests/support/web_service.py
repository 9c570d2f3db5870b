"""A small web service for tests of what talks HTTP: pages of events, subscriptions, and a place to post to."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Reply = tuple[int, Mapping[str, str], bytes]


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def reply(content: Any = None, status: int = 200, **headers: str) -> Reply:
    """An answer in JSON; underscores in the names of headers become hyphens."""
    body = b"" if content is None else json.dumps(content).encode()
    return status, {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}, body


@dataclass
class WebService:
    """``GET /events`` gives pages of ``events``, ``/subscriptions/{id}`` keeps what is put there, ``/in`` takes posts.

    ``script`` holds answers for the next requests, whatever they ask for; ``asked`` has every request. It can be taken
    down and brought up again at the same address.
    """

    events: list[Any] = field(default_factory=list)
    subscriptions: dict[str, Any] = field(default_factory=dict)
    script: deque[Reply | Callable[[Asked], Reply]] = field(default_factory=deque)
    asked: list[Asked] = field(default_factory=list)
    accept: Callable[[Asked], Reply] = field(default=lambda asked: reply({}, 200))
    page_size: int = 2
    _server: ThreadingHTTPServer | None = None
    _port: int = 0

    def __enter__(self) -> WebService:
        self.up()
        return self

    def __exit__(self, *error: object) -> None:
        self.down()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def up(self) -> None:
        """Answer from now on."""
        if self._server is None:
            self._server = _Server(("127.0.0.1", self._port), _handler(self))
            self._port = int(self._server.server_address[1])
            threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def down(self) -> None:
        """Refuse connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def requests(self, method: str, path: str = "") -> list[Asked]:
        """The requests with this method below a path."""
        return [asked for asked in list(self.asked) if asked.method == method and asked.path.startswith(path)]

    def answer(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        if self.script:
            scripted = self.script.popleft()
            return scripted(asked) if callable(scripted) else scripted
        if asked.path.startswith("/subscriptions"):
            return self._subscription(asked)
        if asked.path.startswith("/events"):
            return self._page(asked)
        return self.accept(asked)

    def _page(self, asked: Asked) -> Reply:
        start = int(asked.params.get("cursor") or 0)
        size = int(asked.params.get("limit") or self.page_size)
        items = self.events[start : start + size]
        after = start + len(items) if start + len(items) < len(self.events) else None
        return reply({"data": {"items": items}, "paging": {"next": after}})

    def _subscription(self, asked: Asked) -> Reply:
        identity = asked.path.removeprefix("/subscriptions").strip("/")
        if asked.method == "DELETE":
            known = self.subscriptions.pop(identity, None) is not None
            return reply(None, 204) if known else reply({"error": "unknown"}, 404)
        if asked.method == "POST":
            identity = asked.json["id"]
            if identity in self.subscriptions:
                return reply({"error": "exists"}, 409)
        self.subscriptions[identity] = asked.json
        return reply(self.subscriptions[identity], 201)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True


def _handler(service: WebService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            parts = urlsplit(self.path)
            params = {key: values[-1] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
            headers = {key.lower(): value for key, value in self.headers.items()}
            asked = Asked(self.command, parts.path, params, headers, self.rfile.read(length))
            status, sent, body = service.answer(asked)
            self.send_response(status)
            for name, value in {**sent, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
