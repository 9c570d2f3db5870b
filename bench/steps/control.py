"""Every control action, from the request until the status shows its effect: idle, and while data flows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ..api import Api, file_source
from ..figures import Figure, median, percentile
from ..lines import write_numbered
from ..pressure import full_speed
from ..system import System
from ..waiting import wait_for
from . import Run
from .first_record import move_first_record

Times = dict[str, list[float]]

TITLES = {
    "create": "POST → RUNNING",
    "pause": "pause → PAUSED",
    "resume": "resume → RUNNING",
    "restart": "restart with tasks → RUNNING",
    "stop": "stop → STOPPED",
    "patch": "PATCH offsets → 200",
    "delete": "DELETE → 204",
}
TARGET_MS = 200.0
RUNNING = ("RUNNING", "RUNNING")
LINE, LINES = "one line\n", 10


def measure(run: Run) -> list[Figure]:
    with run.started() as system:
        move_first_record(system)
        lines, quiet = system.folder / "100.txt", system.folder / "quiet.txt"
        write_numbered(lines, 100, run.scale.file_bytes)
        quiet.write_text(LINE * LINES)
        _rounds(run, system, quiet, "warm", 1)
        idle = _rounds(run, system, quiet, "idle", run.scale.control_rounds)
        with full_speed(system, lines):
            busy = _rounds(run, system, quiet, "while data flows", run.scale.control_rounds)
    return [*_figures("busy", "while data flows", busy, TARGET_MS), *_figures("idle", "idle", idle, None)]


def _figures(key: str, when: str, times: Times, target: float | None) -> list[Figure]:
    figures = []
    for action, title in TITLES.items():
        ms = times[action]
        figures.append(Figure(f"control.{key}.{action}", f"{title}, {when}: median", "ms", median(ms), target=target))
        figures.append(Figure(f"control.{key}.{action}.p95", f"{title}, {when}: p95", "ms", percentile(ms, 0.95)))
    return figures


def _rounds(run: Run, system: System, quiet: Path, when: str, rounds: int) -> Times:
    times: Times = {action: [] for action in TITLES}
    for number in range(rounds):
        run.say(f"control actions {when}, round {number + 1} of {rounds}")
        _round(system, f"subject-{when.replace(' ', '-')}-{number}", quiet, times)
    return times


def _round(system: System, name: str, quiet: Path, times: Times) -> None:
    api, path = system.api, f"/connectors/{name}"

    def timed(action: str, request: Callable[[], None], *states: str) -> None:
        began = time.perf_counter()
        request()
        if states:
            _wait_states(api, name, states)
        times[action].append(1000 * (time.perf_counter() - began))

    timed("create", lambda: api.create(name, file_source(quiet, name)), *RUNNING)
    wait_for(lambda: system.has_read(name, name, LINES, LINES * len(LINE)), f"{name} has read its file", 30.0)
    timed("pause", lambda: api.put(f"{path}/pause"), "PAUSED", "PAUSED")
    timed("resume", lambda: api.put(f"{path}/resume"), *RUNNING)
    timed("restart", lambda: _restart(system, name), *RUNNING)
    timed("stop", lambda: api.put(f"{path}/stop"), "STOPPED")
    offsets = [{"partition": {"filename": str(quiet)}, "offset": {"position": 0}}]
    timed("patch", lambda: api.patch(f"{path}/offsets", {"offsets": offsets}))
    timed("delete", lambda: api.delete(name))


def _restart(system: System, name: str) -> None:
    """Ask for a restart; where the old RUNNING can still be seen after the answer, wait until it is gone."""
    system.api.post(f"/connectors/{name}/restart?includeTasks=true&onlyFailed=false")
    if not system.shows_restarting_first:
        wait_for(lambda: system.api.states(name) != RUNNING, f"{name} restarts", 30.0, pause=0.001)


def _wait_states(api: Api, name: str, states: tuple[str, ...]) -> None:
    wait_for(lambda: api.states(name) == states, f"{name} is {states}", 60.0)
