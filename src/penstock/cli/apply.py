"""``penstock apply``: show the plan, ask, do it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer
from rich.console import Console

from penstock.runtime.provisioning.plan import Plan

from .client.api import ConnectApi
from .client.problems import Outdated, Refused
from .exit_codes import CONNECTOR_FILE, OK, USAGE
from .output import Output
from .pipelines_client import PipelinesClient
from .plan import print_as

CONFLICT = 409
BAD_REQUEST = 400
"""What the worker itself would answer."""


def apply_files(
    api: ConnectApi,
    paths: Sequence[Path],
    name: str | None,
    adopt: bool,
    output: Output,
    agreed: str | None,
    yes: bool,
    delete_many: bool = False,
) -> int:
    """Apply what the user agrees to; the exit code. ``agreed`` is the hash of a plan the user has seen before."""
    client = PipelinesClient(api, paths, name, adopt)
    try:
        plan = client.plan()
        if output is Output.TEXT or plan.hash is None:
            print_as(replace(plan, refused=None), output)
        if plan.hash is None:
            return CONNECTOR_FILE
        if plan.changes or agreed is not None:
            if plan.refused is not None and not delete_many:
                raise Refused(BAD_REQUEST, f"Nothing was applied: {plan.refused}")
            if agreed is None and not yes and not _asked():
                return USAGE
            plan = client.apply(agreed or (None if yes else plan.hash), delete_many)
    except Refused as error:
        if error.status == CONFLICT:
            raise Outdated(str(error), "penstock plan shows what would be done now.") from error
        raise
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
        Console(highlight=False, soft_wrap=True).print(
            f"[green]✓[/] Applied: {count}. penstock get connectors shows how it goes."
        )
