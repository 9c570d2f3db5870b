"""``penstock plan``: what applying pipeline files would do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer
from rich.console import Console

from penstock.runtime.provisioning.plan import Plan

from .client.api import ConnectApi
from .client.formats import as_yaml
from .exit_codes import CONNECTOR_FILE, OK
from .output import Output
from .pipelines_client import PipelinesClient
from .plan_markdown import plan_as_markdown
from .plan_text import print_plan


def show_plan(api: ConnectApi, paths: Sequence[Path], name: str | None, adopt: bool, output: Output) -> int:
    """Print the plan; the exit code says whether it could be applied."""
    plan = PipelinesClient(api, paths, name, adopt).plan()
    print_as(plan, output)
    return OK if plan.hash is not None else CONNECTOR_FILE


def print_as(plan: Plan, output: Output) -> None:
    """The plan on standard output."""
    if output is Output.JSON:
        typer.echo(json.dumps(msgspec.to_builtins(plan), indent=2, ensure_ascii=False))
    elif output is Output.YAML:
        typer.echo(as_yaml(msgspec.to_builtins(plan)), nl=False)
    elif output is Output.MARKDOWN:
        typer.echo(plan_as_markdown(plan), nl=False)
    else:
        print_plan(plan, Console(highlight=False, soft_wrap=True))

