"""A small schema registry over HTTP for tests, with the API, the error codes and the texts of Confluent's."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from penstock.api.errors import DataError
from penstock.converters.avro.resolution import problems
from penstock.converters.avro.schema import parse_schema
from penstock.converters.json_schema.compatibility import json_problems

LEVELS = ("NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE")


class Refusal(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass
class Version:
    """A schema in its place in a subject; ``content`` is what makes schemas the same."""

    number: int
    id: int
    body: dict[str, Any]
    content: str
    deleted: bool = False


@dataclass
class Registry:
    """What it knows. ``refuse_with`` makes it answer every request with that status."""

    subjects: dict[str, list[Version]] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    bodies: dict[int, dict[str, Any]] = field(default_factory=dict)
    levels: dict[str, str] = field(default_factory=dict)
    level: str = "BACKWARD"
    authorization: str | None = None
    refuse_with: int | None = None
    refusals: int = -1
    requests: list[tuple[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def schema(self, number: int) -> dict[str, Any]:
        if number not in self.bodies:
            raise Refusal(404, 40403, f"Schema {number} not found")
        return self.bodies[number]

    def versions(self, subject: str) -> list[Version]:
        found = [version for version in self.subjects.get(subject, []) if not version.deleted]
        if not found:
            raise Refusal(404, 40401, f"Subject '{subject}' not found.")
        return found

    def version(self, subject: str, text: str) -> Version:
        found = self.versions(subject)
        if text == "latest":
            return found[-1]
        for version in found:
            if str(version.number) == text:
                return version
        raise Refusal(404, 40402, f"Version {text} not found.")

    def register(self, subject: str, body: dict[str, Any]) -> int:
        check_schema(body)
        content = content_of(body)
        known = self.subjects.get(subject, [])
        if any(version.content == content and not version.deleted for version in known):
            return self.ids[content]
        self.check_compatible(subject, body)
        number = self.ids.setdefault(content, len(self.ids) + 1)
        self.bodies[number] = body
        self.subjects.setdefault(subject, []).append(Version(len(known) + 1, number, body, content))
        return number

    def lookup(self, subject: str, body: dict[str, Any], deleted: bool) -> Version:
        if subject not in self.subjects:
            raise Refusal(404, 40401, f"Subject '{subject}' not found.")
        content = content_of(body)
        for version in self.subjects[subject]:
            if version.content == content and (deleted or not version.deleted):
                return version
        raise Refusal(404, 40403, "Schema not found")

    def check_compatible(self, subject: str, body: dict[str, Any]) -> None:
        details = self.incompatible(subject, body)
        if details:
            text = f'Schema being registered is incompatible with an earlier schema for subject "{subject}"'
            raise Refusal(409, 409, f"{text}, details: [{', '.join(details)}]")

    def incompatible(self, subject: str, body: dict[str, Any]) -> list[str]:
        level = self.levels.get(subject, self.level)
        olds = [v for v in self.subjects.get(subject, []) if not v.deleted]
        chosen = olds if level.endswith("_TRANSITIVE") else olds[-1:]
        found: list[str] = []
        for old in chosen:
            if old.body.get("schemaType", "AVRO") != body.get("schemaType", "AVRO"):
                return ["schemaType: changed"] if level != "NONE" else []
            if level.startswith(("BACKWARD", "FULL")):
                found += cannot_read(body, old.body)
            if level.startswith(("FORWARD", "FULL")):
                found += cannot_read(old.body, body)
        return found


def content_of(body: dict[str, Any]) -> str:
    """The type and the JSON of a schema, however it is spelled."""
    return body.get("schemaType", "AVRO") + json.dumps(json.loads(body["schema"]))


def check_schema(body: dict[str, Any]) -> None:
    try:
        if body.get("schemaType", "AVRO") == "AVRO":
            if not body.get("references"):
                parse_schema(body["schema"])
        else:
            json.loads(body["schema"])
    except (DataError, ValueError) as error:
        raise Refusal(422, 42201, f"Invalid schema {body['schema']}, details: {error}") from None


def cannot_read(reader: dict[str, Any], writer: dict[str, Any]) -> list[str]:
    if reader.get("schemaType", "AVRO") == "AVRO":
        return problems(parse_schema(reader["schema"]), parse_schema(writer["schema"]))
    return json_problems(json.loads(reader["schema"]), json.loads(writer["schema"]))


def described(subject: str, version: Version) -> dict[str, Any]:
    return {"subject": subject, "version": version.number, "id": version.id, **version.body}


Route = Callable[[Registry, re.Match[str], dict[str, list[str]], Any], Any]


def _set_level(registry: Registry, match: re.Match[str], query: dict[str, list[str]], body: Any) -> Any:
    level = body.get("compatibility")
    if level not in LEVELS:
        raise Refusal(422, 42203, "Invalid compatibility level. Valid values are none, backward, forward and full")
    if match.groups():
        registry.levels[unquote(match[1])] = level
    else:
        registry.level = level
    return {"compatibility": level}


def _register(registry: Registry, match: re.Match[str], query: dict[str, list[str]], body: Any) -> Any:
    return {"id": registry.register(unquote(match[1]), body)}


def _lookup(registry: Registry, match: re.Match[str], query: dict[str, list[str]], body: Any) -> Any:
    subject = unquote(match[1])
    return described(subject, registry.lookup(subject, body, query.get("deleted") == ["true"]))


def _one_version(registry: Registry, match: re.Match[str], query: dict[str, list[str]], body: Any) -> Any:
    subject = unquote(match[1])
    return described(subject, registry.version(subject, match[2]))


def _compatible(registry: Registry, match: re.Match[str], query: dict[str, list[str]], body: Any) -> Any:
    return {"is_compatible": not registry.incompatible(unquote(match[1]), body)}


def _delete(registry: Registry, match: re.Match[str], query: dict[str, list[str]], body: Any) -> Any:
    found = registry.versions(unquote(match[1]))
    for version in found:
        version.deleted = True
    return [version.number for version in found]


ROUTES: list[tuple[str, str, Route]] = [
    ("GET", "/subjects", lambda r, m, q, b: [s for s in r.subjects if any(not v.deleted for v in r.subjects[s])]),
    ("GET", "/subjects/([^/]+)/versions", lambda r, m, q, b: [v.number for v in r.versions(unquote(m[1]))]),
    ("GET", "/subjects/([^/]+)/versions/([^/]+)", _one_version),
    ("POST", "/subjects/([^/]+)/versions", _register),
    ("POST", "/subjects/([^/]+)", _lookup),
    ("DELETE", "/subjects/([^/]+)", _delete),
    ("GET", "/schemas/ids/([0-9]+)", lambda r, m, q, b: r.schema(int(m[1]))),
    ("GET", "/config", lambda r, m, q, b: {"compatibilityLevel": r.level}),
    ("PUT", "/config", _set_level),
    ("GET", "/config/([^/]+)", lambda r, m, q, b: {"compatibilityLevel": r.levels.get(unquote(m[1]), r.level)}),
    ("PUT", "/config/([^/]+)", _set_level),
    ("POST", "/compatibility/subjects/([^/]+)/versions/latest", _compatible),
]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    registry: Registry
    lock: threading.Lock

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length)
        with self.lock:
            try:
                status, body = 200, self._result(data)
            except Refusal as refusal:
                status, body = refusal.status, {"error_code": refusal.code, "message": str(refusal)}
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815

    def _result(self, data: bytes) -> Any:
        registry, parts = self.registry, urlsplit(self.path)
        registry.requests.append((self.command, self.path))
        registry.headers.append(dict(self.headers))
        if registry.refuse_with is not None and registry.refusals != 0:
            registry.refusals -= 1
            raise Refusal(registry.refuse_with, registry.refuse_with * 100 + 3, "Told to refuse")
        if registry.authorization is not None and self.headers.get("Authorization") != registry.authorization:
            raise Refusal(401, 401, "Unauthorized")
        for method, path, route in ROUTES:
            match = re.fullmatch(path, parts.path)
            if match is not None and method == self.command:
                return route(registry, match, parse_qs(parts.query), json.loads(data) if data else None)
        raise Refusal(404, 404, "HTTP 404 Not Found")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the terminal."""


class RegistryServer:
    """A :class:`Registry` on a port, any free one if none is given, as a context manager."""

    def __init__(self, port: int = 0) -> None:
        self.registry = Registry()
        handler = type("Handler", (_Handler,), {"registry": self.registry, "lock": threading.Lock()})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> RegistryServer:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def basic(user_info: str) -> str:
    """The header that a user and password make."""
    return "Basic " + base64.b64encode(user_info.encode()).decode()
