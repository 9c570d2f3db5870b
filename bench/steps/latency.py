"""How long a line takes from file to topic to file at a steady 200 lines a second."""

from __future__ import annotations

import time

from ..api import file_sink, file_source
from ..figures import Figure, percentile
from ..lines import stamped, watched_file
from ..usage import usage
from ..waiting import wait_for
from . import Run
from .first_record import move_first_record

LINES_A_SECOND = 200
WARM_UP_SECONDS = 3.0


def measure(run: Run) -> list[Figure]:
    with run.started() as system:
        move_first_record(system)
        lines, output = system.folder / "steady.txt", system.folder / "steady.out-lines"
        lines.touch()
        system.api.create("steady-in", file_source(lines, "steady"))
        system.api.create("steady-out", file_sink(output, "steady"))
        run.say(f"{LINES_A_SECOND} lines a second")
        with watched_file(output) as arrivals, lines.open("ab", buffering=0) as file:
            written = 0
            began = time.perf_counter()
            end = began + WARM_UP_SECONDS + run.scale.latency_seconds
            before = None
            while (now := time.perf_counter()) < end:
                if before is None and now > began + WARM_UP_SECONDS:
                    before = usage(system.pids)
                file.write(stamped(80))
                written += 1
                time.sleep(max(0.0, began + written / LINES_A_SECOND - time.perf_counter()))
            assert before is not None
            cores = (usage(system.pids).cpu_seconds - before.cpu_seconds) / run.scale.latency_seconds
            wait_for(lambda: len(arrivals) >= written, f"all {written} lines are out", 30.0, pause=0.05)
        ages = arrivals.ages[int(WARM_UP_SECONDS * LINES_A_SECOND) :]
    what = f"file → topic → file at {LINES_A_SECOND} records/s"
    return [
        Figure("latency.p50", f"{what}: p50", "ms", percentile(ages, 0.5), target=100.0),
        Figure("latency.p90", f"{what}: p90", "ms", percentile(ages, 0.9)),
        Figure("latency.p99", f"{what}: p99", "ms", percentile(ages, 0.99)),
        Figure("latency.cpu", f"{what}: CPU", "% of a core", 100 * cores),
    ]
