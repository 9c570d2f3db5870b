"""``penstock takeover``: go on where a Kafka Connect cluster has stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from penstock.runtime.worker_config import WorkerConfigError
from penstock.storage.errors import StorageError

from .client.screen import answers
from .console import StartUpConsole
from .distributed import NO_KAFKA, run_distributed
from .exit_codes import OK, REFUSED, START_UP

if TYPE_CHECKING:
    from penstock.runtime.takeover import ConnectorTakeover, Takeover

_WHOLE = "with | cat behind the command they are whole."


def run_takeover(worker_file: Path, dry_run: bool) -> int:
    """Show what becomes of each connector and, unless it is a dry run, start a worker; the exit code."""
    console = StartUpConsole()
    try:
        from penstock.runtime.distributed_settings import load_distributed
        from penstock.runtime.takeover import examine
    except ImportError as error:
        console.error(NO_KAFKA.format(error))
        return START_UP
    try:
        found = examine(load_distributed(worker_file))
    except (WorkerConfigError, StorageError) as error:
        console.error(str(error))
        return START_UP
    _show(found)
    if found.members:
        console.warn(
            f"{len(found.members)} workers of {found.group} still run (on {', '.join(sorted(set(found.members)))}). "
            "Stop them all first: two systems must not run the same connectors."
        )
        return OK if dry_run else REFUSED
    return OK if dry_run else run_distributed(worker_file)


def _show(found: Takeover) -> None:
    screen = answers()
    screen.line(f"Connectors of {found.group}", "bold")
    screen.table(["CONNECTOR", "CLASS", "WILL BE", "TASKS", "GOES ON FROM"], map(_row, found.connectors), _WHOLE)
    for connector in found.connectors:
        if connector.problem:
            screen.line(f"{connector.name}: {connector.problem}")
        elif connector.doubt:
            screen.line(f"{connector.name}: goes on, but its tasks may fail. {connector.doubt}")
    good = sum(not connector.problem for connector in found.connectors)
    screen.line(f"{good} of {len(found.connectors)} connectors go on.")


def _row(connector: ConnectorTakeover) -> list[str]:
    state = "FAILED" if connector.problem else connector.state
    return [connector.name, connector.connector_class, state, str(connector.tasks), _offsets(connector)]


def _offsets(connector: ConnectorTakeover) -> str:
    if connector.group is not None:
        return f"{connector.offsets} partitions of group {connector.group}"
    return f"{connector.offsets} source partitions" if connector.offsets else "the beginning"
