"""Names for the shell's completion, asked of the worker that the command line names. Silent when it cannot be asked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from .api import ConnectApi

SECONDS = 1.5


def connectors(context: typer.Context, incomplete: str) -> list[str]:
    """Connectors whose name begins as typed, and were not named yet."""
    named = context.params.get("names") or ()
    return [name for name in _ask(context, lambda api: api.get("connectors"), incomplete) if name not in named]


def topics(context: typer.Context, incomplete: str) -> list[str]:
    """Topics whose name begins as typed."""
    return _ask(context, lambda api: (topic["name"] for topic in api.get("topics")), incomplete)


def plugins(context: typer.Context, incomplete: str) -> list[str]:
    """Connector classes that begin as typed."""
    return _ask(context, lambda api: (plugin["class"] for plugin in api.get("connector-plugins")), incomplete)


def loggers(context: typer.Context, incomplete: str) -> list[str]:
    """Loggers whose name begins as typed."""
    return _ask(context, lambda api: api.get("admin", "loggers"), incomplete)


def contexts(incomplete: str) -> list[str]:
    """Contexts whose name begins as typed."""
    from .contexts import Contexts

    with contextlib.suppress(Exception):
        return [name for name in sorted(Contexts.load().known) if name.startswith(incomplete)]
    return []


def _ask(context: typer.Context, question: Any, incomplete: str) -> list[str]:
    from .api import ConnectApi
    from .contexts import choose

    def asked() -> Iterable[str]:
        api: ConnectApi = ConnectApi(choose(context.params.get("url"), context.params.get("context")), SECONDS)
        names: Iterable[str] = question(api)
        return names

    with contextlib.suppress(Exception):
        return sorted(name for name in asked() if name.startswith(incomplete))
    return []
