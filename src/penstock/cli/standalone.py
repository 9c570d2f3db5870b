"""``penstock standalone``: a worker file and connector files, as Kafka Connect takes them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import penstock
from penstock.runtime.connector_files import ConnectorFileError, load_connector_file
from penstock.runtime.logging import configure_logging
from penstock.runtime.worker_config import WorkerConfig, WorkerConfigError

from .console import StartUpConsole
from .exit_codes import CONNECTOR_FILE, START_UP

log = logging.getLogger(__name__)


def run_standalone(worker_file: Path, connector_files: Sequence[Path], json_logs: bool = False) -> int:
    """Run until a signal comes; the exit code."""
    console = StartUpConsole()
    try:
        config = WorkerConfig.load(worker_file)
    except WorkerConfigError as error:
        console.error(str(error))
        return START_UP
    try:
        connectors = list(map(load_connector_file, connector_files))
    except ConnectorFileError as error:
        console.error(str(error))
        return CONNECTOR_FILE
    from .serving import serve

    if not begin_logging(console, config, config.log_file, json_logs):
        return START_UP
    return serve(config, connectors, console, lambda url: console.done("Worker is ready"))


def begin_logging(console: StartUpConsole, config: WorkerConfig, log_file: Path | None, json_logs: bool) -> bool:
    """Set up the log and say what starts; whether the log can be written."""
    as_json = config.log_as_json or json_logs
    try:
        configure_logging(config.log_level, log_file, as_json, config.worker_id, config.log_access)
    except OSError as error:
        reason = f"The log file {log_file} cannot be written ({error.strerror or error})."
        console.error(f"{reason} Choose another one with the worker key 'log.file'.")
        return False
    announce(console, config, log_file)
    return True


def announce(console: StartUpConsole, config: WorkerConfig, log_file: Path | None) -> None:
    """Say what starts and where to look. Warnings are in the log; on the console, too, where the log is elsewhere."""
    console.title(f"Penstock {penstock.__version__}")
    console.facts(
        {
            "data": str(config.data_dir),
            "log": str(log_file or "standard output"),
            "spark log": str(config.data_dir / "spark" / "spark.log"),
            "API": ", ".join(listener.local_url for listener in config.listeners),
            "web page": f"{config.listeners[0].local_url}/ui",
        }
    )
    for warning in config.warnings:
        log.warning(warning)
        if log_file is not None:
            console.warn(warning)
