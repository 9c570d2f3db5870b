"""``penstock plan``: what applying pipeline files would do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer
from rich.console import Console
from rich.markup import escape

from penstock.runtime.provisioning.plan import Plan

from .exit_codes import CONNECTOR_FILE, OK, REFUSED
from .output import Output
from .pipelines_client import PipelinesClient, Refused
from .plan_markdown import plan_as_markdown
from .plan_text import print_plan


def show_plan(paths: Sequence[Path], url: str, name: str | None, adopt: bool, output: Output) -> int:
    """Print the plan; the exit code says whether it could be applied."""
    try:
        plan = PipelinesClient(url, paths, name, adopt).plan()
    except Refused as error:
        tell_refusal(error)
        return REFUSED
    print_as(plan, output)
    return OK if plan.hash is not None else CONNECTOR_FILE


def print_as(plan: Plan, output: Output) -> None:
    """The plan on standard output."""
    if output is Output.JSON:
        typer.echo(json.dumps(msgspec.to_builtins(plan), indent=2, ensure_ascii=False))
    elif output is Output.MARKDOWN:
        typer.echo(plan_as_markdown(plan), nl=False)
    else:
        print_plan(plan, Console(highlight=False, soft_wrap=True))


def tell_refusal(error: Refused) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold red]error[/]  {escape(str(error))}")
