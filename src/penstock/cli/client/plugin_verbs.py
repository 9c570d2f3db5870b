"""``penstock plugin``: plugins of one's own."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..parsing import Commands
from .origin import pip_arguments
from .problems import told
from .project import Kind, Project
from .screen import answers

app = Commands(help="Plugins of your own.", no_args_is_help=True)


@app.callback()
def plugin() -> None:
    """Plugins of your own."""


@app.command("new")
@told
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the project is called: orders-api.")],
    kinds: Annotated[
        list[Kind] | None, typer.Option("--kind", "-k", help="source, sink or transform. May be repeated (source).")
    ] = None,
    folder: Annotated[Path | None, typer.Option("--folder", help="Where it goes (a folder of that name).")] = None,
) -> None:
    """Make a project for a connector or transform that runs and tests itself.

    A package in [bold]src[/] with an entry point, tests that check the contract of connectors, a README, and a pipeline
    file that shows it at work.

    [bold]Examples[/]

      penstock plugin new orders-api

      penstock plugin new lake --kind source --kind sink --kind transform
    """
    project = Project(name, list(dict.fromkeys(kinds or [Kind.SOURCE])))
    target = folder or Path(name)
    for file in project.write(target):
        answers().line(f"  {file}", "dim")
    answers().done(f"{name} is in {target}")
    answers().line(f"\n  cd {shlex.quote(str(target))}")
    answers().line(f"  python3 -m venv .venv && .venv/bin/pip install {shlex.join([*pip_arguments(), '-e', '.[dev]'])}")
    answers().line("  .venv/bin/pytest")
    answers().line("  .venv/bin/penstock run pipeline.yaml")
