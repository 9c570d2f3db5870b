"""``penstock get``: short lists of what there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..parsing import Commands
from . import completion
from .close_names import did_you_mean
from .formats import Format, print_data
from .names import chosen
from .offset_views import offsets_table
from .options import ContextName, Everything, Names, Output, Url, connect
from .problems import Missing, Refused, Unsupported, Wrong, told
from .screen import answers, errors, state_text
from .states import state, task_states, tasks_text
from .topic_tables import topics_table

if TYPE_CHECKING:
    from rich.text import Text

    from .api import ConnectApi

app = Commands(
    help="Lists: connectors, plugins, offsets, topics, pipelines, loggers.",
    no_args_is_help=True,
)


class Kind(StrEnum):
    """Which way records go."""

    SOURCE = "source"
    SINK = "sink"


@app.command("connectors")
@told
def get_connectors(
    names: Names = None,
    wanted: Annotated[
        str | None, typer.Option("--state", "-s", help="Only those in a state, or with a task in it: failed.")
    ] = None,
    kind: Annotated[Kind | None, typer.Option("--type", "-t", help="source or sink.")] = None,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> None:
    """List connectors with their states and, of a Penstock worker, how they are.

    [bold]Examples[/]

      penstock get connectors

      penstock get connectors 'orders-*' --state failed

      penstock get connectors -o json
    """
    api = connect(url, context)
    found = _expanded(api)
    if names:
        found = {name: found[name] for name in chosen(api, names) if name in found}
    kept = {
        name: one
        for name, one in sorted(found.items())
        if _matches(one, wanted) and (kind is None or one["info"].get("type") == kind.value)
    }
    if output.is_data:
        print_data(kept, output)
    elif not kept:
        answers().line("No connectors." if not found else "No connector matches.")
    else:
        health = ["HEALTH"] if any("health" in one for one in kept.values()) else []
        reasons = {name: _trouble(one) for name, one in kept.items()}
        why = ["REASON"] if any(reasons.values()) else []
        columns = ["NAME", "TYPE", "STATE", *health, "TASKS", "CLASS", *why]
        rows = [[*_row(name, one, bool(health)), *([reasons[name]] if why else [])] for name, one in kept.items()]
        answers().table(columns, rows)


@app.command("plugins")
@told
def get_plugins(
    everything: Annotated[bool, typer.Option("--all", "-a", help="Transforms, converters and the like too.")] = False,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> None:
    """List the connectors that are installed on the worker.

    [bold]Examples[/]

      penstock get plugins --all
    """
    found = connect(url, context).get("connector-plugins", connectorsOnly=not everything)
    if output.is_data:
        print_data(found, output)
    else:
        rows = [[plugin["type"], plugin["class"], plugin.get("version") or ""] for plugin in found]
        answers().table(["TYPE", "CLASS", "VERSION"], sorted(rows))


@app.command("offsets")
@told
def get_offsets(
    names: Names = None,
    everything: Everything = False,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> None:
    """Show committed offsets of connectors, as [bold]penstock offsets get[/] does.

    [bold]Examples[/]

      penstock get offsets orders-sink

      penstock get offsets orders -o json > offsets.json      ready for penstock offsets set -f
    """
    api = connect(url, context)
    found = {name: api.get("connectors", name, "offsets") for name in chosen(api, names, everything)}
    if output.is_data:
        print_data(next(iter(found.values())) if len(found) == 1 else found, output)
    else:
        offsets_table({name: one["offsets"] for name, one in found.items()})


@app.command("topics")
@told
def get_topics(names: Names = None, url: Url = None, context: ContextName = None, output: Output = Format.TEXT) -> None:
    """Show which topics connectors have used. [bold]penstock topics list[/] shows all that there are.

    [bold]Examples[/]

      penstock get topics orders
    """
    api = connect(url, context)
    used = {name: _topics(api, name) for name in chosen(api, names, needed=False)}
    if output.is_data:
        print_data(used, output)
    else:
        topics_table(used)
        if not names:
            errors().note("These are the topics that connectors have used: penstock topics list shows all of a worker.")


@app.command("pipelines")
@told
def get_pipelines(url: Url = None, context: ContextName = None, output: Output = Format.TEXT) -> None:
    """List the connectors that pipeline files declare, and what has drifted from the files.

    [bold]Examples[/]

      penstock get pipelines
    """
    api = connect(url, context)
    with api.only_penstock("Listing pipelines"):
        found = api.get("pipelines")
    if output.is_data:
        print_data(found, output)
        return
    rows = [
        [pipeline["id"], one["name"], one["state"], ", ".join(one["drift"]) or "none", pipeline["file"] or ""]
        for pipeline in found["pipelines"]
        for one in pipeline["connectors"]
    ]
    if rows:
        answers().table(["PIPELINE", "CONNECTOR", "WANTED", "DRIFT", "FILE"], rows)
    else:
        answers().line("No pipelines: penstock apply FILE declares some.")
    for problem in found["problems"]:
        errors().problem(f"{problem['file']}: {problem['message']}", problem["suggestion"])


@app.command("loggers")
@told
def get_loggers(
    logger: Annotated[
        str | None, typer.Argument(metavar="LOGGER", help="Only this one.", autocompletion=completion.loggers)
    ] = None,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> None:
    """Show the levels of loggers. [bold]penstock loggers set[/] changes them.

    [bold]Examples[/]

      penstock get loggers
    """
    api = connect(url, context)
    try:
        found = api.get("admin", "loggers") if logger is None else {logger: api.get("admin", "loggers", logger)}
    except Refused as error:
        if error.status != 404:
            raise
        hint = did_you_mean(logger or "", api.get("admin", "loggers"), "penstock get loggers shows all.")
        raise Missing(str(error), hint) from None
    if output.is_data:
        print_data(found, output)
    else:
        answers().table(["LOGGER", "LEVEL"], [[name, one["level"]] for name, one in sorted(found.items())])


def _expanded(api: ConnectApi) -> dict[str, Any]:
    found: dict[str, Any] = api.get("connectors", expand=["info", "status", "health"])
    if not isinstance(found, Mapping):
        raise Unsupported(f"{api.url} is older than Kafka Connect 2.3 and cannot list statuses.")
    return {name: one for name, one in found.items() if "info" in one}


def _matches(one: Mapping[str, Any], wanted: str | None) -> bool:
    if wanted is None:
        return True
    known = ("RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED", "RESTARTING")
    if wanted.upper() not in known:
        states = f"States are {', '.join(known).lower()}."
        raise Wrong(f"'{wanted}' is not a state.", did_you_mean(wanted.lower(), map(str.lower, known), states))
    status = one.get("status")
    return wanted.upper() in (state(status), *task_states(status))


def _topics(api: ConnectApi, name: str) -> list[str]:
    found: list[str] = api.get("connectors", name, "topics").get(name, {}).get("topics", [])
    return sorted(found)


def _row(name: str, one: Mapping[str, Any], with_health: bool) -> Sequence[str | Text]:
    info, status = one["info"], one.get("status")
    kind = str(info.get("type", ""))
    health = [state_text(one.get("health", {}).get("health", ""))] if with_health else []
    return [name, kind, state_text(state(status)), *health, tasks_text(status), _class(info["config"])]


def _trouble(one: Mapping[str, Any]) -> str:
    """Why a connector is not healthy."""
    health = one.get("health") or {}
    return "" if health.get("health") in (None, "healthy") else " ".join(str(health.get("reason") or "").split())


def _class(config: Mapping[str, Any]) -> str:
    return str(config.get("connector.class") or "").rsplit(".", 1)[-1]
