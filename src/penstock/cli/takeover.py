"""``penstock takeover``: go on where a Kafka Connect cluster has stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from penstock.runtime.worker_config import WorkerConfigError
from penstock.storage.errors import StorageError

from .console import StartUpConsole
from .distributed import NO_KAFKA, run_distributed
from .exit_codes import OK, REFUSED, START_UP

if TYPE_CHECKING:
    from penstock.runtime.takeover import ConnectorTakeover, Takeover


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
    table = Table(title=f"Connectors of {found.group}", title_justify="left")
    for column in ("connector", "class", "will be", "tasks", "goes on from"):
        table.add_column(column, overflow="fold")
    for connector in found.connectors:
        state = "FAILED" if connector.problem else connector.state
        table.add_row(connector.name, connector.connector_class, state, str(connector.tasks), _offsets(connector))
    console = Console(highlight=False)
    console.print(table)
    for connector in found.connectors:
        if connector.problem:
            console.print(f"{connector.name}: {connector.problem}", soft_wrap=True, markup=False)
        elif connector.doubt:
            text = f"{connector.name}: goes on, but its tasks may fail. {connector.doubt}"
            console.print(text, soft_wrap=True, markup=False)
    good = sum(not connector.problem for connector in found.connectors)
    console.print(f"{good} of {len(found.connectors)} connectors go on.")


def _offsets(connector: ConnectorTakeover) -> str:
    if connector.group is not None:
        return f"{connector.offsets} partitions of group {connector.group}"
    return f"{connector.offsets} source partitions" if connector.offsets else "the beginning"
