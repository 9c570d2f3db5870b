"""A door to several workers: each request goes to the next one."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_NOT_HANDED_ON = ("connection", "transfer-encoding", "keep-alive")


class RoundRobin:
    """A context manager; ``url`` is the door."""

    def __init__(self, ports: Sequence[int]) -> None:
        turns = itertools.cycle(ports)
        lock = threading.Lock()

        def next_port() -> int:
            with lock:
                return next(turns)

        handler = type("Handler", (_Handler,), {"next_port": staticmethod(next_port)})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> RoundRobin:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    next_port: Any

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        connection = HTTPConnection("127.0.0.1", self.next_port(), timeout=120)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _NOT_HANDED_ON:
                    connection.putheader(name, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            content = answer.read()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in (*_NOT_HANDED_ON, "content-length"):
                    self.send_header(name, value)
            if answer.status not in (204, 304):
                self.send_header("content-length", answer.getheader("content-length") or str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        finally:
            connection.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _pass_on  # noqa: N815

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""
