"""Tests run in several processes at once: what they share stays with one of them, and nobody is in another's way."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.ports import EACH, FIRST, SHARES, free_port
from tests.support.sharing_out import FIRST as GO_FIRST
from tests.support.sharing_out import TOGETHER

ROOT = Path(__file__).parents[1]
SHARED = re.compile(r'scope="(?:package|session)"')


def test_folders_that_share_fixtures_stay_together() -> None:
    sharing = {
        f"{conftest.parent.relative_to(ROOT)}/"
        for conftest in (ROOT / "tests").rglob("conftest.py")
        if SHARED.search(conftest.read_text())
    }
    assert sharing == set(TOGETHER)


def test_what_goes_first_is_there() -> None:
    assert [folder for folder in GO_FIRST if not (ROOT / folder).is_dir()] == []


def test_a_port_is_given_once_and_is_not_one_of_a_client() -> None:
    ports = [free_port() for _ in range(200)]
    assert len(set(ports)) == len(ports)
    assert FIRST <= min(ports) <= max(ports) < FIRST + EACH * SHARES < 32768


def test_a_test_that_ends_its_process_fails_once_and_the_others_are_run(tmp_path: Path) -> None:
    (tmp_path / "test_dying.py").write_text("import os\ndef test_dying(): os._exit(0)\ndef test_next(): pass\n")
    (tmp_path / "test_fine.py").write_text("def test_fine(): pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.sharing_out", "-n2", "--dist", "loadfile"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1, done.stdout
    assert "test_dying.py::test_dying" in done.stdout
    assert "1 failed, 2 passed" in done.stdout
