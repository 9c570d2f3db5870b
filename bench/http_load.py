"""A small HTTP client that is fast enough to measure a server: keep-alive, one request, many times."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from typing import cast
from urllib.parse import urlsplit

import uvloop

PATIENCE_SECONDS = 30.0
"""How long the last answers may take after the time is over."""

_END_OF_HEAD = b"\r\n\r\n"


@dataclass(slots=True)
class Answers:
    """How long each request took, in milliseconds, and how long all took together, in seconds."""

    milliseconds: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def per_second(self) -> float:
        return len(self.milliseconds) / self.seconds


def get_repeatedly(url: str, connections: int, seconds: float, pause: float = 0.0) -> Answers:
    """GET ``url`` on each connection, again when the answer is there and after ``pause``."""
    return uvloop.run(_get_repeatedly(url, connections, seconds, pause))


async def _get_repeatedly(url: str, connections: int, seconds: float, pause: float) -> Answers:
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    request = f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: application/json\r\n\r\n".encode()
    loop = asyncio.get_running_loop()
    answers = Answers()
    began = time.perf_counter()
    clients = [_Client(request, answers, began + seconds, pause) for _ in range(connections)]
    for client in clients:
        await loop.create_connection(partial(_itself, client), host, port)
    await asyncio.wait_for(asyncio.gather(*(client.done for client in clients)), seconds + PATIENCE_SECONDS)
    answers.seconds = time.perf_counter() - began
    return answers


class _Client(asyncio.Protocol):
    def __init__(self, request: bytes, answers: Answers, deadline: float, pause: float) -> None:
        self._request = request
        self._answers = answers
        self._deadline = deadline
        self._pause = pause
        self._sent = 0.0
        self._received = b""
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(_END_OF_HEAD)
        if not end or len(body) < _content_length(head):
            return
        now = time.perf_counter()
        self._answers.milliseconds.append(1000 * (now - self._sent))
        self._received = b""
        if not head.startswith(b"HTTP/1.1 200"):
            self._end(RuntimeError(f"Not a 200: {head[:100]!r}"))
        elif now >= self._deadline:
            self._end(None)
        elif self._pause:
            self._loop.call_later(self._pause, self._send)
        else:
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed the connection"))

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self._transport.write(self._request)

    def _end(self, error: Exception | None) -> None:
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)
        self._transport.close()


def _itself(client: _Client) -> _Client:
    return client


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise RuntimeError(f"An answer without Content-Length: {head[:200]!r}")
