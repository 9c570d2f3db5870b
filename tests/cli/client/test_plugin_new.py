"""``penstock plugin new``: the project tests itself, and a worker runs what is in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from tests.cli.client.conftest import Client
from tests.support.ports import free_port
from tests.support.shared_packages import python_that_shares
from tests.support.waiting import wait_until
from tests.support.worker import SOURCE, PenstockProcess

KINDS = ["--kind", "source", "--kind", "sink", "--kind", "transform"]


@pytest.fixture
def project(nobody: Client, tmp_path: Path) -> Path:
    folder = tmp_path / "orders-api"
    nobody.ok("plugin", "new", "orders-api", *KINDS, "--folder", str(folder))
    return folder


@pytest.mark.integration
def test_the_project_tests_itself_and_is_tidy(project: Path) -> None:
    variables = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=project, env=variables, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    lint = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E,F,I", "--line-length", "120", "."]
    assert subprocess.run(lint, cwd=project, capture_output=True, timeout=120).returncode == 0


@pytest.mark.integration
def test_the_steps_it_prints_lead_from_a_clone_to_a_running_pipeline(nobody: Client, tmp_path: Path) -> None:
    printed = nobody.ok("plugin", "new", "orders-api", "--folder", str(tmp_path / "orders api")).out
    steps = [line.strip() for line in printed.partition("✓")[2].splitlines() if line.startswith("  ")]
    assert f"pip install -e {SOURCE.parent} -e '.[dev]'" in steps[1]
    port, output = free_port(), tmp_path / "orders api" / "orders-api.jsonl"
    steps[-1] = f"exec {steps[-1]} --port {port}"
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    variables["PATH"] = f"{python_that_shares(tmp_path / 'shared')}:{variables['PATH']}"
    with (tmp_path / "said").open("wb") as said:
        command = ["bash", "-e", "-c", "\n".join(steps)]
        process = subprocess.Popen(
            command, cwd=tmp_path, env=variables, stdout=said, stderr=said, start_new_session=True
        )
    try:
        wait_until(lambda: process.poll() is not None or len(output.read_text().splitlines()) == 1000, "it runs", 300)
        assert process.poll() is None, (tmp_path / "said").read_text()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(120)
    assert "passed" in (tmp_path / "said").read_text()


@pytest.mark.integration
def test_a_worker_runs_its_pipeline(project: Path, tmp_path: Path) -> None:
    with PenstockProcess(tmp_path / "worker", {"plugin.path": str(project / "src")}) as worker:
        (pipeline,) = yaml.safe_load((project / "pipeline.yaml").read_text())["pipelines"]
        output = tmp_path / "out.jsonl"
        pipeline["connectors"][1]["config"]["file"] = str(output)
        assert worker.http.post("/pipelines/apply", json={"pipelines": [pipeline]}).status_code == 200
        wait_until(lambda: output.exists() and len(output.read_text().splitlines()) == 1000, "all is written")
        last = json.loads(output.read_text().splitlines()[-1])
    assert last["value"] == {"number": 999, "seen_by": "orders-api"}


@pytest.mark.parametrize("kind", ["source", "sink", "transform"])
def test_each_kind_alone_makes_a_project(nobody: Client, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "mine"
    nobody.ok("plugin", "new", "mine", "--kind", kind, "--folder", str(folder))
    assert [path.stem for path in (folder / "tests").iterdir()] == [f"test_{kind}"]
    assert f"Mine{kind.capitalize()}" in (folder / "src" / "mine" / "__init__.py").read_text()
    assert f"Mine{kind.capitalize()}" in (folder / "pipeline.yaml").read_text()


def test_a_wrong_name_and_a_folder_in_use_are_refused(nobody: Client, tmp_path: Path) -> None:
    for name in ("Orders", "1st", "a--b", "class", "../x"):
        assert nobody("plugin", "new", name, "--folder", str(tmp_path / "new")).code == 1
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").touch()
    used = nobody("plugin", "new", "mine", "--folder", str(tmp_path / "used"))
    assert (used.code, "not empty" in used.err) == (1, True)
