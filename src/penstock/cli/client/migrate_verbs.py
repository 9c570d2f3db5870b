"""``penstock migrate``: connectors moved from one worker to another."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from ..signals import sigterm_as_interrupt
from .contexts import Context, Contexts, with_url
from .formats import Format
from .journal import Journal, Step
from .names import chosen
from .options import WAIT_SECONDS, Everything, Names, Output, Timeout
from .problems import Interrupted, Missing, Wrong, tell, told
from .results import Results
from .screen import errors

if TYPE_CHECKING:
    from .api import ConnectApi
    from .migration import Migration


@told
def migrate(
    names: Names = None,
    everything: Everything = False,
    origin: Annotated[str, typer.Option("--from", help="Where they are: a URL or the name of a context.")] = "",
    target: Annotated[str, typer.Option("--to", help="Where they go: a URL or the name of a context.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Take back a migration that was interrupted.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check whether it can be done.")] = False,
    anyway: Annotated[bool, typer.Option("--anyway", help="Sinks too, though the target has other topics.")] = False,
    timeout: Timeout = WAIT_SECONDS,
    output: Output = Format.TEXT,
) -> int:
    """Move connectors with their offsets from one worker to another, of Penstock or of Kafka Connect.

    One after the other: stop, read the offsets, create it stopped at the target, set the offsets there, resume it
    there, delete it at the origin (KIP-980). Each step is checked. When one fails, all is undone and the connector goes
    on at the origin; when this command is interrupted, the same command goes on with it.

    [bold]Examples[/]

      penstock migrate orders --from http://old:8083 --to http://new:8083

      penstock migrate 'orders-*' --from old --to new --dry-run      names of contexts

    Exit codes: 4 a worker refused, 8 a connector did not reach its state; both after undoing.
    """
    places = [_context("--from", origin), _context("--to", target)]
    apis = [_api(place) for place in places]
    if apis[0].url == apis[1].url:
        raise Wrong("--from and --to are the same worker.")
    results = Results("checked" if dry_run else "back at the origin" if undo else "migrated", output)
    for name in _names(apis, names, everything):
        migration = _migration(apis, name, timeout)
        try:
            with sigterm_as_interrupt():
                results.attempt(name, lambda one=migration: _carry_out(one, undo, dry_run, anyway))  # type: ignore[misc]
        except KeyboardInterrupt:
            problem = Interrupted(migration.standing(), _ways(migration, origin, target))
            results.fail(name, problem)
            results.finish()
            if output.is_data:
                tell(problem)
            return problem.code
    return results.finish()


def _carry_out(migration: Migration, undo: bool, dry_run: bool, anyway: bool) -> None:
    begun = migration.journal.step is not Step.NEW
    if undo:
        if not begun:
            raise Missing(f"No migration of {migration.name} between these workers was interrupted.")
        migration.undo()
        return
    if not begun:
        migration.check(anyway)
    if not dry_run:
        migration.run()


def _ways(migration: Migration, origin: str, target: str) -> str:
    """The commands that go on with an interrupted migration, and that take it back."""
    if migration.journal.step is Step.NEW:
        return ""
    command = shlex.join(["penstock", "migrate", migration.name, "--from", origin, "--to", target])
    back = f", {command} --undo takes it back" if migration.can_undo else ""
    return f"{command} goes on with it{back}."


def _names(apis: list[ConnectApi], names: list[str] | None, everything: bool) -> list[str]:
    """Those at the origin, and by its exact name one that an interrupted migration has already deleted there."""
    gone = [name for name in names or [] if Journal.open(apis[0].url, apis[1].url, name).step is Step.DELETING]
    left = [name for name in names or [] if name not in gone]
    return gone + (chosen(apis[0], left or None, everything) if left or everything or not gone else [])


def _migration(apis: list[ConnectApi], name: str, timeout: float) -> Migration:
    from .migration import Migration

    journal = Journal.open(apis[0].url, apis[1].url, name)
    return Migration(name, apis[0], apis[1], journal, timeout, lambda text: errors().line(f"{name}: {text}"))


def _context(option: str, text: str) -> Context:
    if not text:
        raise Wrong(f"{option} is missing.", "It is a URL or the name of a context.")
    return with_url(text) if text.startswith(("http://", "https://")) else Contexts.load().get(text)


def _api(context: Context) -> ConnectApi:
    from .api import ConnectApi

    return ConnectApi(context)
