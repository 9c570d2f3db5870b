"""The process is killed at every step of every change: nothing acknowledged is lost, nothing is there twice, nothing
is left behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.topics.interface import TopicPartition

from .world import World

LAST = 6_000

POINTS = [
    "staging-file:4",
    "staged-file:4",
    "source-commit-within:5",
    "sink-commit-within:5",
    "database-before-commit:9",
    "database-after-commit:9",
    "source-commit-after:9",
    "source-commit-after:10",
    "rewritten-file:1",
    "swap-within:1",
    "swap-after:1",
    "sweep:1",
    "sweep:3",
]


def start(folder: Path, first: int = 0, fault: str = "") -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PENSTOCK_FAULT": fault}
    command = [sys.executable, "-m", "tests.topics.crashing", str(folder), str(first), str(LAST)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def acknowledged(output: str) -> dict[str, int]:
    """The highest number of each kind; a line that the crash cut short does not count."""
    lines = [line.split() for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return {word: int(number) for word, number in lines}


def check(folder: Path, promised: dict[str, int]) -> int:
    """Open the folder as a restarted worker would and compare all it says; the next number to send."""
    world = World(folder)
    try:
        end = world.topics.end_offsets("t")[0] if "t" in world.topics.topics() else 0
        assert end >= promised.get("source", 0), "an acknowledged batch is lost"
        assert [(o, int(v or b"")) for o, (_, v) in world.records()] == [(n, n) for n in range(end)]
        assert world.offsets.get("c", {"f": "x"}) == ({"p": end} if end else None)
        position = world.topics.positions("g").get(TopicPartition("t", 0), 0)
        assert promised.get("sink", 0) <= position <= end
        assert (world.topics.sink_state("g", 0) or {}).get("seen", 0) == position
        assert_tidy(world)
        return end
    finally:
        world.close()


def assert_tidy(world: World) -> None:
    """The folders hold the files of the manifest and no others."""
    query = "SELECT file FROM segments WHERE file IS NOT NULL"
    known = {row[0] for row in world.database.read(lambda connection: connection.execute(query).fetchall())}
    assert {path.name.split("-", 1)[1] for path in world.files()} == known
    assert world.files("~staged") == []
    assert world.files("~removed") == []
    assert world.database.read(lambda c: c.execute("SELECT count(*) FROM removed_files").fetchone()[0]) == 0


@pytest.mark.integration
@pytest.mark.parametrize("fault", POINTS)
def test_a_crash_at_any_step_loses_and_doubles_nothing(tmp_path: Path, fault: str) -> None:
    process = start(tmp_path, fault=fault)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, f"{fault} was never reached: {output[-200:]}"
    following = check(tmp_path, acknowledged(output))
    process = start(tmp_path, following)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert check(tmp_path, acknowledged(output)) == LAST


@pytest.mark.integration
@pytest.mark.parametrize("fault", ["recovery-publish:1", "recovery-sweep:1", "recovery-sweep:2"])
def test_a_crash_while_recovering_from_a_crash_is_recovered(tmp_path: Path, fault: str) -> None:
    before = "source-commit-after:1" if "publish" in fault else "swap-after:1"
    process = start(tmp_path, fault=before)
    output, _ = process.communicate(timeout=120)
    again = start(tmp_path, fault=fault)
    again.communicate(timeout=120)
    assert (process.returncode, again.returncode) == (-signal.SIGKILL, -signal.SIGKILL)
    check(tmp_path, acknowledged(output))


@pytest.mark.integration
def test_crashes_at_random_moments(tmp_path: Path) -> None:
    following, rounds = 0, 0
    chance = random.Random(7)
    while following < LAST and rounds < 40:
        process = start(tmp_path, following)
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        time.sleep(chance.uniform(0, 0.25))
        process.kill()
        lines += process.communicate(timeout=120)[0].splitlines(keepends=True)
        reached = check(tmp_path, acknowledged("".join(lines)))
        assert reached >= following
        following, rounds = reached, rounds + 1
    assert following > 0
