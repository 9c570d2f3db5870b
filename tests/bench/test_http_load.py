"""The client that measures a server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bench.http_load import get_repeatedly


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b"{}" * 5000
        self.send_response(200 if self.path == "/fine" else 503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_requests_are_repeated_on_every_connection_until_the_time_is_over(url: str) -> None:
    answers = get_repeatedly(f"{url}/fine", connections=3, seconds=0.3)
    assert len(answers.milliseconds) > 3
    assert min(answers.milliseconds) > 0
    assert answers.seconds >= 0.3
    assert answers.per_second == len(answers.milliseconds) / answers.seconds


def test_pauses_hold_requests_back(url: str) -> None:
    answers = get_repeatedly(f"{url}/fine", connections=1, seconds=0.3, pause=0.1)
    assert 1 <= len(answers.milliseconds) <= 4


def test_an_answer_that_is_not_200_is_no_measurement(url: str) -> None:
    with pytest.raises(RuntimeError, match="503"):
        get_repeatedly(f"{url}/broken", connections=1, seconds=0.3)
