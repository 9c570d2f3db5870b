"""A plan on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape

from penstock.runtime.provisioning import plan as words
from penstock.runtime.provisioning.plan import Change, KeyChange, Plan
from penstock.runtime.provisioning.problems import Problem

SIGNS = {
    words.CREATE: ("+", "green", "create connector"),
    words.CREATE_TOPIC: ("+", "green", "create topic"),
    words.UPDATE: ("~", "yellow", "update connector"),
    words.CHANGE_TOPIC: ("~", "yellow", "change topic"),
    words.STATE: ("~", "yellow", "change state of connector"),
    words.CLAIM: ("=", "dim", "note connector"),
    words.DELETE: ("-", "red", "delete connector"),
}
SUMMED = {
    words.CREATE: "to create",
    words.UPDATE: "to update",
    words.STATE: "to change state",
    words.DELETE: "to delete",
    words.CREATE_TOPIC: "topics to create",
    words.CHANGE_TOPIC: "topics to change",
    words.CLAIM: "to note",
}
LONGEST_VALUE = 100


def print_plan(plan: Plan, console: Console) -> None:
    """Problems, then what would be done in the order it would be done, then the sum, and why apply refuses it."""
    for problem in plan.problems:
        console.print(_problem(problem))
    for change in plan.changes:
        for line in _lines(change):
            console.print(line)
        console.print()
    console.print(f"[bold]{escape(summary(plan))}[/]")
    if plan.refused is not None:
        console.print(f"[yellow]warning[/]  apply refuses this plan: {escape(plan.refused)}")


def summary(plan: Plan) -> str:
    """One line: how many of what."""
    if plan.hash is None:
        count = sum(problem.is_error for problem in plan.problems)
        return f"{count} error{'s' * (count != 1)}: nothing can be applied."
    counts = Counter(change.action for change in plan.changes)
    parts = [f"{counts[action]} {text}" for action, text in SUMMED.items() if counts[action]]
    left = f"{plan.unchanged} unchanged"
    return f"Plan {plan.hash}: {', '.join([*parts, left])}." if parts else f"Nothing to do: {left}."


def _lines(change: Change) -> Iterator[str]:
    sign, colour, verb = SIGNS[change.action]
    effect = "" if change.effect == "nothing" else f"  [{colour}]{change.effect}[/]"
    yield (
        f"[{colour}]{sign} {verb} [bold]{escape(change.name)}[/bold][/]  "
        f"[dim]pipeline {escape(change.pipeline)}, {escape(change.file)}[/]{effect}"
    )
    if change.action == words.CLAIM:
        yield f"    {escape(change.summary)}"
    for key in change.keys:
        yield f"    {_key(key)}"
    if change.state is not None and change.action not in (words.CREATE, words.DELETE):
        yield f"    status: {change.state.before} → {change.state.after}{_drift(change.state.drift)}"
    for hook in change.hooks:
        with_what = " and ".join(_configs(hook.before is not None, hook.after is not None))
        yield f"    [magenta]on_{hook.hook}()[/] is called {escape(hook.when)}, with {with_what}"
    for note in change.notes:
        yield f"    [dim]{escape(note)}[/]"


def _configs(before: bool, after: bool) -> Iterator[str]:
    if before:
        yield "the active configuration"
    if after:
        yield "the new configuration"


def _key(change: KeyChange) -> str:
    name = escape(change.key)
    if change.before is None:
        return f"[green]+ {name}: {_value(change.after)}[/]"
    if change.after is None:
        return f"[red]- {name}: {_value(change.before)}[/]{_drift(change.drift)}"
    return f"[yellow]~ {name}: {_value(change.before)} → {_value(change.after)}[/]{_drift(change.drift)}"


def _drift(drift: bool) -> str:
    return "  [magenta](drift: changed by the API)[/]" if drift else ""


def _value(value: str | None) -> str:
    text = "null" if value is None else value
    return escape(text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…")


def _problem(problem: Problem) -> str:
    kind = "[bold red]error[/]" if problem.is_error else "[yellow]warning[/]"
    return f"{kind}  {escape(str(problem))}"
