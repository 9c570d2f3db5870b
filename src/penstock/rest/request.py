"""A request as handlers see it: names from the path, query parameters, the decoded body."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_to_bytes

from .problems import bad_request

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(slots=True)
class Request:
    """``name`` and ``task`` come from the path; ``body`` is what the route's body parser made.

    ``user`` is who asks, where users are told apart; those who may only read are not shown secrets.
    """

    name: str = ""
    task: int = 0
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    body: Any = None
    headers: Sequence[tuple[bytes, bytes]] = ()
    scheme: str = "http"
    user: str | None = None
    sees_secrets: bool = True

    def flag(self, parameter: str, default: bool = False) -> bool:
        """A boolean parameter: anything but ``true``, in any case, is false."""
        values = self.query.get(parameter)
        return values[0].lower() == "true" if values else default

    def first(self, parameter: str) -> str | None:
        values = self.query.get(parameter)
        return values[0] if values else None

    def header(self, name: bytes) -> bytes | None:
        return next((value for key, value in self.headers if key == name), None)


def unescape(text: str, what: str) -> str:
    """Percent-decode one path segment or parameter, as UTF-8."""
    if "%" not in text:
        return text
    bad = _BAD_ESCAPE.search(text)
    if bad:
        raise bad_request(f"Bad percent escape {text[bad.start() : bad.start() + 3]!r} in the {what}")
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise bad_request(f"The percent escapes in the {what} are not UTF-8") from None


def path_segments(raw_path: bytes) -> list[str]:
    """The decoded segments; one trailing slash is tolerated, an empty segment is not."""
    try:
        parts = raw_path.decode("ascii").split("/")
    except UnicodeDecodeError:
        raise bad_request("Non-ASCII bytes in the path must be percent-encoded") from None
    if parts[0]:
        raise bad_request("The path must begin with a slash")
    segments = parts[1:] if parts[-1] else parts[1:-1]
    if not all(segments):
        raise bad_request("Ambiguous URI empty segment")
    return [unescape(segment, "path") for segment in segments] if b"%" in raw_path else segments


@lru_cache(maxsize=256)
def parse_query(query: bytes) -> Mapping[str, Sequence[str]]:
    """Parameters with all their values, in order. A name without ``=`` has an empty value."""
    found: dict[str, list[str]] = {}
    for pair in query.decode("latin-1").replace("+", " ").split("&"):
        if pair:
            name, _, value = pair.partition("=")
            found.setdefault(unescape(name, "query"), []).append(unescape(value, "query"))
    return found
