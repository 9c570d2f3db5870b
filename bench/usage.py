"""What processes cost: CPU, memory, threads; of some processes and all that they started."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import psutil

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """At one moment. ``rss`` counts memory shared by processes once for each of them, ``pss`` once in all."""

    cpu_seconds: float
    rss_mb: float
    threads: int
    processes: int


def tree(roots: Sequence[int]) -> list[psutil.Process]:
    """The processes and all their descendants, as far as they live."""
    found: dict[int, psutil.Process] = {}
    for root in roots:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(root)
            found.update((each.pid, each) for each in (process, *process.children(recursive=True)))
    return list(found.values())


def usage(roots: Sequence[int]) -> Usage:
    """CPU seconds include those of children that ended, so that differences of two moments are right."""
    cpu, rss, threads, processes = 0.0, 0, 0, 0
    for process in tree(roots):
        with contextlib.suppress(psutil.NoSuchProcess), process.oneshot():
            cpu += sum(process.cpu_times()[:4])
            rss += process.memory_info().rss
            threads += process.num_threads()
            processes += 1
    return Usage(cpu, rss / MEGABYTE, threads, processes)


def shared_once_mb(roots: Sequence[int]) -> float:
    """Memory with shared pages counted once (PSS), in MB."""
    total = 0
    for process in tree(roots):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            full = process.memory_full_info()
            total += getattr(full, "pss", full.rss)
    return total / MEGABYTE


def idle_cpu_percent(roots: Sequence[int], seconds: float) -> float:
    """CPU used while we only wait, in percent of one core."""
    before = usage(roots).cpu_seconds
    time.sleep(seconds)
    return 100 * (usage(roots).cpu_seconds - before) / seconds


class Peak:
    """The highest memory seen while it watched."""

    def __init__(self) -> None:
        self.rss_mb = 0.0


@contextlib.contextmanager
def watched(roots: Callable[[], Sequence[int]]) -> Iterator[Peak]:
    """Look at the memory a few times a second while the block runs."""
    peak, done = Peak(), threading.Event()

    def watch() -> None:
        while not done.wait(0.3):
            peak.rss_mb = max(peak.rss_mb, usage(roots()).rss_mb)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()
