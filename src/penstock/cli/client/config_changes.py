"""Configurations compared: which keys are new, changed or gone. Values of secret keys are not shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.runtime import secret_looks

from .screen import Screen

Config = Mapping[str, Any]



@dataclass(frozen=True)
class Change:
    """One key; ``None`` where it is not there."""

    key: str
    before: Any
    after: Any


def compare(before: Config, after: Config) -> list[Change]:
    """The keys that differ, sorted."""
    keys = sorted(before.keys() | after.keys())
    return [Change(key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)]


def shown(key: str, value: Any) -> str:
    """A value for a screen."""
    return "null" if value is None else secret_looks.shown(key, str(value))


def print_changes(screen: Screen, changes: list[Change]) -> None:
    """Like a diff: one line a key."""
    for change in changes:
        if change.before is None:
            screen.line(f"  + {change.key} = {shown(change.key, change.after)}", "green")
        elif change.after is None:
            screen.line(f"  - {change.key} = {shown(change.key, change.before)}", "red")
        else:
            before, after = shown(change.key, change.before), shown(change.key, change.after)
            screen.line(f"  ~ {change.key} = {before} → {after}", "yellow")


def as_data(changes: list[Change]) -> list[dict[str, Any]]:
    """For scripts."""
    return [
        {
            "key": change.key,
            "before": None if change.before is None else shown(change.key, change.before),
            "after": None if change.after is None else shown(change.key, change.after),
        }
        for change in changes
    ]
