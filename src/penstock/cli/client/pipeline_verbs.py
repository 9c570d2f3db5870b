"""``penstock plan`` and ``apply``: pipeline files, and connector files with ``apply -f``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..output import Output
from .formats import Format
from .options import WAIT_SECONDS, ContextName, DryRun, Timeout, Url, Wait, connect
from .problems import Wrong, told

_Paths = Annotated[
    list[Path], typer.Argument(metavar="FILE_OR_FOLDER", help="Pipeline files (YAML or JSON), or folders with them.")
]
_Source = Annotated[
    str | None,
    typer.Option("--source", help="What the files are called on the worker, wherever they lie: team/repository."),
]
_Adopt = Annotated[bool, typer.Option("--adopt", help="Let the files take over connectors that the API made.")]
_Output = Annotated[Output, typer.Option("--output", "-o", help="text, json, yaml or markdown.")]


@told
def plan(
    paths: _Paths,
    url: Url = None,
    context: ContextName = None,
    source: _Source = None,
    adopt: _Adopt = False,
    output: _Output = Output.TEXT,
) -> int:
    """Show what applying pipeline files to a worker would do.

    Every connector and topic that would be created, changed or deleted, with the keys that change, the lifecycle hooks
    that would be called, and what is lost. Nothing is done. Errors of the files are told all at once, with their lines.

    [bold]Examples[/]

      penstock plan pipelines/

      penstock plan orders.yaml --output markdown      for a pull request

    Exit codes: 3 the files have errors, 4 the worker cannot be reached or refuses.
    """
    from ..plan import show_plan

    return show_plan(connect(url, context), paths, source, adopt, output)


@told
def apply(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE_OR_FOLDER", help="Pipeline files (YAML or JSON), or folders with them."),
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", help="A connector file (JSON, YAML, properties; - is standard input) instead."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", "-n", help="With -f: another name for the connector.")] = None,
    dry_run: DryRun = False,
    wait: Wait = False,
    timeout: Timeout = WAIT_SECONDS,
    agreed: Annotated[
        str | None,
        typer.Option("--plan", help="Apply only if the plan is still the one with this hash, without asking."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    source: _Source = None,
    adopt: _Adopt = False,
    delete_many: Annotated[
        bool, typer.Option("--delete-many", help="Even if most connectors that the files declared before are deleted.")
    ] = False,
    url: Url = None,
    context: ContextName = None,
    output: _Output = Output.TEXT,
) -> int:
    """Bring a worker to what pipeline files say: show the plan, ask, do it. With [bold]-f[/]: single connectors.

    Pipeline files are all or nothing: when a step fails, those before it are undone. What the files or folders declared
    before and do no longer is deleted: where that is more than half of it, and three connectors or more, only with
    [bold]--delete-many[/]. Connectors that were made by the API are left alone.

    Connector files ([bold]-f[/], as for [bold]create[/]) create a connector or change the one of that name, on any
    Kafka Connect; [bold]--dry-run[/] checks them and shows which keys would change.

    [bold]Examples[/]

      penstock apply pipelines/

      penstock apply pipelines/ --plan 3f1c9a0b5d7e2468      what was agreed on in a pull request

      penstock apply -f orders.json --dry-run

    Exit codes: 1 not agreed, 3 the files have errors, 4 the worker refuses, 5 the plan is out of date.
    """
    if bool(paths) == bool(files):
        raise Wrong("What should be applied?", "Name pipeline files or folders, or connector files with -f.")
    api = connect(url, context)
    if files:
        if output is Output.MARKDOWN:
            raise Wrong("Markdown is for plans of pipeline files.")
        from .config_verbs import apply_connectors

        return apply_connectors(api, files, name, dry_run, wait, timeout, Format(output.value))
    if name is not None or wait:
        raise Wrong("--name and --wait are for connector files (-f).")
    from ..apply import apply_files
    from ..plan import show_plan

    if dry_run:
        return show_plan(api, paths or [], source, adopt, output)
    return apply_files(api, paths or [], source, adopt, output, agreed, yes, delete_many)
