"""Runs a standalone worker in this process: start, load connectors, wait for Ctrl-C, stop."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Protocol

from penstock.api.errors import ConfigError
from penstock.rest.server import RestServer
from penstock.rest.settings import RestSettings
from penstock.runtime.assembly import StandaloneWorker
from penstock.runtime.garbage import collect_rarely
from penstock.runtime.provisioning.provisioner import Applied
from penstock.runtime.requests import CreateRequest
from penstock.runtime.worker_config import WorkerConfig
from penstock.spark.missing_jars import PACKAGES
from penstock.storage.errors import StorageError

from .console import StartUpConsole
from .exit_codes import CONNECTOR_FILE, INTERRUPTED, OK, START_UP
from .ports import OTHER_PORT, why_unusable
from .signals import StopRequest, end_by_force_after

log = logging.getLogger(__name__)

STOP_SECONDS = 10.0
"""What a clean stop may take beyond the tasks' own limit before the process ends itself."""
LINGER_SECONDS = 3.0
STOP_POLL_SECONDS = 0.2


class Stops(Protocol):
    """A worker or a server."""

    def stop(self) -> None: ...


class ConnectorFileFailed(Exception):
    """A connector named on the command line could not be created or updated; the text is for the user."""


def serve(
    config: WorkerConfig,
    connectors: Sequence[CreateRequest],
    console: StartUpConsole,
    on_ready: Callable[[str], None] = lambda url: None,
) -> int:
    """Run until a signal comes; the exit code. ``on_ready`` is called with the API's address once all is up."""
    stop = StopRequest(
        on_first=lambda: console.step("Stopping (Ctrl-C again to end at once) …"),
        on_second=lambda: console.error("Ended at once; what was not committed will be done again at the next start."),
    )
    settings = rest_settings(config, console)
    if settings is None:
        return START_UP
    worker = StandaloneWorker(config)
    worker.on_applied = lambda applied: tell_applied(applied, console)
    worker.on_spark_trouble = lambda reason: console.error(
        f"Spark did not start. It is tried again, and no records flow until it does. {reason}"
    )
    server: RestServer | None = None
    code = OK
    stopping = threading.Event()
    try:
        worker.start()
        server = RestServer(worker.herder, settings)
        server.start()
        console.done(f"API on {server.url}")
        tell_when_ready(worker.spark_ready, config, console, stopping)
        _wait_for_files(worker.provisioned, stop)
        apply_connectors(worker, connectors, console, stop)
        worker.mark_ready()
        collect_rarely()
        on_ready(server.url)
        stop.wait()
    except ConnectorFileFailed as error:
        console.error(str(error))
        code = CONNECTOR_FILE
    except StorageError as error:
        console.error(f"The worker could not start: {error}")
        code = START_UP
    except Exception as error:
        log.exception("The worker could not start")
        console.error(f"The worker could not start: {error}")
        code = START_UP
    stopping.set()
    end_by_force_after(STOP_SECONDS + config.task_shutdown_graceful_timeout_ms / 1000, code or INTERRUPTED)
    stop_all(worker, server)
    console.done("Stopped")
    end_by_force_after(LINGER_SECONDS, code)
    return code


def rest_settings(config: WorkerConfig, console: StartUpConsole) -> RestSettings | None:
    """How the API is served; says what is wrong when it cannot be."""
    try:
        settings = RestSettings.from_properties(config.properties)
    except ConfigError as error:
        console.error(f"The REST API cannot be served: {error}")
        return None
    return settings if _ports_are_free(config, console) else None


def _ports_are_free(config: WorkerConfig, console: StartUpConsole) -> bool:
    """Whether the listeners can be opened; if not, says why."""
    taken = {item: why_unusable(item) for item in (*config.listeners, *(config.admin_listeners or ()))}
    for listener, reason in taken.items():
        if reason is not None:
            console.error(f"The REST API cannot listen on {listener}: {reason}. {OTHER_PORT}")
    return not any(taken.values())


def tell_applied(applied: Applied, console: StartUpConsole) -> None:
    """What the worker's own pipeline files came to. Called on the runtime's thread."""
    for problem in applied.problems:
        (console.error if problem.is_error else console.warn)(str(problem))
    for change in applied.changes:
        console.done(change.summary)
    if not applied.changes and applied.unchanged:
        console.done(f"Pipeline files: {applied.unchanged} connectors are as they should be")


def _wait_for_files(applied: Future[None], stop: StopRequest) -> None:
    while not stop.asked:
        try:
            return applied.result(STOP_POLL_SECONDS)
        except FutureTimeoutError:
            continue


def apply_connectors(
    worker: StandaloneWorker, requests: Sequence[CreateRequest], console: StartUpConsole, stop: StopRequest
) -> None:
    """Create each connector, one after the other; one that is already there gets the new configuration."""
    for request in requests:
        if stop.asked:
            return
        try:
            console.done(f"Connector {request.name} {_apply(worker, request)}")
        except Exception as error:
            raise ConnectorFileFailed(f"Connector {request.name} could not be created: {error}") from error


def _apply(worker: StandaloneWorker, request: CreateRequest) -> str:
    herder = worker.herder
    if request.name not in herder.connectors():
        herder.create_connector(request).result()
        return "created"
    if herder.connector_info(request.name).config == request.config:
        return "is as it was"
    herder.put_config(request.name, request.config).result()
    return "updated"


def tell_when_ready(
    spark: Future[Any], config: WorkerConfig, console: StartUpConsole, stopping: threading.Event
) -> None:
    """Say when Spark is up, and before that what may take it long."""
    packages = config.spark_settings.get(PACKAGES, "").strip()
    first = f" It fetches what is not here yet of {packages}: the first time that takes a while." if packages else ""
    console.step(f"Spark is starting in the background …{first}")

    def tell(future: Future[Any]) -> None:
        if not stopping.is_set() and future.exception() is None:
            console.done("Spark is ready, records flow")

    spark.add_done_callback(tell)


def stop_all(worker: Stops, server: Stops | None) -> None:
    """Requests first, then the work; a failure of one must not keep the other from stopping."""
    for part in (server, worker):
        try:
            if part is not None:
                part.stop()
        except Exception:
            log.exception("Could not stop %s cleanly", type(part).__name__)
