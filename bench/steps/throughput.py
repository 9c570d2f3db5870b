"""Records a second from a file into a topic and from a topic into a file, from the POST to the last record."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

from ..figures import Figure
from ..lines import write_numbered
from ..system import System
from ..usage import watched
from ..worker import Penstock
from . import Run
from .first_record import move_first_record
from .passes import Goal, figures_of, move_in, move_out

LINE_BYTES = (100, 1000)
CONVERTERS = ("String", "JSON")
TARGETS = {("in", "String", 100): 2_000_000.0, ("out", "String", 100): 1_500_000.0}


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
        move_in(system, system.pids, lines, count, f"warm-{number}", CONVERTERS[0])
        move_out(system, system.pids, lines, f"warm-{number}", CONVERTERS[0])
        if time.monotonic() > began + run.scale.warm_up_seconds:
            return


def _measure_case(run: Run, system: System, lines: Path, line_bytes: int, count: int, converter: str) -> list[Figure]:
    ins, outs = [], []
    for number in range(1 + run.scale.throughput_rounds):
        name = f"{converter}-{line_bytes}-{number}".lower()
        run.say(f"file → topic → file, {line_bytes} B, {converter}, {f'round {number}' if number else 'warm-up'}")
        ins.append(move_in(system, system.pids, lines, count, name, converter))
        outs.append(move_out(system, system.pids, lines, name, converter))
    del ins[0], outs[0]
    titles = {"in": "file → topic", "out": "topic → file"}
    found: list[Figure] = []
    for way, passes in (("in", ins), ("out", outs)):
        key = f"throughput.{way}.{converter.lower()}.{line_bytes}"
        title = f"{titles[way]}, {line_bytes} B, {converter}"
        target = TARGETS.get((way, converter, line_bytes))
        found += figures_of(key, title, count, passes, "all processes", Goal(target))
    return found
