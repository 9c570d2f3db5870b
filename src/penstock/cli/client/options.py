"""Arguments and options that many verbs share. Read at every start: imports little."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from . import completion
from .contexts import choose
from .formats import Format

if TYPE_CHECKING:
    from .api import ConnectApi

WAIT_SECONDS = 120.0

Url = Annotated[
    str | None, typer.Option("--url", "-u", help="The API of a worker (PENSTOCK_URL).", show_default=False)
]
ContextName = Annotated[
    str | None,
    typer.Option(
        "--context",
        "-c",
        help="A context by its name (PENSTOCK_CONTEXT).",
        show_default=False,
        autocompletion=completion.contexts,
    ),
]
Output = Annotated[Format, typer.Option("--output", "-o", help="text, json or yaml.")]
Connector = Annotated[
    str, typer.Argument(metavar="CONNECTOR", help="The name of a connector.", autocompletion=completion.connectors)
]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CONNECTOR",
        help="Names of connectors, or patterns such as 'orders-*'.",
        autocompletion=completion.connectors,
        show_default=False,
    ),
]
Everything = Annotated[bool, typer.Option("--all", "-a", help="All connectors.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Wait = Annotated[bool, typer.Option("--wait", "-w", help="Wait until it is so, showing how it goes.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0, help="How many seconds to wait at most.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]


def connect(url: str | None, context: str | None) -> ConnectApi:
    """The worker that the options, the environment or the context in use name."""
    from .api import ConnectApi

    return ConnectApi(choose(url, context))
