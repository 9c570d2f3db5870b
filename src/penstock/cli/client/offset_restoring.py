"""``penstock offsets restore``: offsets whose topic was deleted, back from the memory of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .api import ConnectApi
from .formats import Format
from .offset_moves import while_stopped
from .offset_views import changes, changes_table
from .problems import Refused
from .results import Results
from .screen import errors


def restore(
    api: ConnectApi, names: Sequence[str], force: bool, dry_run: bool, stop: bool, timeout: float, output: Format
) -> int:
    """Restore some sources, or show what would be written; the exit code. Raises where nothing of any was lost."""
    results = Results("restored", output)
    results.untouched = untouched = []
    for name in names:
        results.attempt(name, lambda name=name: _asked(api, name, force, dry_run=True))  # type: ignore[misc]
    foreseen, results.done, results.more = results.more, [], {}
    if foreseen and not results.failed and not any(found["offsets"] for found in foreseen.values()):
        told = "\n".join(str(found["message"]) for found in foreseen.values())
        raise Refused(200, f"There is nothing to restore.\n{told}", "--force writes all that is known again.")
    for name, found in foreseen.items():
        if not found["offsets"]:
            results.verbs[name] = "has lost nothing"
            untouched.append(name)
            results.done.append(name)
        elif dry_run:
            if not output.is_data:
                changes_table(name, changes([], found["offsets"]))
            results.attempt(name, lambda found=found: found)  # type: ignore[misc]
        else:
            results.attempt(name, lambda name=name: _restored(api, name, force, stop, timeout))  # type: ignore[misc]
    code = results.finish(tell_done=not dry_run)
    made = {topic for found in results.more.values() for topic in found["deleted"]}
    if made and not dry_run:
        errors().note(
            f"Made again: {', '.join(sorted(made))}. Now restart the other workers of the cluster, one after the "
            "other: they still follow the topic that was deleted."
        )
    return code


def sources(api: ConnectApi, names: Sequence[str]) -> list[str]:
    """Those of some connectors that are sources."""
    return [name for name in names if api.get("connectors", name).get("type") != "sink"]


def _restored(api: ConnectApi, name: str, force: bool, stop: bool, timeout: float) -> Mapping[str, Any]:
    return while_stopped(api, name, stop, timeout, lambda: _asked(api, name, force))


def _asked(api: ConnectApi, name: str, force: bool, dry_run: bool = False) -> Mapping[str, Any]:
    hint = "penstock offsets get shows offsets, penstock offsets set writes them."
    with api.only_penstock("Restoring offsets", hint):
        found: Mapping[str, Any] = api.post(
            "connectors", name, "offsets", "restore", force=force or None, dryRun=dry_run or None
        )
        return found
