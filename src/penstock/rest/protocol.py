"""uvicorn's HTTP protocol with bounds on headers, and with JSON for requests that are not HTTP."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from .answers import to_json
from .problems import ErrorMessage

_MAX_HEADER_BYTES = 64 * 1024
_LINGER_SECONDS = 2.0
_HEADER_SECONDS = 30.0


class RestProtocol(HttpToolsProtocol):
    """Refuses a request whose line and headers grow beyond 64 KiB or take longer than 30 seconds.

    A refused connection is read for a moment longer: closing it with bytes unread would reset it, and the client
    would never see why.
    """

    _between_messages = True
    _in_headers = False
    _refused = False
    _header_bytes = 0
    _fresh_bytes = 0
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_expecting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self._in_headers:
            self._header_bytes += len(data)
        self._fresh_bytes = len(data) if self._between_messages else 0
        super().data_received(data)
        if self._in_headers and self._header_bytes > _MAX_HEADER_BYTES and not self._refused:
            self._refuse(431, f"The request line and headers are longer than {_MAX_HEADER_BYTES} bytes")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._between_messages = False
        self._in_headers = True
        self._header_bytes, self._fresh_bytes = self._fresh_bytes, 0
        self._expect_headers()

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._stop_expecting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._between_messages = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "The request is not valid HTTP/1.1: its request line, headers or length cannot be read")

    def _expect_headers(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(_HEADER_SECONDS, self._give_up)

    def _stop_expecting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        """Nobody may hold a connection by sending a request that never gets complete."""
        if self._in_headers and not self._refused:
            self._refuse(408, f"The request line and headers did not arrive within {_HEADER_SECONDS:g} seconds")
        else:
            self.transport.close()

    def _refuse(self, status: int, message: str) -> None:
        self._refused = True
        body = to_json(ErrorMessage(status, message))
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self.loop.call_later(_LINGER_SECONDS, self.transport.close)
        else:
            self.transport.close()
