"""Files of lines: numbered ones for throughput, time-stamped ones for latency."""

from __future__ import annotations

import contextlib
import random
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

NUMBER_DIGITS = 10
_STAMP = re.compile(rb"stamp (\d+)")
"""A time in nanoseconds."""

_LINES_A_BLOCK = 20_000
_WORDS = ("order", "customer", "shipped", "pending", "warehouse", "flange", "valve", "pump", "gasket", "invoice")


def write_numbered(path: Path, line_bytes: int, total_bytes: int) -> int:
    """Write lines of exactly ``line_bytes``, their end included: a growing number, then words. How many there are."""
    count = max(1, total_bytes // line_bytes)
    block = _block_of_words(line_bytes)
    with path.open("wb") as file:
        for first in range(0, count, len(block)):
            rows = block[: min(len(block), count - first)]
            numbers = np.arange(first, first + len(rows))
            for digit in range(NUMBER_DIGITS):
                rows[:, NUMBER_DIGITS - 1 - digit] = ord("0") + numbers // 10**digit % 10
            file.write(rows.tobytes())
    return count


def _block_of_words(line_bytes: int) -> npt.NDArray[np.uint8]:
    chance = random.Random(1)
    room = line_bytes - NUMBER_DIGITS - 2
    lines = []
    for _ in range(_LINES_A_BLOCK):
        words = [f"{chance.choice(_WORDS)}={chance.randrange(100_000)}" for _ in range(room // 8)]
        lines.append(f"{'0' * NUMBER_DIGITS} {' '.join(words)[:room]:<{room}}\n")
    block: npt.NDArray[np.uint8] = np.frombuffer("".join(lines).encode(), np.uint8).copy()
    return block.reshape(_LINES_A_BLOCK, line_bytes)


def stamped(room: int) -> bytes:
    """A line with the present time."""
    return b"stamp %d %s\n" % (time.time_ns(), b"x" * room)


class Arrivals:
    """How old each time-stamped line was when it was seen in the file, in milliseconds."""

    def __init__(self) -> None:
        self.ages: list[float] = []

    def __len__(self) -> int:
        return len(self.ages)


@contextlib.contextmanager
def watched_file(path: Path) -> Iterator[Arrivals]:
    """Follow a file of time-stamped lines while the block runs, looking about every millisecond."""
    arrivals, done = Arrivals(), threading.Event()
    watcher = threading.Thread(target=_follow, args=(path, arrivals, done), daemon=True)
    watcher.start()
    try:
        yield arrivals
    finally:
        done.set()
        watcher.join()


def _follow(path: Path, arrivals: Arrivals, done: threading.Event) -> None:
    while not path.exists():
        if done.wait(0.01):
            return
    rest = b""
    with path.open("rb", buffering=0) as file:
        while not done.wait(0.001):
            data = file.read(1 << 20)
            if not data:
                continue
            now = time.time_ns()
            *lines, rest = (rest + data).split(b"\n")
            arrivals.ages += [(now - int(found[1])) / 1e6 for line in lines if (found := _STAMP.search(line))]
