"""The registry over HTTP: fail-over, repetition, and a memory of what never changes."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from penstock.api.errors import RetriableError

from .auth import auth_headers
from .errors import BUSY, RegistryRefusal
from .settings import RegistrySettings

if TYPE_CHECKING:
    import httpx2

_K = TypeVar("_K")
_V = TypeVar("_V")

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
_NO_CODE = 50005


@dataclass(frozen=True)
class SchemaText:
    """A schema as a registry holds it. ``references`` are (name, subject, version)."""

    kind: str
    text: str
    references: tuple[tuple[str, str, int], ...] = ()

    def body(self) -> dict[str, Any]:
        """The JSON that requests send."""
        found: dict[str, Any] = {"schema": self.text}
        if self.kind != "AVRO":
            found["schemaType"] = self.kind
        if self.references:
            found["references"] = [dict(zip(("name", "subject", "version"), r, strict=True)) for r in self.references]
        return found

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> SchemaText:
        references = [(r["name"], r["subject"], int(r["version"])) for r in body.get("references") or ()]
        return cls(body.get("schemaType") or "AVRO", body["schema"], tuple(references))


@dataclass(frozen=True)
class Registered:
    """A version of a subject."""

    id: int
    version: int
    schema: SchemaText


class RegistryClient:
    """One registry. Ids, schemas and versions are asked for once; the latest version is asked for each time.

    Raises :class:`RegistryRefusal` when the registry says no, :class:`RetriableError` when no URL answers.
    """

    def __init__(self, settings: RegistrySettings) -> None:
        import httpx2

        self._settings = settings
        self._url = 0
        self._http = httpx2.Client(
            headers={"Accept": f"{CONTENT_TYPE}, application/json", **dict(settings.headers)},
            timeout=httpx2.Timeout(settings.read_timeout, connect=settings.connect_timeout),
            verify=settings.tls.context() if settings.tls is not None and _uses_tls(settings) else False,
            proxy=settings.proxy,
            trust_env=False,
            follow_redirects=True,
        )
        self._auth = auth_headers(settings, self._http)
        self._ids: dict[tuple[str, SchemaText, bool], int] = {}
        self._schemas: dict[int, SchemaText] = {}
        self._versions: dict[tuple[str, SchemaText], int | None] = {}
        self._named: dict[tuple[str, int], SchemaText] = {}

    def register(self, subject: str, schema: SchemaText, normalize: bool = False) -> int:
        """The id of a schema under a subject, as a new version if there is none like it."""
        key = (subject, schema, normalize)
        if key not in self._ids:
            path = f"/subjects/{_segment(subject)}/versions?normalize={_flag(normalize)}"
            self._remember(self._ids, key, int(self._post(path, schema.body())["id"]))
        return self._ids[key]

    def find(self, subject: str, schema: SchemaText, normalize: bool = False) -> int:
        """The id of a schema that must already be under a subject."""
        key = (subject, schema, normalize)
        if key not in self._ids:
            path = f"/subjects/{_segment(subject)}?normalize={_flag(normalize)}&deleted=false"
            self._remember(self._ids, key, int(self._post(path, schema.body())["id"]))
        return self._ids[key]

    def version(self, subject: str, schema: SchemaText) -> int | None:
        """Which version of a subject a schema is, ``None`` when it is none."""
        key = (subject, schema)
        if key not in self._versions:
            path = f"/subjects/{_segment(subject)}?normalize=false&deleted=true"
            try:
                found: int | None = int(self._post(path, schema.body())["version"])
            except RegistryRefusal as refusal:
                if not refusal.not_found:
                    raise
                return None
            self._remember(self._versions, key, found)
        return self._versions[key]

    def by_id(self, number: int, subject: str | None = None) -> SchemaText:
        """The schema of an id; ``subject`` tells a registry with several contexts where to look first."""
        if number not in self._schemas:
            query = f"?subject={_segment(subject)}" if subject else ""
            found = SchemaText.from_body(self._get(f"/schemas/ids/{number}{query}"))
            self._remember(self._schemas, number, found)
        return self._schemas[number]

    def latest(self, subject: str) -> Registered:
        """The newest version of a subject."""
        body = self._get(f"/subjects/{_segment(subject)}/versions/latest")
        return Registered(int(body["id"]), int(body["version"]), SchemaText.from_body(body))

    def named(self, subject: str, version: int) -> SchemaText:
        """The schema that a reference means."""
        key = (subject, version)
        if key not in self._named:
            body = self._get(f"/subjects/{_segment(subject)}/versions/{version}?deleted=true")
            self._remember(self._named, key, SchemaText.from_body(body))
        return self._named[key]

    def referenced(self, schema: SchemaText) -> dict[str, str]:
        """Name → text of every schema that this one refers to, itself or through others, innermost first."""
        found: dict[str, str] = {}
        for name, subject, version in schema.references:
            inner = self.named(subject, version)
            found.update({n: text for n, text in self.referenced(inner).items() if n not in found})
            found.setdefault(name, inner.text)
        return found

    def close(self) -> None:
        self._http.close()

    def _remember(self, cache: dict[_K, _V], key: _K, value: _V) -> None:
        while len(cache) >= self._settings.cache_size:
            cache.pop(next(iter(cache)))
        cache[key] = value

    def _get(self, path: str) -> Any:
        return self._request("GET", path, None)

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._request("POST", path, body)

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        """Ask each URL in turn, starting with the one that answered last."""
        import httpx2

        urls, failures = self._settings.urls, []
        refusal: RegistryRefusal | None = None
        for _ in urls:
            url = urls[self._url]
            try:
                return self._ask(url, method, path, body)
            except httpx2.TransportError as error:
                failures.append(f"{url}: {error or type(error).__name__}")
            except RegistryRefusal as raised:
                if raised.status not in BUSY:
                    raise
                refusal = raised
            self._url = (self._url + 1) % len(urls)
        if refusal is not None:
            raise refusal
        raise RetriableError(f"The schema registry cannot be reached ({'; '.join(failures)})")

    def _ask(self, url: str, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        """Ask one URL, again after a pause while it says that it is busy."""
        wait = self._settings.first_wait
        for attempt in range(self._settings.retries + 1):
            headers = {**self._auth(), **({} if body is None else {"Content-Type": CONTENT_TYPE})}
            answer = self._http.request(method, url + path, json=body, headers=headers)
            if answer.status_code not in BUSY or attempt == self._settings.retries:
                return _body(answer)
            time.sleep(random.uniform(0, min(wait, self._settings.longest_wait)))
            wait *= 2
        raise AssertionError("the last attempt returns")


def _body(answer: httpx2.Response) -> Any:
    try:
        body = answer.json()
    except ValueError:
        body = None
    if answer.is_success and isinstance(body, dict):
        return body
    if isinstance(body, dict) and "message" in body:
        code = body.get("error_code", answer.status_code)
        raise RegistryRefusal(answer.status_code, int(code), str(body["message"]))
    shown = answer.text[:200].strip()
    raise RegistryRefusal(
        answer.status_code,
        _NO_CODE if answer.is_success else answer.status_code,
        f"{answer.request.url} answered {answer.status_code} with something that is not a registry's answer: {shown}",
    )


def _uses_tls(settings: RegistrySettings) -> bool:
    return any(url.startswith("https:") for url in settings.urls) or settings.oauth is not None


def _segment(text: str) -> str:
    return quote(text, safe="")


def _flag(value: bool) -> str:
    return "true" if value else "false"


_CLIENTS: dict[RegistrySettings, RegistryClient] = {}


def shared_client(settings: RegistrySettings) -> RegistryClient:
    """The client of this process for these settings; every converter of every task shares it and its memory."""
    client = _CLIENTS.get(settings)
    if client is None:
        client = _CLIENTS.setdefault(settings, RegistryClient(settings))
    return client


os.register_at_fork(after_in_child=_CLIENTS.clear)
