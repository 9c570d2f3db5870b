"""The process that Python workers are forked from: ours where it can be, and never one that keeps dying."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.spark.shipping import DECIDING_FILE, shipped_settings

SITE_PACKAGES = os.pathsep.join(entry for entry in sys.path if entry.endswith("site-packages"))
SOURCES = str(Path(__file__).parents[2] / "src")
INSTALLED = {"spark.penstock.environment": "installed"}


@contextmanager
def forking(module: str, folder: Path, import_from: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a daemon as an executor does: it says its port when it is ready, and ends when its input does."""
    bare = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    daemon = subprocess.Popen(
        [sys.executable, "-S", "-m", module, "pyspark.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**bare, "PYTHONPATH": import_from},
    )
    try:
        yield daemon
    finally:
        daemon.kill()
        daemon.communicate()


def says_its_port_and_ends(daemon: subprocess.Popen[bytes]) -> str:
    """What it complained of meanwhile."""
    assert daemon.stdout is not None
    (port,) = struct.unpack("!i", daemon.stdout.read(4))
    assert 1024 < port < 65536
    _, complaints = daemon.communicate(timeout=60)
    return complaints.decode()


@pytest.mark.integration
def test_a_daemon_that_cannot_import_everything_is_ready_all_the_same_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError('made for another Python')")
    with forking("penstock.spark.daemon", tmp_path, os.pathsep.join([str(tmp_path), SOURCES, SITE_PACKAGES])) as daemon:
        complaints = says_its_port_and_ends(daemon)
    assert "Python workers start without what they need. ImportError: made for another Python" in complaints


@pytest.mark.integration
@pytest.mark.parametrize("there", [True, False], ids=["with-penstock", "without"])
def test_where_nothing_is_shipped_the_daemon_is_ours_if_the_executor_has_it(there: bool, tmp_path: Path) -> None:
    (tmp_path / DECIDING_FILE.name).write_bytes(DECIDING_FILE.read_bytes())
    import_from = os.pathsep.join([*([SOURCES] if there else []), SITE_PACKAGES])
    with forking(DECIDING_FILE.stem, tmp_path, import_from) as daemon:
        complaints = says_its_port_and_ends(daemon)
    without = "Spark's own daemon forks Python workers. ModuleNotFoundError: No module named 'penstock'"
    assert (without in complaints) is not there


def test_the_file_that_decides_is_the_daemon_and_python_looks_where_it_lies() -> None:
    settings = shipped_settings(INSTALLED, [], Path())
    assert settings == {"spark.python.daemon.module": DECIDING_FILE.stem, "spark.executorEnv.PYTHONSAFEPATH": ""}
    assert DECIDING_FILE.is_file()


def test_a_daemon_of_the_user_is_left_alone() -> None:
    assert shipped_settings({**INSTALLED, "spark.python.daemon.module": "mine"}, [], Path()) == {}
