"""``penstock create``, ``patch`` and ``edit``: configurations made and changed. (``apply -f`` is beside ``apply``.)"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .close_names import mistyped_keys
from .config_changes import as_data, compare, print_changes
from .config_writing import Written, apply_wanted, edited_config, patched, target_of, validated
from .connector_texts import read_connectors
from .formats import Format, print_data
from .names import chosen, the_one
from .options import (
    WAIT_SECONDS,
    Connector,
    ContextName,
    DryRun,
    Everything,
    Names,
    Output,
    Timeout,
    Url,
    Wait,
    Yes,
    connect,
)
from .problems import Outdated, Wrong, told
from .results import Results
from .screen import answers, errors, is_interactive
from .waiting import GOALS, wait_for

if TYPE_CHECKING:
    from .api import ConnectApi

Files = Annotated[
    list[Path],
    typer.Option("--file", "-f", help="A connector: JSON, YAML or properties; - is standard input. May be repeated."),
]
Name = Annotated[str | None, typer.Option("--name", "-n", help="Another name for the one connector.")]


@told
def create(
    files: Files,
    name: Name = None,
    stopped: Annotated[bool, typer.Option("--stopped", help="Do not start it: offsets can be set first.")] = False,
    paused: Annotated[bool, typer.Option("--paused", help="Create it paused.")] = False,
    dry_run: DryRun = False,
    wait: Wait = False,
    timeout: Timeout = WAIT_SECONDS,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Create connectors from files. A name that is taken is an error; [bold]apply -f[/] changes what is there.

    [bold]Examples[/]

      penstock create -f orders.json --wait

      penstock create -f orders.yaml --name orders-copy --stopped
    """
    if stopped and paused:
        raise Wrong("Use --stopped or --paused.")
    api = connect(url, context)
    results = Results("would be created" if dry_run else "created", output)
    goals, notes = {}, []
    for wanted in read_connectors(files, name):
        body = wanted.body()
        if stopped or paused:
            body["initial_state"] = "STOPPED" if stopped else "PAUSED"
        goals[wanted.name] = GOALS[body.get("initial_state", "RUNNING")]
        if dry_run:
            results.attempt(wanted.name, lambda wanted=wanted: validated(api, wanted.name, wanted.config))  # type: ignore[misc]
        else:
            results.attempt(wanted.name, lambda body=body: api.post("connectors", body=body))  # type: ignore[misc]
        if wanted.name in results.done:
            notes += mistyped_keys(api, wanted.config, wanted.config)
    if wait and not dry_run:
        results.wait(api, {one: goals[one] for one in results.done}, timeout)
    _note(notes)
    return results.finish()


def apply_connectors(
    api: ConnectApi, files: list[Path], name: str | None, dry_run: bool, wait: bool, timeout: float, output: Format
) -> int:
    """``penstock apply -f``: create or change connectors, telling which keys change."""
    written: list[Written] = []
    results = Results("applied", output)
    for wanted in read_connectors(files, name):
        results.attempt(wanted.name, lambda wanted=wanted: written.append(apply_wanted(api, wanted, dry_run)))  # type: ignore[misc]
    if wait and not dry_run:
        _wait(api, results, written, timeout)
    return _finish(written, results, dry_run)


@told
def patch(
    names: Names = None,
    everything: Everything = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", "-s", help="A key and its value: tasks.max=4. May be repeated.")
    ] = None,
    removed: Annotated[list[str] | None, typer.Option("--remove", "-r", help="A key to remove.")] = None,
    dry_run: DryRun = False,
    wait: Wait = False,
    timeout: Timeout = WAIT_SECONDS,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Change some keys of connectors, leaving the others as they are.

    [bold]Examples[/]

      penstock patch orders --set tasks.max=4 --wait

      penstock patch 'orders-*' -s errors.tolerance=all -r batch.size --dry-run
    """
    wanted = _patch(settings or [], removed or [])
    api = connect(url, context)
    written: list[Written] = []
    results = Results("patched", output)
    for name in chosen(api, names, everything):
        results.attempt(name, lambda name=name: written.append(patched(api, name, wanted, dry_run)))  # type: ignore[misc]
    if wait and not dry_run:
        _wait(api, results, written, timeout)
    return _finish(written, results, dry_run)


@told
def edit(
    connector: Connector,
    yes: Yes = False,
    wait: Wait = False,
    timeout: Timeout = WAIT_SECONDS,
    url: Url = None,
    context: ContextName = None,
) -> int:
    """Change a configuration in your editor ($VISUAL or $EDITOR): see what changes, agree, done.

    [bold]Examples[/]

      penstock edit orders
    """
    api = connect(url, context)
    name = the_one(api, connector)
    before = api.get("connectors", name, "config")
    after = edited_config(name, before)
    changes = compare(before, after)
    if not changes:
        answers().line(f"{name}: nothing changes.")
        return 0
    validated(api, name, after)
    print_changes(answers(), changes)
    _note(mistyped_keys(api, after, [change.key for change in changes if change.after is not None]))
    if not yes and not (is_interactive() and typer.confirm("Change it?", err=True)):
        raise Wrong("Nothing was changed.", "" if is_interactive() else "Pass --yes to change it without asking.")
    if api.get("connectors", name, "config") != before:
        raise Outdated(f"Somebody else has changed {name} meanwhile; nothing was done.", f"penstock edit {name}")
    goal = GOALS[target_of(api, name)]
    api.put("connectors", name, "config", body=after)
    answers().done(f"{name} changed")
    if wait:
        wait_for(api, name, goal, timeout, changed=True)
    return 0


def _patch(settings: list[str], removed: list[str]) -> dict[str, str | None]:
    wanted: dict[str, str | None] = dict.fromkeys(removed)
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise Wrong(f"'{setting}' is not a key and a value.", "--set looks like --set tasks.max=4")
        if key in wanted:
            raise Wrong(f"'{key}' is set and removed at once.")
        wanted[key] = value
    if not wanted:
        raise Wrong("What should change?", "--set KEY=VALUE sets a key, --remove KEY removes one.")
    return wanted


def _wait(api: ConnectApi, results: Results, written: list[Written], timeout: float) -> None:
    goals = {one.name: GOALS[one.goal] for one in written if one.action != "unchanged"}
    results.wait(api, goals, timeout, [one.name for one in written if one.action == "changed"])


def _finish(written: list[Written], results: Results, dry_run: bool) -> int:
    """Print what became of each; the exit code. What was written and did not run afterwards has failed."""
    problems = dict(results.failed)
    _note([note for one in written for note in one.notes])
    if results.output.is_data:
        changes = {one.name: {"changes": as_data(one.changes)} for one in written}
        done = [{"name": one.name, "action": one.action, **changes[one.name]} for one in written]
        failed = [
            {"name": name, "action": "failed", "message": str(error), **changes.get(name, {})}
            for name, error in results.failed
        ]
        print_data([*(one for one in done if one["name"] not in problems), *failed], results.output)
    else:
        for one in written:
            _tell(one, dry_run, one.name not in problems)
    return results.code


def _note(notes: list[str]) -> None:
    for note in dict.fromkeys(notes):
        errors().note(note)


def _tell(written: Written, dry_run: bool, reached: bool) -> None:
    screen = answers()
    if written.action == "unchanged":
        screen.line(f"  {written.name} unchanged", "dim")
    elif dry_run:
        screen.line(f"{written.name} would be {written.action}:")
    elif reached:
        screen.done(f"{written.name} {written.action}")
    else:
        screen.line(f"{written.name} {written.action}, but not {written.goal}:")
    print_changes(screen, written.changes)
