"""``penstock dlq``: look at the records that failed, mend them, take them through their connector again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .client.formats import Format
from .client.names import the_one
from .client.options import Connector, ContextName, Output, Url, connect
from .client.problems import told
from .parsing import Commands

app = Commands(
    help="Dead letters: look at the records that failed, mend and replay them.",
    no_args_is_help=True,
)


@app.command("list")
@told
def list_letters(
    connector: Connector,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")] = 20,
    after: Annotated[str | None, typer.Option("--after", help="Go on behind this id.")] = None,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """List dead letters of a connector, the oldest first.

    [bold]Examples[/]

      penstock dlq list orders-sink

      penstock dlq list orders-sink --after 0-19 --output json

    Exit code 4: the worker cannot be reached or refuses.
    """
    from .dlq_view import show_list

    api = connect(url, context)
    return show_list(api, the_one(api, connector), limit, after, output)


@app.command("show")
@told
def show_letter(
    connector: Connector,
    letter: Annotated[str, typer.Argument(metavar="ID", help="The id of a dead letter, as in 0-17.")],
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Show one dead letter: where it was, why it failed, its key, value and headers.

    [bold]Examples[/]

      penstock dlq show orders-sink 0-17
    """
    from .dlq_view import show_one

    api = connect(url, context)
    return show_one(api, the_one(api, connector), letter, output)


@app.command("replay")
@told
def replay_letters(
    connector: Connector,
    letters: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Ids of dead letters, as in 0-17."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that were not replayed yet.")] = False,
    value: Annotated[
        str | None, typer.Option("--value", help="Another value for the one dead letter, as text.")
    ] = None,
    value_file: Annotated[
        Path | None,
        typer.Option("--value-file", exists=True, dir_okay=False, help="A file with another value, byte for byte."),
    ] = None,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Take dead letters through their connector again, as they are or with another value.

    They go through its converters and transforms into its sink (or topic), in a batch of their own; other readers of
    the original topic see nothing of it. What fails again becomes a dead letter again.

    [bold]Examples[/]

      penstock dlq replay orders-sink --all                          after the connector was mended

      penstock dlq replay orders-sink 0-17 0-21

      penstock dlq replay orders-sink 0-17 --value '{"id": 17}'      a mended record

    Exit codes: 1 wrong usage, 4 the worker cannot be reached or refuses, 6 some failed again.
    """
    chosen = letters or []
    if bool(chosen) == everything:
        raise typer.BadParameter("Name the dead letters to replay, or use --all")
    if (value is not None or value_file is not None) and len(chosen) != 1:
        raise typer.BadParameter("--value and --value-file are for one dead letter")
    if value is not None and value_file is not None:
        raise typer.BadParameter("Use either --value or --value-file")
    from .dlq_view import replay

    data = value.encode() if value is not None else value_file.read_bytes() if value_file is not None else None
    api = connect(url, context)
    return replay(api, the_one(api, connector), chosen, data, output)
