"""``penstock describe``: all that is known of connectors, or of a plugin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import completion
from .close_names import did_you_mean
from .config_changes import shown
from .formats import Format, print_data
from .health_texts import health_facts
from .names import chosen
from .offset_views import place, position
from .options import ContextName, Everything, Names, Output, Url, connect
from .problems import ClientError, Missing, Refused, Wrong, told
from .screen import Screen, answers, state_text
from .states import failures, state, status_of, tasks_text

if TYPE_CHECKING:
    from .api import ConnectApi


@told
def describe(
    names: Names = None,
    everything: Everything = False,
    plugin: Annotated[
        str | None,
        typer.Option("--plugin", "-p", help="Describe the keys of a plugin.", autocompletion=completion.plugins),
    ] = None,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> None:
    """Show all that is known of connectors: state, health, traces, configurations, offsets, topics, hooks.

    [bold]Examples[/]

      penstock describe orders

      penstock describe --plugin FileStreamSource      the keys of a connector class
    """
    api = connect(url, context)
    if plugin is not None:
        if names or everything:
            raise Wrong("Describe connectors or a plugin, not both.")
        return _plugin(api, plugin, output)
    found = [_facts(api, name) for name in chosen(api, names, everything)]
    if output.is_data:
        print_data(found[0] if len(found) == 1 else found, output)
    else:
        for number, one in enumerate(found):
            _print(answers(), one, first=number == 0)


def _facts(api: ConnectApi, name: str) -> dict[str, Any]:
    """Everything the worker tells; what it does not have is left out."""
    found: dict[str, Any] = dict(api.get("connectors", name))
    found["status"] = status_of(api, name)
    found["task_configs"] = _maybe(lambda: _task_configs(api, name))
    found["health"] = _maybe(lambda: api.get("connectors", name, "health"))
    found["offsets"] = _maybe(lambda: api.get("connectors", name, "offsets")["offsets"])
    found["topics"] = _maybe(lambda: sorted(api.get("connectors", name, "topics").get(name, {}).get("topics", [])))
    found["lifecycle"] = _maybe(lambda: api.get("connectors", name, "lifecycle"))
    return {key: value for key, value in found.items() if value is not None}


def _task_configs(api: ConnectApi, name: str) -> dict[str, Any]:
    """The configuration of each task, by its number."""
    return {str(task["id"]["task"]): task["config"] for task in api.get("connectors", name, "tasks")}


def _maybe(question: Any) -> Any:
    try:
        return question()
    except ClientError:
        return None


def _print(screen: Screen, found: Mapping[str, Any], first: bool) -> None:
    status = found.get("status")
    if not first:
        screen.line()
    screen.facts(
        {
            "Name": found["name"],
            "Type": str(found.get("type") or "unknown"),
            "State": state_text(state(status)),
            "Worker": status["connector"]["worker_id"] if status else "-",
            "Tasks": tasks_text(status),
            **health_facts(found.get("health")),
        }
    )
    screen.title("Configuration")
    screen.facts({key: shown(key, value) for key, value in sorted(found["config"].items())}, indent=2)
    _print_task_configs(screen, found)
    for what, trace in failures(status):
        screen.title(f"Trace of the {what}")
        screen.line(trace or "(none)")
    if found.get("topics"):
        screen.title("Topics")
        screen.line("  " + "\n  ".join(found["topics"]))
    if found.get("offsets"):
        screen.title("Offsets")
        screen.facts({place(entry): position(entry) for entry in found["offsets"]}, indent=2)
    _print_lifecycle(screen, found.get("lifecycle"))


def _print_task_configs(screen: Screen, found: Mapping[str, Any]) -> None:
    """What tasks are told beyond what the connector is."""
    own = {
        number: {key: shown(key, value) for key, value in sorted(config.items()) if found["config"].get(key) != value}
        for number, config in found.get("task_configs", {}).items()
    }
    for number, config in own.items():
        if config:
            screen.title(f"Configuration of task {number}, beyond the connector's")
            screen.facts(config, indent=2)


def _print_lifecycle(screen: Screen, lifecycle: Mapping[str, Any] | None) -> None:
    parts = ("pending", "next_hook", "cleanups")
    if lifecycle is None or (lifecycle["applied"] and not any(lifecycle[part] for part in parts)):
        return
    screen.title("Lifecycle")
    if not lifecycle["applied"]:
        screen.line("  the newest configuration is not in force yet: it will be with the next start of the tasks")
    pending = lifecycle["pending"]
    if pending:
        told_error = f": {pending['error']}" if pending.get("error") else ""
        screen.line(f"  {pending['hook']} was called {pending['tries']} times without success{told_error}")
    if lifecycle["next_hook"]:
        screen.line(f"  {lifecycle['next_hook']} will be called at the next start")
    if lifecycle["cleanups"]:
        screen.line(f"  {len(lifecycle['cleanups'])} clean-ups are open: penstock lifecycle cleanups")


def _plugin(api: ConnectApi, plugin: str, output: Format) -> None:
    keys = _keys(api, plugin)
    if output.is_data:
        return print_data(keys, output)
    screen = answers()
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for key in keys:
        groups.setdefault(key.get("group") or "Keys", []).append(key)
    for number, (group, found) in enumerate(groups.items()):
        if number:
            screen.line()
        screen.line(group, "bold")
        for key in found:
            facts = ", ".join([key["type"].lower(), key["importance"].lower(), *_default(key)])
            screen.line(f"  {key['name']}  ({facts})")
            screen.line(f"      {key['documentation']}", "dim")
    return None


def _keys(api: ConnectApi, plugin: str) -> list[Mapping[str, Any]]:
    try:
        found: list[Mapping[str, Any]] = api.get("connector-plugins", plugin, "config")
    except Refused as error:
        if error.status != 404:
            raise
        installed = api.get("connector-plugins", connectorsOnly=False)
        classes = [re.split("[.:]", one["class"])[-1] for one in installed]
        known = [name for one in classes for name in (one, one.removesuffix("Connector"))]
        raise Missing(str(error), did_you_mean(plugin, known, "penstock get plugins --all shows them.", 2)) from error
    return found


def _default(key: Mapping[str, Any]) -> list[str]:
    """What a key is without a value, where that is something: a password's default is hidden even when it is empty."""
    if key["required"]:
        return ["required"]
    default = None if key["type"] == "PASSWORD" else key["default_value"]
    return [f"default {default}"] if default else []
