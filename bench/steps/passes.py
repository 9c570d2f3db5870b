"""One pass of a file through a topic: into it, or out of it."""

from __future__ import annotations

import filecmp
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..api import file_sink, file_source
from ..figures import Figure, median
from ..memory import touch
from ..system import System
from ..usage import Usage, usage
from ..waiting import wait_for

LONGEST_SECONDS = 120.0

COPIES = 2
"""What a pass needs of pages: those of its output, and of the topic."""


@dataclass(frozen=True, slots=True)
class Pass:
    """How long it took, and the CPU of the processes that were looked at."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Goal:
    """What a pass has to reach: so many records a second, or so many times what the peer does."""

    speed: float | None = None
    times_faster: float | None = None
    times_cheaper: float | None = None


NO_GOAL = Goal()


def move_in(
    system: System, roots: Sequence[int], lines: Path, count: int, topic: str, converter: str = "String"
) -> Pass:
    """A file into a topic, from the POST to the last record; the CPU is that of ``roots`` and all they started."""
    size, connector = lines.stat().st_size, f"in-{topic}"
    touch(system.folder, COPIES * size)
    before, began = usage(roots), time.perf_counter()
    system.api.create(connector, file_source(lines, topic, converter))
    wait_for(lambda: system.has_read(connector, topic, count, size), "the file is in the topic", LONGEST_SECONDS, 0.02)
    done = _since(roots, before, began)
    system.api.delete(connector)
    return done


def move_out(system: System, roots: Sequence[int], lines: Path, topic: str, converter: str = "String") -> Pass:
    """A topic into a file, which must be the file that the topic was filled from."""
    output, size = system.folder / f"{topic}.out-lines", lines.stat().st_size
    touch(system.folder, COPIES * size)
    before, began = usage(roots), time.perf_counter()
    system.api.create(f"out-{topic}", file_sink(output, topic, converter))
    wait_for(
        lambda: output.exists() and output.stat().st_size >= size, "the topic is in the file", LONGEST_SECONDS, 0.01
    )
    done = _since(roots, before, began)
    system.api.delete(f"out-{topic}")
    if not filecmp.cmp(lines, output, shallow=False):
        raise RuntimeError(f"{output} is not what was read: lines are missing, double or out of order")
    output.unlink()
    return done


def figures_of(
    key: str, title: str, count: int, passes: Sequence[Pass], whose: str, goal: Goal = NO_GOAL
) -> list[Figure]:
    """Records a second and CPU a million records; the median of the passes."""
    speed = count / median([each.seconds for each in passes])
    cost = median([each.cpu_seconds for each in passes]) / count * 1e6
    return [
        Figure(key, title, "records/s", speed, "more", goal.speed, goal.times_faster),
        Figure(f"{key}.cpu", f"{title}: CPU of {whose}", "s per million", cost, times=goal.times_cheaper),
    ]


def _since(roots: Sequence[int], before: Usage, began: float) -> Pass:
    return Pass(time.perf_counter() - began, usage(roots).cpu_seconds - before.cpu_seconds)
