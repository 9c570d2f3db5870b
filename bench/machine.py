"""The machine, and who else is busy on it."""

from __future__ import annotations

import os
import platform
import re
import time
from pathlib import Path

import psutil

QUIET_SHARE = 0.15
"""The share of all cores that others may use before figures count as noisy."""


def describe() -> str:
    """Cores, memory, system and Python in a line."""
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def _processor() -> str:
    try:
        found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1] if found else platform.machine()


class Others:
    """How many cores processes other than the benchmark's used, since it was made.

    On a virtual machine that includes its neighbours: what the host gave to them while something here wanted to run.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._all = _busy_seconds()
        self._ours = _own_seconds()

    def cores(self) -> float:
        """An estimate: processes of ours that were killed before anyone waited for them count as others."""
        seconds = time.monotonic() - self._began
        others = (_busy_seconds() - self._all) - (_own_seconds() - self._ours)
        return max(0.0, others / seconds)


def is_noisy(cores_of_others: float) -> bool:
    return cores_of_others > QUIET_SHARE * (os.cpu_count() or 1)


def wait_until_quiet(minutes: float) -> bool:
    """Wait for a moment in which others let the machine be, for so many minutes at most; whether it came."""
    deadline = time.monotonic() + 60 * minutes
    while True:
        others = Others()
        time.sleep(5.0)
        if not is_noisy(others.cores()):
            return True
        if time.monotonic() > deadline:
            return False


def _busy_seconds() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.system + sum(getattr(times, name, 0.0) for name in ("irq", "softirq", "steal")))


def _own_seconds() -> float:
    return sum(os.times()[:4])
