"""The command line of the benchmark."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from .common import Common
from .figures import Figure, Findings
from .machine import Others, describe, wait_until_quiet
from .outcome import Outcome, recorded_peer
from .peer.connect import KafkaConnect
from .peer.jars import NoPeer, class_path
from .report import table
from .scale import FULL, QUICK, Scale
from .steps import Run, Step, all_steps
from .system import System
from .turns import Turns, take_turns, turns_of
from .worker import Penstock

console = Console()

MINUTES_ALONE, MINUTES_WITH_PEER = 9.0, 24.0
"""No step begins later than this, unless it was asked for by name."""


def main(
    only: Annotated[str, typer.Option(help="Steps to run, separated by commas.", metavar="STEPS")] = "",
    peer: Annotated[bool, typer.Option(help="Run Kafka Connect on the same work, too.")] = True,
    quick: Annotated[bool, typer.Option(help="Do little of everything: a check that the benchmark works.")] = False,
    quiet_minutes: Annotated[float, typer.Option(help="Wait so long for a quiet machine.")] = 0.0,
    record: Annotated[bool, typer.Option("--record", help="Keep the peer's figures for runs without it.")] = False,
    publish: Annotated[bool, typer.Option("--publish", help="Write the figures into docs/benchmarks.md.")] = False,
) -> None:
    """Measure Penstock and Kafka Connect on the same work and print how they compare."""
    steps = _chosen(only)
    kinds: list[type[System]] = [Penstock]
    there = _peer_is_there() if peer or "kafka" in steps else False
    if peer and there:
        kinds.append(KafkaConnect)
    if not there:
        steps.pop("kafka", None)
    if quiet_minutes and not wait_until_quiet(quiet_minutes):
        console.print("[yellow]The machine did not become quiet.[/yellow]")
    minutes = float("inf") if only else MINUTES_WITH_PEER if KafkaConnect in kinds else MINUTES_ALONE
    outcome = _measure(steps, kinds, QUICK if quick else FULL, minutes)
    console.print(table(outcome.ours, outcome.peer, outcome.peer_title))
    _warn(outcome)
    console.print(f"Saved as {os.path.relpath(outcome.save())}")
    if record:
        outcome.record_peer()
    if publish:
        outcome.publish()
    if outcome.ours.failures:
        raise typer.Exit(1)


def _chosen(only: str) -> dict[str, Step]:
    steps = all_steps()
    names = [name.strip() for name in only.split(",") if name.strip()] or list(steps)
    unknown = [name for name in names if name not in steps]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)}: the steps are {', '.join(steps)}", param_hint="--only")
    return {name: step for name, step in steps.items() if name in names}


def _peer_is_there() -> bool:
    try:
        with console.status("Looking for Kafka Connect's jars"):
            class_path()
    except NoPeer as reason:
        console.print(f"[yellow]Kafka Connect is left out: {escape(str(reason))}.[/yellow] Recorded figures are shown.")
        return False
    return True


def _measure(steps: dict[str, Step], kinds: Sequence[type[System]], scale: Scale, minutes: float) -> Outcome:
    date = datetime.now(UTC).isoformat(timespec="seconds")
    load = os.getloadavg()[0]
    found = {kind: Findings(kind.name, kind.version(), date, describe()) for kind in kinds}
    others: dict[str, float] = {}
    ends = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder, suppress(KeyboardInterrupt):
        for name, step in steps.items():
            if time.monotonic() > ends:
                console.print(f"[yellow]{name} is left out: the time is over. Choose it with --only.[/yellow]")
                continue
            watch = Others()
            _measure_step(name, step, scale, Path(folder), found)
            others[name] = watch.cores()
    measured = KafkaConnect in found
    peer = found[KafkaConnect] if measured else recorded_peer()
    return Outcome(date, found[Penstock], peer, measured, load, others)


def _measure_step(name: str, step: Step, scale: Scale, folder: Path, found: Mapping[type[System], Findings]) -> None:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    began = time.monotonic()
    with Progress(*columns, console=console, transient=True) as progress, Common(folder) as common:
        bar = progress.add_task(name, total=None)

        def turns(kind: type[System]) -> Turns:
            say = partial(_say, progress, bar, f"{name}: {kind.name}")
            return turns_of(lambda: step(Run(kind, scale, folder, say, common)))

        def done(kind: type[System], figures: Sequence[Figure]) -> None:
            found[kind].add(figures)

        def failed(kind: type[System], error: Exception) -> None:
            found[kind].failures[name] = str(error)
            console.print(f"[red]{name}: {kind.name} failed:[/red] {escape(str(error))}")

        take_turns({kind: turns(kind) for kind in found}, done, failed)
    console.print(f"{name}: {time.monotonic() - began:.0f} s")


def _say(progress: Progress, bar: TaskID, who: str, doing: str) -> None:
    progress.update(bar, description=f"{who}: {doing}")


def _warn(outcome: Outcome) -> None:
    if outcome.peer and not outcome.peer_measured:
        peer = outcome.peer
        console.print(f"Kafka Connect did not run; its figures are of {peer.date[:10]} on {peer.machine}.")
    if outcome.noisy:
        steps = ", ".join(f"{name} ({cores:.1f} cores)" for name, cores in outcome.noisy.items())
        console.print(
            f"[yellow]Others were busy on this machine (load before the run {outcome.load_before:.1f}); take these "
            f"with care: {steps}.[/yellow]"
        )


def _interrupted(number: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupted)
    typer.run(main)
