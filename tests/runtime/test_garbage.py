"""A worker's process spends little on looking for garbage."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LOOK = """
import gc, weakref

from penstock.runtime.garbage import collect_rarely

class Circle:
    def __init__(self):
        self.me = self

collect_rarely()
before = gc.get_stats()[0]["collections"]
kept = [[] for _ in range(10_000)]
print(gc.get_freeze_count() > 1_000, gc.get_stats()[0]["collections"] - before)
lost = weakref.ref(Circle())
more = [[] for _ in range(100_000)]
print(lost() is None)
"""


@pytest.mark.integration
def test_what_is_there_is_left_alone_and_circles_that_come_later_still_go() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", LOOK]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert said.stdout.split() == ["True", "0", "True"]
