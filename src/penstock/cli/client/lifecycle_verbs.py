"""``penstock lifecycle``: what hooks did and will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from ..parsing import Commands
from .formats import Format, print_data
from .names import be_sure, chosen
from .options import ContextName, Everything, Names, Output, Url, Yes, connect
from .problems import told
from .screen import answers
from .times import time_text

app = Commands(
    help="Lifecycle hooks: what they did, will do, and could not do.", no_args_is_help=True
)

_NEEDS = "Lifecycle hooks"


@app.command("show")
@told
def show(
    names: Names = None,
    everything: Everything = False,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> None:
    """Show the hook that is due or has failed, and the clean-ups of connectors.

    [bold]Examples[/]

      penstock lifecycle show orders
    """
    api = connect(url, context)
    with api.only_penstock(_NEEDS):
        found = [api.get("connectors", name, "lifecycle") for name in chosen(api, names, everything)]
    if output.is_data:
        print_data(found[0] if len(found) == 1 else found, output)
    else:
        answers().table(["CONNECTOR", "ACTIVE", "HOOK", "TRIES", "CLEAN-UPS", "ERROR"], [_row(one) for one in found])


@app.command("cleanups")
@told
def cleanups(url: Url = None, context: ContextName = None, output: Output = Format.TEXT) -> None:
    """List deletion hooks that still have to succeed.

    [bold]Examples[/]

      penstock lifecycle cleanups
    """
    api = connect(url, context)
    with api.only_penstock(_NEEDS):
        found: Sequence[Mapping[str, Any]] = api.get("lifecycle", "cleanups")
    if output.is_data:
        print_data(found, output)
    elif not found:
        answers().line("No clean-ups are open.")
    else:
        rows = [
            [one["id"], one["connector"], time_text(one["since"]), str(one["tries"]), _first(one.get("error"))]
            for one in found
        ]
        answers().table(["ID", "CONNECTOR", "SINCE", "TRIES", "ERROR"], rows)


@app.command("give-up")
@told
def give_up(
    cleanup: Annotated[str, typer.Argument(metavar="ID", help="The id of a clean-up.")],
    yes: Yes = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Give up a clean-up: what it would have removed stays.

    [bold]Examples[/]

      penstock lifecycle give-up 3f1c9a0b
    """
    api = connect(url, context)
    be_sure("Give up a clean-up, leaving behind what it would have removed", [cleanup], yes)
    with api.only_penstock(_NEEDS):
        api.delete("lifecycle", "cleanups", cleanup)
    answers().done(f"{cleanup} given up")


def _row(one: Mapping[str, Any]) -> list[str]:
    pending = one["pending"] or {}
    hook = pending.get("hook") or (f"{one['next_hook']} at the next start" if one["next_hook"] else "-")
    has_hooks = one["active"] is not None or hook != "-"
    active = "no hooks" if not has_hooks else "yes" if one["active"] is not None else "no"
    tries = str(pending.get("tries", "-"))
    return [one["name"], active, hook, tries, str(len(one["cleanups"])), _first(pending.get("error"))]


def _first(text: str | None) -> str:
    lines = (text or "").strip().splitlines()
    return lines[-1] if lines else ""
