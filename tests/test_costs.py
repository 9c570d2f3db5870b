"""What a test run costs is written down, and a folder that costs more than it may fails the run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.costs import BUDGETS, FAILURES, REPORT, over_budget

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[1]

BUSY = """
import subprocess, sys

BURN = "import time\\nwhile time.process_time() < 3: pass"

def test_busy():
    subprocess.run([sys.executable, "-c", BURN], check=True)
"""
"""A test that costs three seconds of CPU, none of them in its own process."""

IDLE = """
import time

def test_idle():
    time.sleep(1.5)
"""


@dataclass
class Run:
    code: int
    out: str
    report: dict[str, Any]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder that costs CPU, and one that only waits."""
    for name, text in (("busy", BUSY), ("idle", IDLE)):
        (tmp_path / "tests" / name).mkdir(parents=True)
        (tmp_path / "tests" / name / f"test_{name}.py").write_text(text)
    return tmp_path


def run(suite: Path, budgets: dict[str, float], options: Sequence[str] = ("-n2", "--dist", "loadfile")) -> Run:
    (suite / BUDGETS).write_text(yaml.safe_dump(budgets))
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.costs", *options]
    command += ["-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(suite), str(suite)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    return Run(done.returncode, done.stdout, json.loads((suite / REPORT).read_text()))


@pytest.mark.parametrize("options", [("-n2", "--dist", "loadfile"), ("-n0",)])
def test_cpu_of_processes_that_a_test_starts_is_booked_on_its_file(suite: Path, options: Sequence[str]) -> None:
    done = run(suite, {"tests/busy": 100, "tests/idle": 100}, options)
    assert done.code == 0, done.out
    busy, idle = (done.report["files"][f"tests/{name}/test_{name}.py"] for name in ("busy", "idle"))
    assert busy["cpu"] >= 2
    assert idle["wall"] >= 1.5
    assert idle["cpu"] < busy["cpu"]
    assert done.report["folders"]["tests/busy"] == busy
    assert done.report["tests"]["tests/idle/test_idle.py::test_idle"] >= 1.5
    assert "tests/busy/test_busy.py" in done.out


def test_what_failed_can_be_read_before_the_end_of_the_run(suite: Path) -> None:
    (suite / "tests" / "idle" / "test_idle.py").write_text("def test_red():\n    print('said')\n    assert 1 == 2\n")
    done = run(suite, {"tests/busy": 100, "tests/idle": 100})
    assert done.code == 1
    failures = (suite / FAILURES).read_text()
    assert "tests/idle/test_idle.py::test_red (call)" in failures
    assert "assert 1 == 2" in failures
    assert "said" in failures
    assert "test_busy" not in failures


def test_a_folder_over_its_budget_fails_a_run_whose_tests_pass(suite: Path) -> None:
    done = run(suite, {"tests/busy": 0.1, "tests/idle": 100})
    assert done.code == 1
    assert "2 passed" in done.out
    assert "OVER BUDGET: tests/busy took" in done.out
    assert "its budget is 0.1 s" in done.out


def test_a_folder_without_a_budget_fails_a_run(suite: Path) -> None:
    done = run(suite, {"tests/idle": 100})
    assert done.code == 1
    assert f"OVER BUDGET: tests/busy has no budget: write one into {BUDGETS}" in done.out


def test_a_slow_machine_is_allowed_for() -> None:
    assert over_budget(Counter({"tests/busy": 30.0}), factor=2.0, budgets={"tests/busy": 20.0}) == []
    assert over_budget(Counter({"tests/busy": 50.0}), factor=2.0, budgets={"tests/busy": 20.0}) != []


def test_every_folder_of_tests_has_a_budget_and_no_other() -> None:
    budgets = yaml.safe_load((ROOT / BUDGETS).read_text())
    files = [path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py")]
    assert set(budgets) == {"/".join(file.parts[:2]) if len(file.parts) > 2 else "tests" for file in files}
