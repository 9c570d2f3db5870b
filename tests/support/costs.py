"""What a test run costs: wall time per test, CPU seconds per file and folder, and budgets for them. A pytest plugin.

CPU is that of a test process and of all it started: workers, JVMs, brokers, browsers. The process that runs pytest
looks at ``/proc`` twice a second and books what a process tree used since the last look on the file whose test it is
running. Processes that die between two looks with nobody waiting for them lose at most half a second.

A busy machine makes a CPU second worth less (two threads share a core), so a small piece of work of known cost is timed
all through the run, and budgets are compared with seconds of the machine on which that piece takes
``REFERENCE_SECONDS``.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

BUDGETS = Path("tests") / "budgets.yaml"
REPORT = Path("build") / "test-costs.json"
FAILURES = Path("build") / "test-failures.txt"
"""What failed so far, for who does not want to wait for the end of a long run."""

LOOK_SECONDS = 0.5
CALIBRATE_EVERY = 20
"""Looks between two calibrations."""
REFERENCE_SECONDS = 0.010
SLOWEST = 10
FOLDER = "costs_folder"
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Costs:
    """What was spent so far."""

    tests: dict[str, float] = field(default_factory=dict)
    """Wall seconds by test: set-up, call and tear-down."""
    cpu: Counter[str] = field(default_factory=Counter)
    """CPU seconds by file."""
    calibrations: list[float] = field(default_factory=list)

    def wall(self) -> Counter[str]:
        """Wall seconds by file."""
        files: Counter[str] = Counter()
        for test, seconds in list(self.tests.items()):
            files[file_of(test)] += seconds
        return files

    def factor(self) -> float:
        """How much longer the machine took for a piece of work than the one that budgets are written for."""
        found = sorted(self.calibrations)
        return found[len(found) // 2] / REFERENCE_SECONDS if found else 1.0


def file_of(test: str) -> str:
    return test.split("::", 1)[0]


def folder_of(file: str) -> str:
    """The folder that has the budget: the first one below ``tests``, or ``tests`` for a file directly in it."""
    parts = file.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def by_folder(files: Counter[str]) -> Counter[str]:
    folders: Counter[str] = Counter()
    for file, seconds in files.items():
        folders[folder_of(file)] += seconds
    return folders


def over_budget(spent: Counter[str], factor: float, budgets: dict[str, float]) -> list[str]:
    """A line for each folder that has no budget or is above it."""
    lines = []
    for folder, seconds in sorted(spent.items()):
        budget = budgets.get(folder)
        if budget is None:
            lines.append(f"{folder} has no budget: write one into {BUDGETS} ({seconds:.0f} s of CPU)")
        elif seconds / factor > budget:
            lines.append(
                f"{folder} took {seconds / factor:.0f} s of CPU (on a machine at rest), its budget is {budget:g} s: "
                f"see {REPORT} for the tests, make them cheaper or raise it in {BUDGETS}"
            )
    return lines


class Watch(threading.Thread):
    """Books the CPU of process trees on what they are running: each test process has a file in ``folder`` that says."""

    def __init__(self, costs: Costs, folder: Path, noted: Callable[[], None]) -> None:
        """``noted`` is called now and then, so that a run that is killed leaves a report, too."""
        super().__init__(name="test-costs", daemon=True)
        self.costs = costs
        self.folder = folder
        self.noted = noted
        self._owners: dict[tuple[int, int], int] = {}
        self._last: dict[int, float] = {}
        self._end = threading.Event()

    def run(self) -> None:
        looks = 0
        while not self._end.wait(LOOK_SECONDS):
            self.look()
            looks += 1
            if looks % CALIBRATE_EVERY == 0:
                self.costs.calibrations.append(piece_of_work())
                self.noted()

    def end(self) -> None:
        self._end.set()
        self.join()
        self.look()

    def look(self) -> None:
        """Book what was used since the last look."""
        running = {int(file.name): file.read_text() for file in self.folder.iterdir() if file.name.isdigit()}
        processes = read_processes()
        owners: dict[tuple[int, int], int] = {}
        used: defaultdict[int, float] = defaultdict(float)
        for pid, process in processes.items():
            owner = _root(pid, processes, running) or self._owners.get((pid, process.started))
            if owner is not None:
                owners[pid, process.started] = owner
                used[owner] += process.seconds
        self._owners = owners
        for root, seconds in used.items():
            grown = seconds - self._last.get(root, seconds)
            self._last[root] = seconds
            if grown > 0:
                self.costs.cpu[running[root]] += grown


@dataclass(frozen=True)
class Process:
    parent: int
    started: int
    seconds: float
    """Its own, and those of children that it waited for."""


def read_processes() -> dict[int, Process]:
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        ticks = sum(map(int, fields[11:15]))
        found[int(entry)] = Process(int(fields[1]), int(fields[19]), ticks / TICKS)
    return found


def _root(pid: int, processes: dict[int, Process], roots: Collection[int]) -> int | None:
    """The test process that a process descends from."""
    while pid not in roots:
        process = processes.get(pid)
        if process is None:
            return None
        pid = process.parent
    return pid


def piece_of_work() -> float:
    """CPU seconds that a fixed piece of work takes now."""
    begun = time.thread_time()
    total = 0
    for number in range(180_000):
        total += number & 7
    return time.thread_time() - begun


class CostsPlugin:
    """Runs in the process that pytest was started in; with xdist its processes tell it what they run."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.costs = Costs()
        self.folder = tempfile.TemporaryDirectory(prefix="penstock-test-costs-")
        self.watch = Watch(self.costs, Path(self.folder.name), self._write)
        self.begun = time.monotonic()
        self.too_much: list[str] = []

    def pytest_sessionstart(self) -> None:
        failures = self.config.rootpath / FAILURES
        failures.parent.mkdir(exist_ok=True)
        failures.write_text("")
        self.watch.start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[FOLDER] = self.folder.name

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.costs.tests[report.nodeid] = self.costs.tests.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            with (self.config.rootpath / FAILURES).open("a") as file:
                file.write(f"\n{'=' * 20} {report.nodeid} ({report.when})\n{report.longreprtext}\n")
                file.writelines(f"\n{'-' * 20} {title}\n{text}\n" for title, text in report.sections)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.watch.end()
        file = self.config.rootpath / BUDGETS
        budgets = (yaml.safe_load(file.read_text()) or {}) if file.exists() else {}
        self.too_much = over_budget(by_folder(self.costs.cpu), self.costs.factor(), budgets)
        if self.too_much and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._write()
        self.folder.cleanup()

    def _write(self) -> None:
        costs, wall = self.costs, time.monotonic() - self.begun
        files, cpu = costs.wall(), costs.cpu
        report = {
            "wall_seconds": round(wall, 1),
            "cpu_seconds": round(cpu.total(), 1),
            "factor": round(costs.factor(), 3),
            "folders": _table(by_folder(files), by_folder(cpu)),
            "files": _table(files, cpu),
            "tests": {test: round(seconds, 3) for test, seconds in _descending(dict(costs.tests))},
        }
        (self.config.rootpath / REPORT).write_text(json.dumps(report, indent=1))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        costs = self.costs
        terminalreporter.section("costs")
        terminalreporter.write_line(
            f"{time.monotonic() - self.begun:.0f} s, {costs.cpu.total():.0f} s of CPU, on a machine that was "
            f"{costs.factor():.2f} times as slow as the budgets' own. The slowest files of {REPORT}:"
        )
        for file, seconds in _descending(costs.wall())[:SLOWEST]:
            terminalreporter.write_line(f"  {seconds:6.0f} s {costs.cpu[file]:6.0f} s of CPU  {file}")
        for line in self.too_much:
            terminalreporter.write_line(f"OVER BUDGET: {line}", red=True)


def _descending(seconds: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda pair: -pair[1])


def _table(wall: Counter[str], cpu: Counter[str]) -> dict[str, dict[str, float]]:
    return {name: {"wall": round(seconds, 1), "cpu": round(cpu[name], 1)} for name, seconds in _descending(wall)}


class Telling:
    """Runs in each process that runs tests: tells which file it is at."""

    def __init__(self, folder: str) -> None:
        self._note = Path(folder) / str(os.getpid())
        self._file = ""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        file = file_of(nodeid)
        if file != self._file:
            self._file = file
            draft = self._note.with_name(f".{self._note.name}")
            draft.write_text(file)
            draft.replace(self._note)


def pytest_configure(config: pytest.Config) -> None:
    folder = getattr(config, "workerinput", {}).get(FOLDER)
    if folder is None:
        plugin = CostsPlugin(config)
        config.pluginmanager.register(plugin, "costs")
        folder = plugin.folder.name
    if not config.getoption("numprocesses", None):
        config.pluginmanager.register(Telling(folder), "costs-telling")
