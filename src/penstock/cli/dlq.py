"""``penstock dlq``: look at the records that failed, mend them, take them through their connector again."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from .output import DEFAULT_URL

app = typer.Typer(
    help="Dead letters: look at the records that failed, mend and replay them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


class Format(str, Enum):
    """How an answer is shown."""

    TEXT = "text"
    JSON = "json"


_Connector = Annotated[str, typer.Argument(metavar="CONNECTOR", help="The name of the connector.")]
_Url = Annotated[str, typer.Option("--url", "-u", envvar="PENSTOCK_URL", help="The API of a worker.")]
_Output = Annotated[Format, typer.Option("--output", "-o", help="text or json.")]


@app.command("list")
def list_letters(
    connector: _Connector,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")] = 20,
    after: Annotated[
        Optional[str], typer.Option("--after", help="Go on behind this id.")  # noqa: UP045
    ] = None,
    url: _Url = DEFAULT_URL,
    output: _Output = Format.TEXT,
) -> None:
    """List dead letters of a connector, the oldest first.

    [bold]Examples[/]

      penstock dlq list orders-sink

      penstock dlq list orders-sink --after 0-19 --output json

    Exit code 4: the worker cannot be reached or refuses.
    """
    from .dlq_view import show_list

    raise typer.Exit(show_list(url, connector, limit, after, output is Format.JSON))


@app.command("show")
def show_letter(
    connector: _Connector,
    letter: Annotated[str, typer.Argument(metavar="ID", help="The id of a dead letter, as in 0-17.")],
    url: _Url = DEFAULT_URL,
    output: _Output = Format.TEXT,
) -> None:
    """Show one dead letter: where it was, why it failed, its key, value and headers.

    [bold]Examples[/]

      penstock dlq show orders-sink 0-17
    """
    from .dlq_view import show_one

    raise typer.Exit(show_one(url, connector, letter, output is Format.JSON))


@app.command("replay")
def replay_letters(
    connector: _Connector,
    letters: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="ID", help="Ids of dead letters, as in 0-17."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that were not replayed yet.")] = False,
    value: Annotated[
        Optional[str], typer.Option("--value", help="Another value for the one dead letter, as text.")  # noqa: UP045
    ] = None,
    value_file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--value-file", exists=True, dir_okay=False, help="A file with another value, byte for byte."),
    ] = None,
    url: _Url = DEFAULT_URL,
    output: _Output = Format.TEXT,
) -> None:
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
    raise typer.Exit(replay(url, connector, chosen, data, output is Format.JSON))
