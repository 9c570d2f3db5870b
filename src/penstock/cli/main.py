"""``penstock``: the commands and what their help says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

import penstock

from . import doctor as doctor_checks
from .exit_codes import USAGE

PARSER_USAGE = 2
"""What the argument parser ends with after a wrong usage."""


class Ended(Exception):
    """A command came to its end with an exit code of its own, which is not to be mixed up with the parser's."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


app = typer.Typer(
    name="penstock",
    help="A connector runtime: Kafka Connect's API, with the data moved by Spark.",
    epilog="Start here: [bold]penstock run[/] and open http://localhost:8083",
    no_args_is_help=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    """A connector runtime: Kafka Connect's API, with the data moved by Spark."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise Ended(USAGE)


@app.command()
def run(
    paths: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Argument(metavar="FILE|FOLDER", help="Pipeline files (YAML or JSON), or folders with them."),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Apply the files again whenever they change.")] = False,
    data_dir: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--data-dir", "-d", help="The folder of everything the worker remembers (penstock-data)."),
    ] = None,
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("--port", "-p", min=0, max=65535, help="Port of the API on localhost (8083)."),
    ] = None,
    worker_file: Annotated[
        Optional[Path], typer.Option("--worker-file", "-w", help="A worker file for all other settings.")  # noqa: UP045
    ] = None,
) -> None:
    """Run a worker with pipeline files, or with the built-in example.

    The files say which connectors there are: what they declare is created or updated, what they no longer declare is
    deleted. Connectors that were made by the API are left alone.

    The API listens on localhost only. What the worker remembers (connectors, offsets, topics) stays in the data
    folder: the next run goes on where this one stopped.

    [bold]Examples[/]

      penstock run                            a live example to look at

      penstock run orders.yaml                the connectors of a file

      penstock run --watch pipelines/         all files of a folder, applied when they change

      penstock run -p 9000 -d /tmp/try        another port and folder
    """
    from .run import run_pipelines

    raise Ended(run_pipelines(paths or [], data_dir, port, worker_file, watch))


@app.command()
def standalone(
    worker_file: Annotated[
        Path, typer.Argument(metavar="WORKER_FILE", help="A Kafka Connect worker file (properties).")
    ],
    connector_files: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Argument(
            metavar="CONNECTOR_FILE", help="Connectors: JSON (flat, or with name and config) or properties."
        ),
    ] = None,
) -> None:
    """Run one worker as connect-standalone does, from the same files.

    Each connector file creates its connector, or updates it when the worker already knows it. Kafka Connect's keys
    mean what they mean there; [bold]data.dir[/] chooses the folder of everything the worker remembers and keys that
    start with [bold]spark.[/] go to Spark.

    [bold]Examples[/]

      penstock standalone worker.properties

      penstock standalone worker.properties file-source.json file-sink.properties

    Exit codes: 1 wrong usage, 2 the worker could not start, 3 a connector file failed.
    """
    from .standalone import run_standalone

    raise Ended(run_standalone(worker_file, connector_files or []))


@app.command()
def version() -> None:
    """Show the versions of Penstock and of what it runs on."""
    typer.echo(f"penstock {penstock.__version__}")
    for name, found in doctor_checks.versions().items():
        typer.echo(f"{name} {found}")


@app.command()
def doctor(
    worker_file: Annotated[
        Optional[Path], typer.Argument(metavar="WORKER_FILE", help="Check the folder and ports it names.")  # noqa: UP045
    ] = None,
    start_spark: Annotated[
        bool, typer.Option("--spark/--no-spark", help="Also start Spark and run a job (some seconds).")
    ] = True,
) -> None:
    """Find out what would keep a worker from running, and how to mend it.

    Looks at Python, Java, Spark, the data folder, disk space and ports. Exit code 1 when something is wrong.
    """
    raise Ended(doctor_checks.examine(worker_file, start_spark))


def main() -> None:
    """The entry point of the ``penstock`` script."""
    try:
        app(prog_name="penstock")
    except Ended as ended:
        sys.exit(ended.code)
    except SystemExit as ended:
        sys.exit(USAGE if ended.code == PARSER_USAGE else ended.code)
