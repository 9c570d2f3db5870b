"""One declaration a route, and the way from a path to its route."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.runtime.herder import Herder

from .answers import Answer
from .request import Request

Handler = Callable[[Herder, Request], Answer | Awaitable[Answer]]
_INT32 = range(-(2**31), 2**31)


@dataclass(frozen=True)
class Parameter:
    """A parameter outside the path. ``schema`` is its JSON Schema, ``place`` is ``query`` or ``header``."""

    name: str
    description: str
    schema: Mapping[str, Any]
    place: str = "query"
    required: bool = False


@dataclass(frozen=True)
class Body:
    """A JSON body: the type that documents it, the function that reads it, and one that works."""

    shape: Any
    parse: Callable[[bytes], Any]
    example: Any


@dataclass(frozen=True)
class Reply:
    """A documented success: what it means and the type of its body. ``location``: it tells a new connector's URL."""

    meaning: str
    shape: Any = None
    location: bool = False


@dataclass(frozen=True)
class Route:
    """``path`` may hold a ``{task}``, which is a number, and one other name in braces, which is text.

    ``signed``: for other workers, who need no user: the herder checks their signature.
    """

    method: str
    path: str
    summary: str
    handler: Handler
    replies: Mapping[int, Reply]
    errors: Mapping[int, str] = field(default_factory=dict)
    parameters: Sequence[Parameter] = ()
    body: Body | None = None
    json_only: bool = True
    admin: bool = False
    signed: bool = False

    @property
    def segments(self) -> list[str]:
        return [part for part in self.path.split("/") if part]


@dataclass
class Endpoint:
    """All routes of one path."""

    routes: dict[str, Route] = field(default_factory=dict)
    allow: bytes = b""

    def add(self, route: Route) -> None:
        self.routes[route.method] = route
        methods = {*self.routes, "OPTIONS", *(["HEAD"] if "GET" in self.routes else [])}
        self.allow = ", ".join(sorted(methods)).encode()


@dataclass
class _Node:
    literals: dict[str, _Node] = field(default_factory=dict)
    parameter: _Node | None = None
    number: bool = False
    endpoint: Endpoint | None = None


class Router:
    """Finds the endpoint of a path by walking a tree of its segments."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        for route in routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        node = self._root
        for segment in route.segments:
            if segment.startswith("{"):
                if node.parameter is None:
                    node.parameter = _Node()
                    node.number = segment == "{task}"
                node = node.parameter
            else:
                node = node.literals.setdefault(segment, _Node())
        if node.endpoint is None:
            node.endpoint = Endpoint()
        node.endpoint.add(route)

    def find(self, segments: Sequence[str], request: Request) -> Endpoint | None:
        """The endpoint; what the path names is put into ``request``."""
        node = self._root
        for segment in segments:
            following = node.literals.get(segment)
            if following is None:
                following = node.parameter
                if following is None or not _take(segment, node.number, request):
                    return None
            node = following
        return node.endpoint


def _take(segment: str, number: bool, request: Request) -> bool:
    if not number:
        request.name = segment
        return True
    digits = segment[1:] if segment[:1] in "+-" else segment
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10 and int(segment) in _INT32):
        return False
    request.task = int(segment)
    return True
