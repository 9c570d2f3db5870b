"""Requests that are tried again while that makes sense, and answers that do not fill the memory."""

from __future__ import annotations

import email.utils
import logging
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from penstock.api import PluginError, RetriableError

from .keys import HEADERS, SHARED, prefixed

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger(__name__)

_PASSING = frozenset({408, 425, 429})
_SHOWN_BYTES = 300


@dataclass(frozen=True)
class Answer:
    """What a service said. ``next_link`` is the address in a ``Link`` header with ``rel="next"``."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    next_link: str | None = None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in _PASSING or self.status >= 500

    @property
    def phrase(self) -> str:
        """The status in words."""
        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return str(self.status)


def refusal(method: str, url: str, answer: Answer) -> PluginError:
    """The error for an answer that will not change: what was asked of whom, and what they said."""
    said = answer.body[:_SHOWN_BYTES].decode("utf-8", "replace").strip()
    hint = ""
    if answer.status in (401, 403):
        hint = " Check auth.type and the keys that belong to it."
    elif 300 <= answer.status < 400:
        hint = f" Redirects are not followed; use the address {answer.headers.get('location', 'it leads to')} itself."
    return PluginError(f"{method} {shown(url)} answered {answer.phrase}{': ' + said if said else ''}.{hint}")


def shown(url: str) -> str:
    """An address for messages: without its query, where secrets may be."""
    return url.partition("?")[0]


class HttpClient:
    """Sends the requests of one task or hook; ``settings`` are those of the connector.

    Connections are kept for the next request. Not to be shared between threads.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        own = SHARED.parse(settings)
        self._headers = prefixed(settings, HEADERS)
        self._chosen = {name.lower() for name in self._headers}
        self._auth = _auth_headers(own)
        self._basic = (own["auth.user"], own["auth.password"].value) if own["auth.type"] == "basic" else None
        self._ca_file: str = own["tls.ca.file"]
        self._connect_seconds = own["http.connect.timeout.ms"] / 1000
        self._read_seconds = own["http.read.timeout.ms"] / 1000
        self._max_bytes: int = own["http.answer.max.bytes"]
        self._tries: int = own["retry.max"] + 1
        self._backoff = own["retry.backoff.ms"] / 1000
        self._longest_backoff = own["retry.backoff.max.ms"] / 1000
        self._client: httpx2.Client | None = None

    def __enter__(self) -> HttpClient:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections; the next request opens new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def request(
        self,
        method: str,
        url: str,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        tries: int | None = None,
    ) -> Answer:
        """The answer, whatever its status, unless that may pass: then ``RetriableError`` after some tries.

        ``headers`` are those that the user did not choose with ``http.headers.``.
        """
        tries = tries or self._tries
        for number in range(1, tries + 1):
            pause = min(self._backoff * 2 ** min(number - 1, 16), self._longest_backoff)
            try:
                answer = self._send(method, url, params, body, headers or {})
            except _NoAnswer as error:
                reason = f"no answer: {error}"
            else:
                if not answer.passing:
                    return answer
                reason = str(refusal(method, url, answer))
                pause = min(_retry_after(answer, pause), self._longest_backoff)
            if number < tries:
                log.info("%s %s will be tried again in %g s: %s", method, shown(url), pause, reason)
                time.sleep(pause)
        raise RetriableError(f"{method} {shown(url)} had no success in {tries} tries; the last time: {reason}")

    def _send(
        self, method: str, url: str, params: Mapping[str, str] | None, body: bytes | None, headers: Mapping[str, str]
    ) -> Answer:
        import httpx2

        try:
            address = httpx2.URL(url).copy_merge_params(params or {})
            ours = {name: value for name, value in headers.items() if name.lower() not in self._chosen}
            with self._open().stream(method, address, content=body, headers=ours) as response:
                content = self._read(method, url, response)
                link = response.links.get("next", {}).get("url")
                return Answer(response.status_code, content, dict(response.headers), link)
        except httpx2.TransportError as error:
            self.close()
            raise _NoAnswer(f"{type(error).__name__} {error}".strip()) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise PluginError(f"{method} {shown(url)} cannot be sent: {error}") from error

    def _read(self, method: str, url: str, response: httpx2.Response) -> bytes:
        content = bytearray()
        for piece in response.iter_bytes():
            content += piece
            if len(content) > self._max_bytes:
                raise PluginError(
                    f"The answer to {method} {shown(url)} is longer than {self._max_bytes} bytes. Ask for smaller"
                    " pages, or raise http.answer.max.bytes."
                )
        return bytes(content)

    def _open(self) -> httpx2.Client:
        if self._client is None:
            import httpx2

            quiet = logging.getLogger("httpx2")
            if quiet.level == logging.NOTSET:
                quiet.setLevel(logging.WARNING)
            self._client = httpx2.Client(
                headers={**self._headers, **self._auth},
                auth=self._basic,
                timeout=httpx2.Timeout(self._read_seconds, connect=self._connect_seconds),
                verify=_trusting(self._ca_file),
            )
        return self._client


class _NoAnswer(Exception):
    """The connection failed or took too long."""


def _auth_headers(own: Mapping[str, Any]) -> dict[str, str]:
    if own["auth.type"] == "bearer":
        return {"Authorization": f"Bearer {own['auth.token'].value}"}
    if own["auth.type"] == "header":
        return {own["auth.header.name"]: own["auth.header.value"].value}
    return {}


@lru_cache(maxsize=8)
def _trusting(ca_file: str) -> ssl.SSLContext:
    """The authorities to trust; kept, since reading them takes longer than most requests."""
    import httpx2

    if not ca_file:
        return httpx2.create_ssl_context()
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise PluginError(f"tls.ca.file {ca_file} cannot be used: {error}") from error


def _retry_after(answer: Answer, otherwise: float) -> float:
    """Seconds that the service asks us to wait: a number, or a date."""
    asked = answer.headers.get("retry-after", "").strip()
    if asked.isdigit():
        return float(asked)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(asked).timestamp() - time.time())
    except (TypeError, ValueError):
        return otherwise


def same_origin(one: str, other: str) -> bool:
    """Whether two addresses lead to the same service."""
    return _origin(one) == _origin(other)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or default
