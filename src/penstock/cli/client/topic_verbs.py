"""``penstock topics``: what is in them, live or as a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..parsing import Commands
from . import completion
from .formats import Format, print_data
from .names import chosen
from .options import ContextName, Everything, Names, Output, Url, connect
from .problems import told
from .results import Results
from .screen import answers
from .times import parse_time
from .topic_tables import topic_list

app = Commands(
    help="Topics: list them, follow their records, export them, forget which were used.",
    no_args_is_help=True,
)

_Topic = Annotated[
    str, typer.Argument(metavar="TOPIC", help="The name of a topic.", autocompletion=completion.topics)
]


class FileFormat(StrEnum):
    """What an export writes."""

    JSONL = "jsonl"
    PARQUET = "parquet"


@app.command("list")
@told
def list_topics(url: Url = None, context: ContextName = None, output: Output = Format.TEXT) -> None:
    """List all topics of a worker with their partitions and number of records.

    [bold]penstock get topics[/] shows which of them connectors have used.

    [bold]Examples[/]

      penstock topics list
    """
    api = connect(url, context)
    with api.only_penstock("Listing topics", "penstock get topics shows those that connectors have used."):
        found = api.get("topics")
    if output.is_data:
        print_data(found, output)
    else:
        topic_list(found)


@app.command("tail")
@told
def tail(
    topic: _Topic,
    last: Annotated[
        int, typer.Option("--last", "-n", min=0, help="Begin with so many records of each partition.")
    ] = 10,
    since: Annotated[
        str | None, typer.Option("--since", help="Begin at a time: earliest, 10m, 2026-01-31T12:00Z.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow/--no-follow", help="Go on until Ctrl-C.")] = True,
    count: Annotated[int | None, typer.Option("--count", min=1, help="End after so many records.")] = None,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> None:
    """Show the newest records of a topic, and those that come.

    With [bold]-o json[/] each record is a line of JSON.

    [bold]Examples[/]

      penstock topics tail orders

      penstock topics tail orders --since 10m --no-follow -o json
    """
    from .topic_reading import Reading, print_record

    api = connect(url, context)
    reading = Reading.since(api, topic, parse_time(since)) if since is not None else Reading.last(api, topic, last)
    for number, record in enumerate(reading.records(follow), 1):
        print_record(record, output)
        if number == count:
            return


@app.command("forget")
@told
def forget(
    names: Names = None,
    everything: Everything = False,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Forget which topics connectors have used, so that the list begins anew. The topics and their records stay.

    [bold]Examples[/]

      penstock topics forget orders

      penstock get topics orders      the list
    """
    api = connect(url, context)
    results = Results("has no used topics", output)
    for name in chosen(api, names, everything):
        results.attempt(name, lambda one=name: api.put("connectors", one, "topics", "reset"))  # type: ignore[misc]
    return results.finish()


@app.command("export")
@told
def export(
    topic: _Topic,
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; - is standard output.")],
    file_format: Annotated[
        FileFormat | None, typer.Option("--format", "-f", help="jsonl or parquet; by default what FILE's name says.")
    ] = None,
    since: Annotated[str, typer.Option("--since", help="Begin at a time: earliest, 2d, 2026-01-31.")] = "earliest",
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Write the records of a topic, up to its end now, to a file: lines of JSON, or Parquet.

    [bold]Examples[/]

      penstock topics export orders orders.parquet

      penstock topics export orders - --since 1h | jq .value
    """
    from .topic_export import export_records
    from .topic_reading import Reading

    api = connect(url, context)
    parquet = file_format is FileFormat.PARQUET or (file_format is None and target.suffix == ".parquet")
    reading = Reading.since(api, topic, parse_time(since))
    written = export_records(reading, target, parquet, force)
    if str(target) != "-":
        answers().done(f"{written} records of {topic} in {target}")
