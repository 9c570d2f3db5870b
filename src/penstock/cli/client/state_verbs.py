"""``penstock pause``, ``resume``, ``stop``, ``restart`` and ``delete``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .formats import Format
from .names import be_sure, chosen, counted, is_bulk
from .options import WAIT_SECONDS, ContextName, Everything, Names, Output, Timeout, Url, Wait, Yes, connect
from .problems import Wrong, told
from .results import Results
from .waiting import GONE, PAUSED, RESTARTED, RUNNING, STOPPED, Goal, wait_for

if TYPE_CHECKING:
    from .api import ConnectApi


@told
def pause(
    names: Names = None,
    everything: Everything = False,
    wait: Wait = False,
    timeout: Timeout = WAIT_SECONDS,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Pause connectors: their tasks stay, and move nothing.

    [bold]Examples[/]

      penstock pause orders --wait

      penstock pause --all
    """
    return _to("pause", "paused", PAUSED, connect(url, context), names, everything, wait, timeout, output)


@told
def resume(
    names: Names = None,
    everything: Everything = False,
    wait: Wait = False,
    timeout: Timeout = WAIT_SECONDS,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Resume connectors that are paused or stopped.

    [bold]Examples[/]

      penstock resume orders --wait
    """
    return _to("resume", "resumed", RUNNING, connect(url, context), names, everything, wait, timeout, output)


@told
def stop(
    names: Names = None,
    everything: Everything = False,
    wait: Wait = False,
    timeout: Timeout = WAIT_SECONDS,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Stop connectors: their tasks are given up, their offsets can be changed.

    [bold]Examples[/]

      penstock stop orders --wait
    """
    return _to("stop", "stopped", STOPPED, connect(url, context), names, everything, wait, timeout, output)


@told
def restart(
    names: Names = None,
    everything: Everything = False,
    tasks: Annotated[bool, typer.Option("--tasks", "-t", help="Restart the tasks too.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Restart only what has failed, tasks included.")] = False,
    task: Annotated[int | None, typer.Option("--task", min=0, help="Restart one task, by its number.")] = None,
    wait: Wait = False,
    timeout: Timeout = WAIT_SECONDS,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Restart connectors, their tasks, or only what has failed.

    [bold]Examples[/]

      penstock restart orders --tasks --wait

      penstock restart --all --failed

      penstock restart orders --task 2
    """
    if task is not None and (tasks or failed):
        raise Wrong("--task restarts one task; leave --tasks and --failed out.")
    api = connect(url, context)
    chosen_names = chosen(api, names, everything)
    if task is not None and len(chosen_names) != 1:
        raise Wrong("--task is for one connector.")
    results = Results("restarted", output)
    for name in chosen_names:
        results.attempt(name, lambda name=name: _restart(api, name, tasks, failed, task))  # type: ignore[misc]
    idle = [name for name in results.done if _idle(results.more.get(name))]
    results.untouched = idle
    results.verbs.update(dict.fromkeys(idle, "had nothing to restart"))
    if wait:
        results.wait(api, {name: RESTARTED for name in results.done if name not in idle}, timeout)
    return results.finish()


@told
def delete(
    names: Names = None,
    everything: Everything = False,
    with_offsets: Annotated[
        bool, typer.Option("--with-offsets", help="Forget its offsets too: the same name begins anew.")
    ] = False,
    yes: Yes = False,
    wait: Wait = False,
    timeout: Timeout = WAIT_SECONDS,
    url: Url = None,
    context: ContextName = None,
    output: Output = Format.TEXT,
) -> int:
    """Delete connectors. For patterns and [bold]--all[/] you are asked first.

    Offsets stay, so that a connector created again under the same name goes on where this one ended;
    [bold]--with-offsets[/] forgets them. Topics stay.

    [bold]Examples[/]

      penstock delete orders

      penstock delete 'try-*' --with-offsets --yes
    """
    api = connect(url, context)
    found = chosen(api, names, everything)
    if is_bulk(names, everything):
        be_sure(f"Delete {counted(found)}", found, yes)
    results = Results("deleted", output)
    for name in found:
        results.attempt(name, lambda name=name: _delete(api, name, with_offsets, timeout))  # type: ignore[misc]
    if wait:
        results.wait(api, dict.fromkeys(results.done, GONE), timeout)
    return results.finish()


def _to(
    verb: str,
    done: str,
    goal: Goal,
    api: ConnectApi,
    names: list[str] | None,
    everything: bool,
    wait: bool,
    timeout: float,
    output: Format,
) -> int:
    results = Results(done, output)
    for name in chosen(api, names, everything):
        results.attempt(name, lambda name=name: api.put("connectors", name, verb))  # type: ignore[misc]
    if wait:
        results.wait(api, dict.fromkeys(results.done, goal), timeout)
    return results.finish()


def _restart(api: ConnectApi, name: str, tasks: bool, failed: bool, task: int | None) -> Any:
    if task is not None:
        return api.post("connectors", name, "tasks", task, "restart")
    if not tasks and not failed:
        return api.post("connectors", name, "restart")
    return api.post("connectors", name, "restart", includeTasks=tasks or failed, onlyFailed=failed)


def _idle(plan: Mapping[str, Any] | None) -> bool:
    """Whether the plan of a restart restarts nothing; without a plan everything asked for was restarted."""
    return plan is not None and "RESTARTING" not in (plan["connector"]["state"], *(t["state"] for t in plan["tasks"]))


def _delete(api: ConnectApi, name: str, with_offsets: bool, timeout: float) -> None:
    """Kafka Connect cannot delete offsets with their connector, so it is stopped and they are reset before."""
    if not with_offsets:
        api.delete("connectors", name)
    elif api.is_penstock:
        api.delete("connectors", name, includeOffsets=True)
    else:
        api.put("connectors", name, "stop")
        wait_for(api, name, STOPPED, timeout)
        api.delete("connectors", name, "offsets")
        api.delete("connectors", name)
