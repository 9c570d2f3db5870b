"""``penstock loggers``: log levels, live."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ..parsing import Commands
from . import completion
from .formats import Format, print_data
from .options import ContextName, Output, Url, connect
from .problems import told
from .screen import answers

app = Commands(help="Log levels of a running worker.", no_args_is_help=True)


class Level(StrEnum):
    """How much is logged."""

    TRACE = "TRACE"
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"
    FATAL = "FATAL"
    OFF = "OFF"


@app.command("set")
@told
def set_level(
    logger: Annotated[
        str,
        typer.Argument(
            metavar="LOGGER", help="A logger; those below it follow. root is all.", autocompletion=completion.loggers
        ),
    ],
    level: Annotated[Level, typer.Argument(metavar="LEVEL", help="DEBUG, INFO, WARN …", case_sensitive=False)],
    cluster: Annotated[bool, typer.Option("--cluster", help="On every worker of the cluster.")] = False,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> None:
    """Set the level of a logger and of all below it, until the worker ends.

    [bold]Examples[/]

      penstock loggers set penstock.runtime debug

      penstock loggers set root info --cluster
    """
    api = connect(url, context)
    scope = {"scope": "cluster"} if cluster else {}
    changed = api.put("admin", "loggers", logger, body={"level": level.value}, **scope)
    if output.is_data:
        print_data(changed or [], output)
    else:
        count = "on every worker" if cluster else f"{len(changed)} loggers"
        answers().done(f"{logger} is at {level.value} ({count})")


@app.command("list")
@told
def list_levels(url: Url = None, context: ContextName = None, output: Output = Format.TEXT) -> None:
    """Show every logger with its level.

    [bold]Examples[/]

      penstock loggers list
    """
    found = connect(url, context).get("admin", "loggers")
    if output.is_data:
        print_data(found, output)
    else:
        answers().table(["LOGGER", "LEVEL"], [[name, one["level"]] for name, one in sorted(found.items())])
