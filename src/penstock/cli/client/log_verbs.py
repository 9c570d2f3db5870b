"""``penstock logs``: the last lines of the log that belong to connectors."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .formats import Format, print_data
from .names import chosen, counted, shortened
from .options import ContextName, Everything, Names, Output, Url, connect
from .problems import Wrong, told
from .screen import answers, errors
from .times import time_text

if TYPE_CHECKING:
    from .api import ConnectApi

FOLLOW_SECONDS = 1.0
MOST_LINES = 500

_STYLES = {"WARN": "yellow", "ERROR": "red", "FATAL": "bold red", "DEBUG": "dim", "TRACE": "dim"}


@told
def logs(
    names: Names = None,
    everything: Everything = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=MOST_LINES, help="How many at most.")] = 100,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new lines until Ctrl-C.")] = False,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> None:
    """Show the last lines that workers logged for connectors. Workers keep them in memory: up to 500 of each.

    [bold]Examples[/]

      penstock logs orders

      penstock logs orders -n 20 --follow

      penstock logs --all -n 20
    """
    api = connect(url, context)
    if follow and output.is_data:
        raise Wrong("--follow prints text only.")
    wanted = chosen(api, names, everything)
    with api.only_penstock("penstock logs", "Look into the worker's log file."):
        found = {name: _lines(api, name, lines) for name in wanted}
    if output.is_data:
        return print_data(next(iter(found.values())) if len(found) == 1 else found, output)
    silent = [name for name, one in found.items() if not one]
    if len(silent) == 1:
        errors().note(f"Nothing has been logged for {silent[0]} since its worker started.")
    elif silent:
        errors().note(f"Nothing has been logged for {counted(silent)} since they started: {shortened(silent)}")
    _print([line for one in found.values() for line in one])
    if follow:
        _follow(api, found)
    return None


def _lines(api: ConnectApi, name: str, lines: int) -> list[dict[str, Any]]:
    return [{"connector": name, **line} for line in api.get("connectors", name, "logs", lines=lines)["lines"]]


def _follow(api: ConnectApi, seen: dict[str, list[dict[str, Any]]]) -> None:
    try:
        while True:
            time.sleep(FOLLOW_SECONDS)
            for name, before in seen.items():
                now = _lines(api, name, MOST_LINES)
                newest = before[-1]["time"] if before else 0
                _print([line for line in now if line["time"] >= newest and line not in before])
                seen[name] = now or before
    except KeyboardInterrupt:
        return


def _print(lines: Sequence[Mapping[str, Any]]) -> None:
    for line in sorted(lines, key=lambda one: int(one["time"])):
        part = "worker" if line["task"] is None else f"task-{line['task']}"
        place = f"[{line['connector']}|{part}]"
        text = f"{time_text(line['time'])} {line['level']:<5} {place} {line['message']}"
        answers().line(text, _STYLES.get(line["level"]))
