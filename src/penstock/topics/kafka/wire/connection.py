"""One connection to one broker: requests go out, answers come back in the same order. Blocking, for one thread."""

from __future__ import annotations

import socket
import struct
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from .fields import Answer, int16, int32, string
from .inflow import Inflow
from .options import Options, tls_context
from .requests import API_VERSIONS, Api, Pieces, read_api_versions
from .sasl import authenticate

IDLE_SECONDS = 300.0
"""Brokers close connections that were idle for ten minutes, unless told otherwise."""

_JOINED_BYTES = 64 << 10
_LARGEST_ANSWER = 1 << 30


class Unsupported(Exception):
    """The broker does not speak the one version of a request that we speak."""


class Connection:
    """Open until ``close``. Every method raises ``OSError`` when the connection is or gets lost, or is too slow."""

    def __init__(self, host: str, port: int, options: Options) -> None:
        self._options = options
        self._awaited: deque[int] = deque()
        self._next = 0
        self._used = time.monotonic()
        self._versions: dict[int, tuple[int, int]] | None = None
        self._socket = _opened(host, port, options)
        self._inflow = Inflow(self._socket)
        try:
            if options.mechanism is not None:
                authenticate(self, options)
            self._versions = read_api_versions(self.ask(API_VERSIONS, b""))
        except BaseException:
            self.close()
            raise

    @property
    def is_stale(self) -> bool:
        """Whether nothing is to come and so long has nothing come that the broker may have closed it."""
        return not self._awaited and time.monotonic() - self._used > IDLE_SECONDS

    def ask(self, api: Api, body: bytes) -> Answer:
        """Send a request and wait for its answer; there must be no other to come."""
        self.send(api, body)
        return self.receive()

    def send(self, api: Api, body: bytes | Pieces) -> None:
        if self._versions is not None:
            _check(api, self._versions)
        head = int16(api.key) + int16(api.version) + int32(self._next) + string(self._options.client_id)
        if isinstance(body, Pieces):
            self._send(int32(len(head) + body.size) + head + body.head, body.records)
        else:
            self._send(int32(len(head) + len(body)) + head + body, ())
        self._awaited.append(self._next)
        self._next = (self._next + 1) & 0x7FFFFFFF

    def receive(self) -> Answer:
        """The answer of the oldest request that has none yet."""
        head = bytearray(8)
        self._inflow.fill(memoryview(head))
        size, number = struct.unpack(">ii", head)
        if not 4 <= size <= _LARGEST_ANSWER or number != self._awaited.popleft():
            raise ConnectionError("the broker answered something that was not asked for")
        data = memoryview(pa.allocate_buffer(size - 4)).cast("B")
        self._inflow.fill(data)
        self._used = time.monotonic()
        return Answer(data)

    def close(self) -> None:
        self._socket.close()

    def _send(self, head: bytes, records: Sequence[Any]) -> None:
        if records and sum(len(part) for part in records) < _JOINED_BYTES:
            head, records = b"".join([head, *records]), ()
        for part in (head, *records):
            self._socket.sendall(part)


def _check(api: Api, versions: dict[int, tuple[int, int]]) -> None:
    oldest, newest = versions.get(api.key, (0, -1))
    if not oldest <= api.version <= newest:
        raise Unsupported(f"request {api.key} in version {api.version}: the broker speaks {oldest} to {newest}")


def _opened(host: str, port: int, options: Options) -> socket.socket:
    plain = socket.create_connection((host, port), options.connect_seconds)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if options.tls is not None:
            plain = tls_context(dict(options.tls)).wrap_socket(plain, server_hostname=host)
        plain.settimeout(options.answer_seconds)
        return plain
    except BaseException:
        plain.close()
        raise
