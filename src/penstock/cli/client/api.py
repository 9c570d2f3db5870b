"""The REST API of a worker, Penstock's or Kafka Connect's, as the client calls it."""

from __future__ import annotations

import difflib
import os
import re
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any
from urllib.parse import quote

import httpx2

from .contexts import Context
from .problems import Refused, Unsupported, Wrong

SECONDS = 120.0
REBALANCE_SECONDS = 60.0
RETRY_SECONDS = 0.25
JSON = "application/json"

_PASSING = ("rebalance", "stale configuration")


class ConnectApi:
    """Calls to one worker. Raises :class:`Refused` with the worker's own text, :class:`Unsupported` for endpoints that
    are not there. Refusals that pass by themselves (a rebalance is under way) are tried again for a while."""

    def __init__(self, context: Context, seconds: float = SECONDS) -> None:
        self.url = context.url.rstrip("/")
        try:
            self._http = httpx2.Client(
                auth=_auth(context),
                headers={"Accept": JSON, **_token(context)},
                verify=_tls(context),
                timeout=seconds,
                follow_redirects=True,
            )
        except (OSError, ValueError) as error:
            hint = "penstock context list shows the files."
            raise Wrong(f"Cannot set up TLS for {self.url}: {error}", hint) from error

    def get(self, *path: str | int, **query: Any) -> Any:
        return self.call("GET", path, query=query)

    def post(self, *path: str | int, body: Any = None, **query: Any) -> Any:
        return self.call("POST", path, query=query, body=body)

    def put(self, *path: str | int, body: Any = None, **query: Any) -> Any:
        return self.call("PUT", path, query=query, body=body)

    def patch(self, *path: str | int, body: Any = None, **query: Any) -> Any:
        return self.call("PATCH", path, query=query, body=body)

    def delete(self, *path: str | int, **query: Any) -> Any:
        return self.call("DELETE", path, query=query)

    def call(
        self, method: str, path: Sequence[str | int], query: Mapping[str, Any] | None = None, body: Any = None
    ) -> Any:
        """The JSON of the answer, ``None`` when it has none. ``path`` are its segments, not escaped."""
        deadline = time.monotonic() + REBALANCE_SECONDS
        while True:
            answer = self._send(method, path, query, body)
            if answer.is_success:
                return _content(answer)
            if not _passes(answer) or time.monotonic() > deadline:
                raise _refusal(answer, self.url)
            time.sleep(RETRY_SECONDS)

    def _send(
        self, method: str, path: Sequence[str | int], query: Mapping[str, Any] | None, body: Any
    ) -> httpx2.Response:
        target = "/".join([self.url, *(quote(str(segment), safe="") for segment in path)])
        given = {"json": body} if body is not None else {}
        parameters = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        try:
            return self._http.request(method, target, params=parameters or None, **given)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Refused(
                0,
                f"Cannot reach a worker at {self.url}: {error}. --url chooses another one.",
                "penstock run starts a worker here; penstock context list shows those you know.",
            ) from error

    @cached_property
    def server(self) -> Mapping[str, Any]:
        """``version``, ``commit`` and ``kafka_cluster_id``."""
        found = self.get()
        if not isinstance(found, Mapping) or "version" not in found:
            raise Refused(200, f"{self.url} is neither a Penstock worker nor a Kafka Connect", "Look at the URL.")
        return found

    @cached_property
    def is_penstock(self) -> bool:
        """Whether the worker has more than Kafka Connect's API."""
        try:
            return "/pipelines" in self.get("openapi.json").get("paths", {})
        except (Refused, Unsupported, AttributeError):
            return False

    @contextmanager
    def only_penstock(self, what: str, instead: str = "") -> Iterator[None]:
        """Around calls that Kafka Connect has not: tells so where they turn out to be missing."""
        try:
            yield
        except Unsupported:
            self.require_penstock(what, instead)
            raise

    def require_penstock(self, what: str, instead: str = "") -> None:
        """Raises :class:`Unsupported` for another kind of worker."""
        if not self.is_penstock:
            version = self.server["version"]
            raise Unsupported(f"{what} needs a Penstock worker; {self.url} is a Kafka Connect {version}.", instead)


def refusal_text(answer: httpx2.Response) -> str:
    """What a worker that did not do something says about it."""
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"{answer.request.url} answered {answer.status_code}: is it a Penstock worker?"


def _refusal(answer: httpx2.Response, url: str) -> Refused | Unsupported:
    text = refusal_text(answer)
    if answer.status_code == 405 or (answer.status_code == 404 and text == "HTTP 404 Not Found"):
        path = answer.request.url.path
        return Unsupported(f"{url} has no {answer.request.method} {path}.", "Is it an older version?")
    return Refused(answer.status_code, text, _hint(answer.status_code, text))


def _hint(status: int, text: str) -> str:
    if status == 401:
        return "penstock context add NAME --url URL --username USER keeps credentials."
    if status == 403:
        return "The user of this context may not do that."
    if status == 404 and text.startswith("Unknown task"):
        return "penstock describe CONNECTOR shows its tasks."
    if "Failed to find any class that implements Connector" in text:
        return _similar_class(text)
    if "must be in the STOPPED state" in text:
        return "Stop it first (penstock stop NAME --wait), or add --stop."
    if status == 409 and "already exists" in text:
        return "penstock apply -f FILE changes a connector that is there."
    return ""


def _similar_class(text: str) -> str:
    """From the text, which has the wrong class and all that there are, in our form or in Kafka Connect's."""
    wanted = re.search(r"name matches (.+?), available", text)
    known = [_short(name) for name in re.findall(r"[\w.$:]+(?= \((?:source|sink),)|(?<=name=')[\w.$]+", text)]
    close = difflib.get_close_matches(_short(wanted[1]) if wanted else "", known, 2)
    asked = f"Did you mean {' or '.join(close)}? " if close else ""
    return f"{asked}penstock get plugins shows what is installed."


def _short(name: str) -> str:
    return re.split(r"[.:]", name)[-1]


def _passes(answer: httpx2.Response) -> bool:
    """A conflict that will be over soon; kafka-ui has seen the same text with a 500."""
    if answer.status_code not in (409, 500):
        return False
    text = refusal_text(answer)
    return any(part in text for part in _PASSING) and (answer.status_code == 409 or "cannot be completed" in text)


def _content(answer: httpx2.Response) -> Any:
    if not answer.content:
        return None
    try:
        return answer.json()
    except ValueError:
        url = answer.request.url
        raise Refused(answer.status_code, f"{url} answered something that is not JSON", "Look at the URL.") from None


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _auth(context: Context) -> httpx2.BasicAuth | None:
    if context.username is None:
        return None
    return httpx2.BasicAuth(context.username, _secret(context.password, context.password_env, "password") or "")


def _token(context: Context) -> dict[str, str]:
    token = _secret(context.token, context.token_env, "token")
    return {"Authorization": f"Bearer {token}"} if token else {}


def _secret(value: str | None, variable: str | None, what: str) -> str | None:
    if variable is None:
        return value
    found = os.environ.get(variable)
    if found is None:
        raise Wrong(f"The {what} of this context is in the environment variable {variable}, which is not set.")
    return found


def _tls(context: Context) -> ssl.SSLContext | bool:
    if not context.url.startswith("https"):
        return True
    made = ssl.create_default_context(cafile=context.ca_file)
    if context.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    if context.cert_file:
        made.load_cert_chain(context.cert_file, context.key_file)
    return made
