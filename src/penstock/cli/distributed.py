"""``penstock distributed``: one worker of a cluster, until a signal comes."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from penstock.runtime.worker_config import WorkerConfig, WorkerConfigError

from .console import StartUpConsole
from .exit_codes import INTERRUPTED, OK, START_UP
from .signals import StopRequest, end_by_force_after
from .standalone import begin_logging

log = logging.getLogger(__name__)

JOIN_LOOK_SECONDS = 0.1
NO_KAFKA = "Workers of a cluster need packages that are not installed ({}). Install them: pip install 'penstock[kafka]'"


def run_distributed(worker_file: Path, json_logs: bool = False) -> int:
    """Run until a signal comes; the exit code."""
    console = StartUpConsole()
    try:
        from penstock.runtime.distributed_settings import load_distributed
    except ImportError as error:
        console.error(NO_KAFKA.format(error))
        return START_UP
    try:
        config = load_distributed(worker_file)
    except WorkerConfigError as error:
        console.error(str(error))
        return START_UP
    if not begin_logging(console, config, config.log_file, json_logs):
        return START_UP
    return _serve(config, console)


def _serve(config: WorkerConfig, console: StartUpConsole) -> int:
    from penstock.rest.forwarding import client_context
    from penstock.rest.server import RestServer
    from penstock.runtime.distributed_assembly import DistributedWorker

    from .serving import LINGER_SECONDS, STOP_SECONDS, rest_settings, stop_all, tell_when_ready

    stop = StopRequest(
        on_first=lambda: console.step("Stopping (Ctrl-C again to end at once) …"),
        on_second=lambda: console.error("Ended at once; other workers take over after the session timeout."),
    )
    settings = rest_settings(config, console)
    if settings is None:
        return START_UP
    worker = DistributedWorker(config, client_context(settings.main.tls))
    server: RestServer | None = None
    code = OK
    stopping = threading.Event()
    try:
        console.step(f"Reading the internal topics of {config.values['group.id']} …")
        worker.start()
        server = RestServer(worker.herder, settings)
        server.start()
        console.done(f"API on {server.url}")
        tell_when_ready(worker.spark_ready, config, console, stopping)
        while not worker.is_member and not stop.asked:
            stopping.wait(JOIN_LOOK_SECONDS)
        if not stop.asked:
            worker.mark_ready()
            console.done(f"Worker is a member of {config.values['group.id']}")
        stop.wait()
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
