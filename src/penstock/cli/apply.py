"""``penstock apply``: show the plan, ask, do it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from penstock.runtime.provisioning.plan import Plan

from .exit_codes import CONNECTOR_FILE, OK, REFUSED, STALE, USAGE
from .output import Output
from .pipelines_client import PipelinesClient, Refused
from .plan import print_as, tell_refusal

CONFLICT = 409


def apply_files(
    paths: Sequence[Path], url: str, name: str | None, adopt: bool, output: Output, agreed: str | None, yes: bool
) -> int:
    """Apply what the user agrees to; the exit code. ``agreed`` is the hash of a plan the user has seen before."""
    client = PipelinesClient(url, paths, name, adopt)
    try:
        plan = client.plan()
        if output is Output.TEXT or plan.hash is None:
            print_as(plan, output)
        if plan.hash is None:
            return CONNECTOR_FILE
        if plan.changes or agreed is not None:
            if agreed is None and not yes and not _asked():
                return USAGE
            plan = client.apply(agreed or (None if yes else plan.hash))
    except Refused as error:
        tell_refusal(error)
        return STALE if error.status == CONFLICT else REFUSED
    _tell_done(plan, output)
    return OK


def _asked() -> bool:
    """Whether the user wants it; somebody must be there to be asked."""
    if sys.stdin.isatty():
        return typer.confirm("Apply this plan?")
    typer.echo("Nothing was applied: there is nobody to ask. Pass --yes, or --plan with the plan's hash.", err=True)
    return False


def _tell_done(plan: Plan, output: Output) -> None:
    if output is not Output.TEXT:
        print_as(plan, output)
    elif plan.changes:
        count = f"{len(plan.changes)} change{'s' * (len(plan.changes) != 1)}"
        Console(highlight=False).print(
            f"[green]✓[/] Applied: {count}. GET /connectors?expand=status shows how it goes."
        )
