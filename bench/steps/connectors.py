"""What many connectors cost: none, 100 and 500 idle ones, then 500 that each move one record a second."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ..api import file_sink, file_source
from ..figures import Figure, percentile
from ..lines import stamped, watched_file
from ..system import System
from ..usage import Usage, idle_cpu_percent, shared_once_mb, usage
from ..waiting import wait_for
from . import Run
from .first_record import move_first_record, remove_first_record

FEW = 100
POSTING_THREADS = 4
TOPIC = "many"
RUNNING_TARGET_SECONDS = 10.0
MOST_MORE_THREADS = 100.0
"""What 500 connectors may add in threads and still count as having none of their own."""


@dataclass(frozen=True, slots=True)
class _Idle:
    usage: Usage
    pss_mb: float
    cpu_percent: float


def measure(run: Run) -> list[Figure]:
    many = run.scale.many
    with run.started() as system:
        move_first_record(system)
        remove_first_record(system)
        nothing = _idle(run, system, "no connectors")
        figures = _idle_figures(0, nothing)
        title = f"{FEW} connectors: first POST → all RUNNING"
        figures.append(Figure("connectors.few.running", title, "s", _create(run, system, FEW)))
        figures += _idle_figures(FEW, _idle(run, system, f"{FEW} idle connectors"))
        _delete_all(run, system)
        seconds = _create(run, system, many)
        title = f"{many} connectors: first POST → all RUNNING"
        figures.append(Figure("connectors.many.running", title, "s", seconds, target=RUNNING_TARGET_SECONDS))
        idle = _idle(run, system, f"{many} idle connectors")
        figures += _idle_figures(many, idle)
        more = float(idle.usage.threads - nothing.usage.threads)
        title = f"{many} connectors: threads more than with none"
        figures.append(Figure("connectors.many.more_threads", title, "threads", more, target=MOST_MORE_THREADS))
        title = f"{many} connectors: GET /connectors?expand=status"
        figures.append(Figure("connectors.many.expand", title, "ms", _expand(system)))
        figures += _one_record_a_second(run, system, many)
    return figures


def _idle(run: Run, system: System, what: str) -> _Idle:
    run.say(what)
    time.sleep(run.scale.settle_seconds)
    cpu = idle_cpu_percent(system.pids, run.scale.settle_seconds)
    return _Idle(usage(system.pids), shared_once_mb(system.pids), cpu)


def _idle_figures(count: int, idle: _Idle) -> list[Figure]:
    key, what = f"connectors.idle.{count}", f"{count} idle connectors"
    return [
        Figure(f"{key}.rss", f"{what}: memory (RSS)", "MB", idle.usage.rss_mb),
        Figure(f"{key}.pss", f"{what}: memory, shared pages once (PSS)", "MB", idle.pss_mb),
        Figure(f"{key}.threads", f"{what}: threads", "threads", float(idle.usage.threads)),
        Figure(f"{key}.processes", f"{what}: processes", "processes", float(idle.usage.processes)),
        Figure(f"{key}.cpu", f"{what}: CPU", "% of a core", idle.cpu_percent),
    ]


def _file(system: System, number: int) -> Path:
    return system.folder / f"many-{number}.txt"


def _create(run: Run, system: System, count: int) -> float:
    """Create so many sources of one topic; seconds from the first POST until all run."""
    run.say(f"creating {count} connectors")
    for number in range(count):
        _file(system, number).touch()
    began = time.perf_counter()

    def create(number: int) -> None:
        system.api.create(f"many-{number}", file_source(_file(system, number), TOPIC))

    with ThreadPoolExecutor(POSTING_THREADS) as pool:
        list(pool.map(create, range(count)))
    wait_for(lambda: _running(system) == count, f"{count} connectors run", 180.0, pause=0.05)
    return time.perf_counter() - began


def _running(system: System) -> int:
    return sum(states == ("RUNNING", "RUNNING") for states in system.api.all_states().values())


def _delete_all(run: Run, system: System) -> None:
    run.say("deleting connectors")
    with ThreadPoolExecutor(POSTING_THREADS) as pool:
        list(pool.map(system.api.delete, system.api.names()))
    wait_for(lambda: not system.api.names(), "no connectors are left", 120.0, pause=0.1)


def _expand(system: System) -> float:
    times = []
    for _ in range(20):
        began = time.perf_counter()
        system.api.all_states()
        times.append(1000 * (time.perf_counter() - began))
    return percentile(times, 0.5)


def _one_record_a_second(run: Run, system: System, count: int) -> list[Figure]:
    """Each source's file gets a line a second; one sink brings all of them into a file, where their age is seen."""
    run.say(f"{count} connectors with one record a second each")
    output, seconds = system.folder / "many.out-lines", run.scale.many_seconds
    system.api.create("many-out", file_sink(output, TOPIC))
    system.api.wait_running("many-out")
    with ExitStack() as stack:
        files = [stack.enter_context(_file(system, number).open("ab", buffering=0)) for number in range(count)]
        arrivals = stack.enter_context(watched_file(output))
        before, began, written = usage(system.pids), time.perf_counter(), 0
        while time.perf_counter() < began + seconds:
            files[written % count].write(stamped(50))
            written += 1
            time.sleep(max(0.0, began + written / count - time.perf_counter()))
        cores = (usage(system.pids).cpu_seconds - before.cpu_seconds) / seconds
        wait_for(lambda: len(arrivals) >= written, f"all {written} lines are out", 60.0, pause=0.05)
    ages, what = arrivals.ages, f"{count} connectors, one record a second each"
    return [
        Figure("connectors.moving.cpu", f"{what}: CPU", "% of a core", 100 * cores),
        Figure("connectors.moving.p50", f"{what}: lag to the output file, p50", "ms", percentile(ages, 0.5)),
        Figure("connectors.moving.p99", f"{what}: lag to the output file, p99", "ms", percentile(ages, 0.99)),
        Figure("connectors.moving.rss", f"{what}: memory (RSS)", "MB", usage(system.pids).rss_mb),
    ]
