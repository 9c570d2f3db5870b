"""``penstock run``: a worker on localhost with pipeline files or the built-in example."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv6Address
from pathlib import Path

from penstock.runtime.listeners import parse_listener
from penstock.runtime.pipeline_files import load_pipeline_files
from penstock.runtime.provisioning.desired import WORKER
from penstock.runtime.requests import CreateRequest
from penstock.runtime.worker_config import WorkerConfig, WorkerConfigError

from .console import StartUpConsole
from .example import example_hints, prepare_example
from .exit_codes import CONNECTOR_FILE, START_UP
from .standalone import begin_logging

LOCALHOST = "127.0.0.1"
PORT = 8083


def run_pipelines(
    paths: Sequence[Path],
    data_dir: Path | None,
    host: str | None,
    port: int | None,
    worker_file: Path | None,
    watch: bool,
    json_logs: bool = False,
) -> int:
    """Run until a signal comes; the exit code."""
    console = StartUpConsole()
    try:
        config = _worker_config(paths, data_dir, listener(host, port), worker_file, watch)
        if not watch and not _anything_to_run(config.pipelines_path, console):
            return CONNECTOR_FILE
    except WorkerConfigError as error:
        console.error(str(error))
        return START_UP
    example = config.data_dir / "example"
    try:
        config.data_dir.mkdir(parents=True, exist_ok=True)
        connectors: Sequence[CreateRequest] = () if config.pipelines_path else prepare_example(example)
    except OSError as error:
        console.error(
            f"The data folder {config.data_dir} cannot be used ({error.strerror or error}). Make it one that this user"
            " may write to, or choose another: penstock run --data-dir, or data.dir in the worker file."
        )
        return START_UP
    from .serving import serve

    log_file = config.log_file or config.data_dir / "logs" / "worker.log"
    if not begin_logging(console, config, log_file, json_logs):
        return START_UP

    def ready(url: str) -> None:
        if not config.pipelines_path:
            console.hints("Watch it from another terminal:", example_hints(url, example))
        watched = "files are applied when they change; " if config.pipelines_watch else ""
        console.done(f"Running; {watched}Ctrl-C stops")

    return serve(config, connectors, console, ready)


def listener(host: str | None, port: int | None) -> str | None:
    """Where the API listens by these options; ``None`` when neither is given.

    Raises ``WorkerConfigError`` for what is no host.
    """
    if host is None and port is None:
        return None
    host = LOCALHOST if host is None else host
    try:
        if ":" in host:
            IPv6Address(host)
        return str(parse_listener(f"http://[{host}]:{PORT if port is None else port}"))
    except ValueError:
        raise WorkerConfigError(
            f"--host {host!r} is no host: give a name or an address of this machine, such as 0.0.0.0 for all of them, "
            "without http:// and port (which is --port)"
        ) from None


def _anything_to_run(paths: Sequence[Path], console: StartUpConsole) -> bool:
    """Whether at least one pipeline can be understood; if not, says why."""
    desired = load_pipeline_files(paths).desired(WORKER)
    errors = [problem for problem in desired.problems if problem.is_error]
    spoiled = {problem.pipeline for problem in errors}
    if not errors or any(pipeline.id not in spoiled for pipeline in desired.pipelines):
        return True
    for problem in errors:
        console.error(str(problem))
    return False


def _worker_config(
    paths: Sequence[Path], data_dir: Path | None, listener: str | None, worker_file: Path | None, watch: bool
) -> WorkerConfig:
    """What the options say, then the worker file, then: this folder, localhost only, and the usual providers."""
    options = {}
    if paths:
        options["pipelines.path"] = ",".join(map(str, paths))
    if watch:
        options["pipelines.watch"] = "true"
    if data_dir is not None:
        options["data.dir"] = str(data_dir)
    if listener is not None:
        options["listeners"] = listener
    defaults = {"listeners": f"http://{LOCALHOST}:{PORT}", "config.providers": "env,file,directory"}
    if worker_file is None:
        return WorkerConfig.from_properties({**defaults, **options})
    return WorkerConfig.load(worker_file, defaults, options)
