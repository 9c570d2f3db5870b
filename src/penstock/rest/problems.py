"""Failures of a request that never reach the herder, and the one JSON shape every failure is shown in."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

Headers = Sequence[tuple[bytes, bytes]]


class ErrorMessage(msgspec.Struct):
    """The body of every failed request."""

    error_code: int
    message: str | None


class HttpProblem(Exception):
    """Ends a request with ``status`` and a text for the user."""

    def __init__(self, status: int, message: str, headers: Headers = ()) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


class ClientGone(Exception):
    """The client left before it had its answer."""


def bad_request(message: str) -> HttpProblem:
    return HttpProblem(400, message)


def not_found() -> HttpProblem:
    return HttpProblem(404, "HTTP 404 Not Found")


def method_not_allowed(allow: bytes) -> HttpProblem:
    return HttpProblem(405, "HTTP 405 Method Not Allowed", [(b"allow", allow)])


def not_acceptable() -> HttpProblem:
    return HttpProblem(406, "HTTP 406 Not Acceptable")


def unsupported_media_type() -> HttpProblem:
    return HttpProblem(415, "HTTP 415 Unsupported Media Type")


def too_many_tries(seconds: int) -> HttpProblem:
    text = f"Too many wrong passwords came from this address. Wait {seconds} seconds, then try the right one."
    return HttpProblem(429, text, [(b"retry-after", b"%d" % seconds)])


def too_large(limit: int) -> HttpProblem:
    text = (
        f"The request body is larger than {limit} bytes. Send less, "
        "or raise rest.request.max.bytes in the worker configuration."
    )
    return HttpProblem(413, text, [(b"connection", b"close")])
