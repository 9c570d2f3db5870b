"""``GET /connectors/{name}/status``: how fast one answer is, and how many there are in a second."""

from __future__ import annotations

from ..api import file_source
from ..figures import Figure, percentile
from ..http_load import get_repeatedly
from ..lines import write_numbered
from ..pressure import full_speed
from . import Run
from .first_record import move_first_record

CONNECTIONS = 8
PAUSE_SECONDS = 0.005


def measure(run: Run) -> list[Figure]:
    seconds = run.scale.status_seconds
    with run.started() as system:
        move_first_record(system)
        lines, quiet = system.folder / "100.txt", system.folder / "quiet.txt"
        write_numbered(lines, 100, run.scale.file_bytes)
        quiet.write_text("one line\n")
        system.api.create("asked", file_source(quiet, "quiet"))
        system.api.wait_running("asked")
        url = f"{system.api.url}/connectors/asked/status"
        run.say("warm-up")
        get_repeatedly(url, CONNECTIONS, seconds)
        run.say(f"{CONNECTIONS} connections while nothing else happens")
        idle = get_repeatedly(url, CONNECTIONS, seconds)
        with full_speed(system, lines):
            run.say("one connection while data flows")
            single = get_repeatedly(url, 1, seconds, PAUSE_SECONDS).milliseconds
            run.say(f"{CONNECTIONS} connections while data flows")
            busy = get_repeatedly(url, CONNECTIONS, seconds)
    what, eight = "GET status", f"GET status, {CONNECTIONS} connections"
    return [
        Figure("status.p50", f"{what} while data flows: p50", "ms", percentile(single, 0.5)),
        Figure("status.p99", f"{what} while data flows: p99", "ms", percentile(single, 0.99)),
        Figure("status.busy", f"{eight} while data flows", "requests/s", busy.per_second, "more"),
        Figure("status.idle", f"{eight}, idle", "requests/s", idle.per_second, "more"),
    ]
