"""``penstock run``: a worker on localhost with pipeline files or the built-in example."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.runtime.logging import configure_logging
from penstock.runtime.pipeline_files import load_pipeline_files
from penstock.runtime.provisioning.desired import WORKER
from penstock.runtime.requests import CreateRequest
from penstock.runtime.worker_config import WorkerConfig, WorkerConfigError

from .console import StartUpConsole
from .example import example_hints, prepare_example
from .exit_codes import CONNECTOR_FILE, START_UP
from .standalone import announce


def run_pipelines(
    paths: Sequence[Path],
    data_dir: Path | None,
    port: int | None,
    worker_file: Path | None,
    watch: bool,
    json_logs: bool = False,
) -> int:
    """Run until a signal comes; the exit code."""
    console = StartUpConsole()
    try:
        config = _worker_config(paths, data_dir, port, worker_file, watch)
        if not watch and not _anything_to_run(config.pipelines_path, console):
            return CONNECTOR_FILE
        example = config.data_dir / "example"
        connectors: Sequence[CreateRequest] = () if config.pipelines_path else prepare_example(example)
    except (WorkerConfigError, OSError) as error:
        console.error(str(error))
        return START_UP
    from .serving import serve

    log_file = config.log_file or config.data_dir / "logs" / "worker.log"
    configure_logging(config.log_level, log_file, config.log_as_json or json_logs, config.worker_id)
    announce(console, config, log_file)

    def ready(url: str) -> None:
        if not config.pipelines_path:
            console.hints("Watch it from another terminal:", example_hints(url, example))
        watched = "files are applied when they change; " if config.pipelines_watch else ""
        console.done(f"Running; {watched}Ctrl-C stops")

    return serve(config, connectors, console, ready)


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
    paths: Sequence[Path], data_dir: Path | None, port: int | None, worker_file: Path | None, watch: bool
) -> WorkerConfig:
    """What the options say, then the worker file, then: this folder, localhost only, and the usual providers."""
    options = {}
    if paths:
        options["pipelines.path"] = ",".join(map(str, paths))
    if watch:
        options["pipelines.watch"] = "true"
    if data_dir is not None:
        options["data.dir"] = str(data_dir)
    if port is not None:
        options["listeners"] = f"http://127.0.0.1:{port}"
    defaults = {"listeners": "http://127.0.0.1:8083", "config.providers": "env,file,directory"}
    if worker_file is None:
        return WorkerConfig.from_properties({**defaults, **options})
    return WorkerConfig.load(worker_file, defaults, options)
