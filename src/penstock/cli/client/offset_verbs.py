"""``penstock offsets``: where connectors stand, and how to move them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..parsing import Commands
from .formats import Format, print_data
from .names import be_sure, chosen, counted, is_bulk, the_one
from .offset_checks import doubts
from .offset_moves import Move, entries_of, file_entries, forgotten, moved, rewound
from .offset_restoring import restore, sources
from .offset_views import changes, changes_table, offsets_table
from .options import WAIT_SECONDS, Connector, ContextName, DryRun, Everything, Names, Output, Timeout, Url, Yes, connect
from .problems import told
from .results import Results
from .screen import errors
from .times import parse_time

app = Commands(help="Offsets: look at them, set them, go back.", no_args_is_help=True)

_Stop = Annotated[
    bool, typer.Option("--stop", help="Stop the connector before, and take it back to its state afterwards.")
]


@app.command("get")
@told
def get_offsets(
    names: Names = None,
    everything: Everything = False,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> None:
    """Show committed offsets of connectors, as [bold]penstock get offsets[/] does.

    [bold]Examples[/]

      penstock offsets get orders

      penstock offsets get orders -o json > offsets.json
    """
    api = connect(url, context)
    found = {name: api.get("connectors", name, "offsets") for name in chosen(api, names, everything)}
    if output.is_data:
        print_data(next(iter(found.values())) if len(found) == 1 else found, output)
    else:
        offsets_table({name: one["offsets"] for name, one in found.items()})


@app.command("set")
@told
def set_offsets(
    connector: Connector,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Offsets as offsets get -o json shows them; - for stdin.")
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="Of a sink: the topic.")] = None,
    partition: Annotated[
        str | None, typer.Option("--partition", help="Of a sink: a number. Of a source: JSON.")
    ] = None,
    offset: Annotated[
        str | None, typer.Option("--offset", help="Of a sink: a number. Of a source: JSON. null forgets it.")
    ] = None,
    dry_run: DryRun = False,
    stop: _Stop = False,
    force: Annotated[
        bool, typer.Option("--force", help="Of a sink: even where its topics do not reach, or that it does not read.")
    ] = False,
    timeout: Timeout = WAIT_SECONDS,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Set offsets of a stopped connector, from a file or one by one. Others stay as they are.

    Offsets of a sink beyond the end of a partition, or of topics and partitions that it does not read, are refused: it
    would begin anew. [bold]--force[/] sets them.

    [bold]Examples[/]

      penstock offsets set orders-sink --topic orders --partition 0 --offset 120 --stop

      penstock offsets set lines --partition '{"filename": "a.txt"}' --offset '{"position": 0}'

      penstock offsets set orders -f offsets.json --dry-run
    """
    api = connect(url, context)
    name = the_one(api, connector)
    wanted = file_entries(file) if file is not None else [entries_of(topic, partition, offset)]
    before = api.get("connectors", name, "offsets")["offsets"]
    move = Move(name, before, wanted, doubts=None if force else doubts(api, name, wanted))
    return _carry_out(api, [move], "set", dry_run, stop, timeout, output)


@app.command("reset")
@told
def reset_offsets(
    names: Names = None,
    everything: Everything = False,
    dry_run: DryRun = False,
    stop: _Stop = False,
    yes: Yes = False,
    timeout: Timeout = WAIT_SECONDS,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Forget all offsets of stopped connectors: they begin anew. For patterns and [bold]--all[/] you are asked first.

    [bold]Examples[/]

      penstock offsets reset orders --dry-run

      penstock offsets reset orders --stop
    """
    api = connect(url, context)
    found = chosen(api, names, everything)
    if is_bulk(names, everything) and not dry_run:
        be_sure(f"Forget the offsets of {counted(found)}", found, yes)
    moves = [forgotten(name, api.get("connectors", name, "offsets")["offsets"]) for name in found]
    return _carry_out(api, moves, "reset", dry_run, stop, timeout, output)


@app.command("rewind")
@told
def rewind_offsets(
    names: Names = None,
    everything: Everything = False,
    to: Annotated[
        str,
        typer.Option("--to", help="earliest, latest, a time (2026-01-31T12:00Z, milliseconds) or an age (2h, 3d)."),
    ] = "earliest",
    topics: Annotated[list[str] | None, typer.Option("--topic", help="Only this topic. May be repeated.")] = None,
    dry_run: DryRun = False,
    stop: _Stop = False,
    yes: Yes = False,
    timeout: Timeout = WAIT_SECONDS,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Take stopped connectors to another place of what they read: the start, the end, or a time.

    Sinks go to the first record with that time or a later one. A source can only go to [bold]earliest[/], which
    forgets its offsets; its own offsets can be set with [bold]offsets set[/]. Against a Kafka Connect,
    [bold]earliest[/] is possible.

    [bold]Examples[/]

      penstock offsets rewind orders-sink --to 2h --stop

      penstock offsets rewind orders-sink --to 2026-01-31T12:00:00+01:00 --dry-run
    """
    when = parse_time(to)
    api = connect(url, context)
    found = chosen(api, names, everything)
    if is_bulk(names, everything) and not dry_run:
        be_sure(f"Rewind {counted(found)} to {to}", found, yes)
    moves = [rewound(api, name, when, topics or []) for name in found]
    return _carry_out(api, moves, "rewound", dry_run, stop, timeout, output)


@app.command("restore")
@told
def restore_offsets(
    names: Names = None,
    everything: Everything = False,
    force: Annotated[
        bool, typer.Option("--force", help="Write all offsets that are known again, though nothing was lost.")
    ] = False,
    dry_run: DryRun = False,
    stop: _Stop = False,
    timeout: Timeout = WAIT_SECONDS,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Write offsets of stopped sources again whose topic was deleted, from the memory of the cluster.

    The topic is made again if it is not there. What a connector has committed since stays. With [bold]--all[/], and
    for patterns, sinks are left out: theirs are in consumer groups.

    Do it before the workers are restarted: then they remember nothing.

    [bold]Examples[/]

      penstock offsets restore --all --dry-run

      penstock offsets restore --all --stop
    """
    api = connect(url, context)
    found = chosen(api, names, everything)
    if is_bulk(names, everything):
        found = sources(api, found)
    return restore(api, found, force, dry_run, stop, timeout, output)


def _carry_out(
    api: Any, moves: list[Move], verb: str, dry_run: bool, stop: bool, timeout: float, output: Format
) -> int:
    results = Results(verb, output)
    for move in moves:
        difference = changes(move.before, move.after)
        if dry_run:
            if not output.is_data:
                changes_table(move.name, difference)
            results.attempt(move.name, lambda move=move, found=difference: _foreseen(move, found))  # type: ignore[misc]
        elif not difference and not move.reset:
            errors().note(f"{move.name} is there already")
        else:
            results.attempt(move.name, lambda move=move: moved(api, move, stop, timeout))  # type: ignore[misc]
    code = results.finish(tell_done=not dry_run)
    if not dry_run and any("externally" in message for message in results.more.values()):
        errors().note("If this connector keeps offsets of its own elsewhere, as in a database, change them there, too.")
    return code


def _foreseen(move: Move, found: list[tuple[Any, Any, Any]]) -> list[dict[str, Any]]:
    if move.doubts is not None:
        raise move.doubts
    return [{"partition": partition, "now": now, "new": new} for partition, now, new in found]
