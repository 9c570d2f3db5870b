"""``penstock``: the commands and what their help says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

import penstock
from penstock.runtime.logging import no_logs_yet

from . import doctor as doctor_checks
from .client.formats import Format, print_data
from .client.options import Output
from .client.verbs import add_client_verbs
from .exit_codes import OK, USAGE
from .output import System
from .parsing import Commands

PARSER_USAGE = 2
"""What the argument parser ends with after a wrong usage."""


JsonLogs = Annotated[
    bool, typer.Option("--json-logs", help="Log one JSON object a line; also log.format=json in a worker file.")
]


class Ended(Exception):
    """A command came to its end with an exit code of its own, which is not to be mixed up with the parser's."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


app = Commands(
    name="penstock",
    help="A connector runtime: Kafka Connect's API, with the data moved by Spark.",
    epilog="Start here: [bold]penstock run[/] and open http://localhost:8083/ui",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    with_version: Annotated[bool, typer.Option("--version", help="Show the version and end.")] = False,
) -> None:
    """A connector runtime: Kafka Connect's API, with the data moved by Spark."""
    no_logs_yet()
    if with_version:
        typer.echo(f"penstock {penstock.__version__}")
        raise Ended(OK)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise Ended(USAGE)


@app.command()
def run(
    paths: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Argument(metavar="FILE_OR_FOLDER", help="Pipeline files (YAML or JSON), or folders with them."),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Apply the files again whenever they change.")] = False,
    data_dir: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--data-dir", "-d", help="The folder of everything the worker remembers (penstock-data)."),
    ] = None,
    host: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--host", help="Address the API listens on: 0.0.0.0 for all of this machine (127.0.0.1)."),
    ] = None,
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("--port", "-p", min=0, max=65535, help="Port of the API (8083)."),
    ] = None,
    worker_file: Annotated[
        Optional[Path], typer.Option("--worker-file", "-w", help="A worker file for all other settings.")  # noqa: UP045
    ] = None,
    json_logs: JsonLogs = False,
) -> None:
    """Run a worker with pipeline files, or with the built-in example.

    The files say which connectors there are: what they declare is created or updated, what they no longer declare is
    deleted. Connectors that were made by the API are left alone.

    The API listens on localhost only, unless [bold]--host[/] says otherwise: then anybody who reaches it may do
    everything, until the worker file names users. What the worker remembers (connectors, offsets, topics) stays in
    the data folder: the next run goes on where this one stopped.

    [bold]Examples[/]

      penstock run                            a live example to look at

      penstock run orders.yaml                the connectors of a file

      penstock run --watch pipelines/         all files of a folder, applied when they change

      penstock run -p 9000 -d /tmp/try        another port and folder

      penstock run --host 0.0.0.0             an API that other machines reach
    """
    from .run import run_pipelines

    raise Ended(run_pipelines(paths or [], data_dir, host, port, worker_file, watch, json_logs))


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
    json_logs: JsonLogs = False,
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

    raise Ended(run_standalone(worker_file, connector_files or [], json_logs))


@app.command()
def distributed(
    worker_file: Annotated[
        Path, typer.Argument(metavar="WORKER_FILE", help="A Kafka Connect worker file (properties).")
    ],
    json_logs: JsonLogs = False,
) -> None:
    """Run one worker of a cluster as connect-distributed does, from the same file.

    Workers with the same [bold]group.id[/] share connectors and tasks; when one goes, the others take over. What they
    remember is in three Kafka topics ([bold]config.storage.topic[/], [bold]offset.storage.topic[/],
    [bold]status.storage.topic[/]), in Kafka Connect's own format: with the topics of a Kafka Connect cluster that was
    stopped, its connectors go on here. Connectors are made over the API of any worker.

    [bold]Examples[/]

      penstock distributed worker.properties

      penstock takeover --dry-run worker.properties      what would become of a Kafka Connect cluster's connectors

    The smallest file:

      bootstrap.servers=localhost:9092

      group.id=connect-cluster

      config.storage.topic=connect-configs

      offset.storage.topic=connect-offsets

      status.storage.topic=connect-status

    With fewer than three brokers add config.storage.replication.factor=1, and the same for offset and status. A second
    worker on the same machine needs its own [bold]listeners[/] and [bold]data.dir[/].

    Exit codes: 1 wrong usage, 2 the worker could not start.
    """
    from .distributed import run_distributed

    raise Ended(run_distributed(worker_file, json_logs))


@app.command()
def takeover(
    worker_file: Annotated[
        Path, typer.Argument(metavar="WORKER_FILE", help="The worker file of the Kafka Connect cluster.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would become of each connector.")] = False,
) -> None:
    """Go on where a Kafka Connect cluster has stopped: same connectors, states, offsets and consumer groups.

    Shows for each connector in the cluster's internal topics whether its class is known here and where it goes on, then
    starts a worker as [bold]penstock distributed[/] does. Connectors of unknown classes are FAILED and lose nothing.
    Kafka Connect (3.5 or later) must be stopped; started again later, it goes on where Penstock has stopped.

    [bold]Examples[/]

      penstock takeover --dry-run connect-distributed.properties

      penstock takeover connect-distributed.properties

    Exit codes: 2 the topics cannot be read, 4 workers of the cluster still run.
    """
    from .takeover import run_takeover

    raise Ended(run_takeover(worker_file, dry_run))


@app.command()
def convert(
    system: Annotated[System, typer.Argument(metavar="SYSTEM", help="Where the file comes from: conduit.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A pipeline file of that system.")],
) -> None:
    """Turn a pipeline file of another system into one of ours.

    The result goes to standard output; what could not be converted is told on standard error.

    [bold]Examples[/]

      penstock convert conduit pipelines/orders.yaml > orders.yaml
    """
    from .convert import convert_file

    raise Ended(convert_file(file))


@app.command()
def version(output: Output = Format.TEXT) -> None:
    """Show the versions of Penstock and of what it runs on. [bold]penstock --version[/] shows its own alone.

    [bold]Examples[/]

      penstock version -o json
    """
    found = {"penstock": penstock.__version__, **doctor_checks.versions()}
    if output.is_data:
        print_data(found, output)
    else:
        for name, one in found.items():
            typer.echo(f"{name} {one}")


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


@app.command("warm-up")
def warm_up(
    again: Annotated[bool, typer.Option("--again", help="Make it anew, even if it is there.")] = False,
) -> None:
    """Prepare this installation so that Spark, and with it every worker, starts faster.

    Starts Spark once and lets its JVM keep the classes it has loaded, in a file beside the installed packages that
    later starts map into memory. Worth it in an image, or after an upgrade of Java or Spark; without it, or where the
    file does not fit, Spark starts as before.

    [bold]Examples[/]

      penstock warm-up

    Exit code 2 when nothing could be prepared.
    """
    from .warm_up import warm_up as prepare

    raise Ended(prepare(again))


add_client_verbs(app)


def main() -> None:
    """The entry point of the ``penstock`` script."""
    try:
        app(prog_name="penstock")
    except Ended as ended:
        sys.exit(ended.code)
    except SystemExit as ended:
        sys.exit(USAGE if ended.code == PARSER_USAGE else ended.code)
