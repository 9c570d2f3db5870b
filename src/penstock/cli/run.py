"""``penstock run``: a worker on localhost with a pipeline file or the built-in example."""

from __future__ import annotations

from pathlib import Path

from penstock.runtime.connector_files import ConnectorFileError
from penstock.runtime.logging import configure_logging
from penstock.runtime.pipeline_files import load_pipelines
from penstock.runtime.worker_config import WorkerConfig, WorkerConfigError

from .console import StartUpConsole
from .example import example_hints, prepare_example
from .exit_codes import CONNECTOR_FILE, START_UP
from .standalone import announce


def run_pipelines(pipeline_file: Path | None, data_dir: Path | None, port: int | None, worker_file: Path | None) -> int:
    """Run until a signal comes; the exit code."""
    console = StartUpConsole()
    try:
        config = _worker_config(data_dir, port, worker_file)
        example = config.data_dir / "example"
        declared = load_pipelines([*config.pipelines_path, *([pipeline_file] if pipeline_file else [])])
        show_example = pipeline_file is None and not declared
        connectors = prepare_example(example) if show_example else declared
    except ConnectorFileError as error:
        console.error(str(error))
        return CONNECTOR_FILE
    except (WorkerConfigError, OSError) as error:
        console.error(str(error))
        return START_UP
    from .serving import serve

    log_file = config.log_file or config.data_dir / "logs" / "worker.log"
    configure_logging(config.log_level, log_file)
    announce(console, config, log_file)

    def ready(url: str) -> None:
        if show_example:
            console.hints("Watch it from another terminal:", example_hints(url, example))
        console.done("Running; Ctrl-C stops")

    return serve(config, connectors, console, ready)


def _worker_config(data_dir: Path | None, port: int | None, worker_file: Path | None) -> WorkerConfig:
    """What the options say, then the worker file, then: this folder, and localhost only."""
    options = {}
    if data_dir is not None:
        options["data.dir"] = str(data_dir)
    if port is not None:
        options["listeners"] = f"http://127.0.0.1:{port}"
    defaults = {"listeners": "http://127.0.0.1:8083"}
    if worker_file is None:
        return WorkerConfig.from_properties({**defaults, **options})
    return WorkerConfig.load(worker_file, defaults, options)
