"""Records a second from a file into a topic and from a topic into a file, from the POST to the last record."""

from __future__ import annotations

import filecmp
import itertools
import time
from dataclasses import dataclass
from pathlib import Path

from ..api import file_sink, file_source
from ..figures import Figure, median
from ..lines import write_numbered
from ..system import System
from ..usage import usage, watched
from ..waiting import wait_for
from ..worker import Penstock
from . import Run
from .first_record import move_first_record

LINE_BYTES = (100, 1000)
CONVERTERS = ("String", "JSON")
TARGETS = {("in", "String", 100): 2_000_000.0, ("out", "String", 100): 1_500_000.0}
LONGEST_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class _Pass:
    seconds: float
    cpu_seconds: float


def measure(run: Run) -> list[Figure]:
    figures: list[Figure] = []
    size = run.scale.file_bytes if run.kind is Penstock else run.scale.slow_file_bytes
    with run.started() as system, watched(lambda: system.pids) as peak:
        move_first_record(system)
        for line_bytes in LINE_BYTES:
            lines = system.folder / f"{line_bytes}.txt"
            count = write_numbered(lines, line_bytes, size)
            if line_bytes == LINE_BYTES[0]:
                _warm_up(run, system, lines, count)
            for converter in CONVERTERS:
                figures += _measure_case(run, system, lines, line_bytes, count, converter)
            lines.unlink()
    memory = Figure("throughput.rss", "memory of all processes at most (RSS)", "MB", peak.rss_mb)
    return [*figures, memory]


def _warm_up(run: Run, system: System, lines: Path, count: int) -> None:
    """Passes that do not count until the time is over: compilers get to know the work, or the first case pays them."""
    began = time.monotonic()
    for number in itertools.count():
        run.say(f"warm-up {number + 1}")
        _in(system, lines, count, f"warm-{number}", CONVERTERS[0])
        _out(system, lines, f"warm-{number}", CONVERTERS[0])
        if time.monotonic() > began + run.scale.warm_up_seconds:
            return


def _measure_case(run: Run, system: System, lines: Path, line_bytes: int, count: int, converter: str) -> list[Figure]:
    ins, outs = [], []
    for number in range(1 + run.scale.throughput_rounds):
        name = f"{converter}-{line_bytes}-{number}".lower()
        run.say(f"file → topic → file, {line_bytes} B, {converter}, {f'round {number}' if number else 'warm-up'}")
        ins.append(_in(system, lines, count, name, converter))
        outs.append(_out(system, lines, name, converter))
    del ins[0], outs[0]
    titles = {"in": "file → topic", "out": "topic → file"}
    figures = []
    for way, passes in (("in", ins), ("out", outs)):
        key = f"throughput.{way}.{converter.lower()}.{line_bytes}"
        title = f"{titles[way]}, {line_bytes} B, {converter}"
        speed = count / median([each.seconds for each in passes])
        cost = median([each.cpu_seconds for each in passes]) / count * 1e6
        target = TARGETS.get((way, converter, line_bytes))
        figures.append(Figure(key, title, "records/s", speed, "more", target))
        figures.append(Figure(f"{key}.cpu", f"{title}: CPU of all processes", "s per million", cost))
    return figures


def _in(system: System, lines: Path, count: int, name: str, converter: str) -> _Pass:
    size, connector = lines.stat().st_size, f"in-{name}"
    before, began = usage(system.pids), time.perf_counter()
    system.api.create(connector, file_source(lines, name, converter))
    wait_for(lambda: system.has_read(connector, name, count, size), "the file is in the topic", LONGEST_SECONDS, 0.02)
    done = _Pass(time.perf_counter() - began, usage(system.pids).cpu_seconds - before.cpu_seconds)
    system.api.delete(connector)
    return done


def _out(system: System, lines: Path, name: str, converter: str) -> _Pass:
    output = system.folder / f"{name}.out-lines"
    size = lines.stat().st_size
    before, began = usage(system.pids), time.perf_counter()
    system.api.create(f"out-{name}", file_sink(output, name, converter))
    wait_for(
        lambda: output.exists() and output.stat().st_size >= size, "the topic is in the file", LONGEST_SECONDS, 0.01
    )
    done = _Pass(time.perf_counter() - began, usage(system.pids).cpu_seconds - before.cpu_seconds)
    system.api.delete(f"out-{name}")
    if not filecmp.cmp(lines, output, shallow=False):
        raise RuntimeError(f"{output} is not what was read: lines are missing, double or out of order")
    output.unlink()
    return done
