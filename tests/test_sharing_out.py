"""Tests run in several processes at once: what they share stays with one of them, and nobody is in another's way."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ports import EACH, FIRST, SHARES, free_port
from tests.support.sharing_out import APART, AT_A_TIME, TOGETHER
from tests.support.sharing_out import FIRST as GO_FIRST

ROOT = Path(__file__).parents[1]
SHARED = re.compile(r'scope="(?:package|session)"\)\ndef (\w+)')
DEAR = {"cluster", "ui_worker", "browser", "client_worker", "probed_worker"}
"""Fixtures that are worth keeping their tests in one process. Others (a broker, a database) cost a few seconds."""


def test_files_that_share_dear_fixtures_stay_together() -> None:
    for conftest in (ROOT / "tests").rglob("conftest.py"):
        for fixture in DEAR.intersection(SHARED.findall(conftest.read_text())):
            users = {str(file.relative_to(ROOT)) for file in conftest.parent.rglob("test_*.py") if uses(file, fixture)}
            own = {user for user in users if f"def {fixture}(" in (ROOT / user).read_text()}
            assert any(all(user.startswith(files) for user in users - own) for files in TOGETHER.values()), (
                fixture,
                users,
            )


def uses(file: Path, fixture: str) -> bool:
    """Whether a test or a fixture of a file asks for a fixture; a plain function may call any argument so."""
    functions = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)]
    return any(fixture in {argument.arg for argument in function.args.args} for function in filter(asks, functions))


def asks(function: ast.FunctionDef) -> bool:
    return function.name.startswith("test_") or any("fixture" in ast.unparse(by) for by in function.decorator_list)


def test_what_is_named_is_there() -> None:
    named = [*GO_FIRST, *AT_A_TIME, *APART, *(file for files in TOGETHER.values() for file in files)]
    assert [path for path in named if not (ROOT / path).exists()] == []


HEAVY = """
import pathlib, time

def test_heavy():
    log = pathlib.Path(__file__).parents[2] / "log"
    for word in ("+", "-"):
        with log.open("a") as file:
            file.write(word)
        time.sleep(0.5)
"""


@pytest.mark.integration
def test_no_more_of_what_is_heavy_runs_at_a_time_than_the_machine_can_take(tmp_path: Path) -> None:
    folder, most = "tests/distributed/", AT_A_TIME["tests/distributed/"]
    (tmp_path / folder).mkdir(parents=True)
    for number in range(2 * most):
        (tmp_path / folder / f"test_heavy_{number}.py").write_text(HEAVY)
    for number in range(10 * most):
        (tmp_path / f"test_light_{number}.py").write_text("import time\ndef test_light(): time.sleep(0.3)\n")
    done = run_shared_out(tmp_path, processes=2 * most)
    assert f"{12 * most} passed" in done.stdout
    assert done.returncode == 0
    running = list(itertools.accumulate(1 if word == "+" else -1 for word in (tmp_path / "log").read_text()))
    assert max(running) <= most
    assert len(running) == 4 * most


def run_shared_out(folder: Path, processes: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.sharing_out", "-n", str(processes)]
    command += ["--dist", "loadfile", "--no-loadscope-reorder", "-p", "no:cacheprovider"]
    command += ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_a_port_is_given_once_and_is_not_one_of_a_client() -> None:
    ports = [free_port() for _ in range(200)]
    assert len(set(ports)) == len(ports)
    assert FIRST <= min(ports) <= max(ports) < FIRST + EACH * SHARES < 32768


@pytest.mark.integration
def test_a_test_that_ends_its_process_fails_once_and_the_others_are_run(tmp_path: Path) -> None:
    (tmp_path / "test_dying.py").write_text("import os\ndef test_dying(): os._exit(0)\ndef test_next(): pass\n")
    (tmp_path / "test_fine.py").write_text("def test_fine(): pass\n")
    done = run_shared_out(tmp_path, processes=2)
    assert done.returncode == 1, done.stdout
    assert "test_dying.py::test_dying" in done.stdout
    assert "1 failed, 2 passed" in done.stdout
