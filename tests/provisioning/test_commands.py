"""``penstock plan`` and ``penstock apply`` as a user, and a CI system, meets them."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.provisioning.declared import DeclaredProbe, pipeline
from tests.support.ports import free_port
from tests.support.worker import SOURCE, PenstockProcess

pytestmark = pytest.mark.integration


class Command:
    """Commands on one folder of files, for one worker."""

    def __init__(self, worker: PenstockProcess, folder: Path) -> None:
        self.worker = worker
        self.folder = folder
        self.file = folder / "a.yaml"

    def write(self, *pipelines: dict[str, Any]) -> None:
        self.file.write_text(json.dumps({"pipelines": list(pipelines)}, indent=2))

    def run(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        variables = {
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "COLUMNS": "200",
            "NO_COLOR": "1",
            "PENSTOCK_URL": self.worker.url,
        }
        command = [sys.executable, "-m", "penstock", *arguments]
        given = {"stdin": subprocess.DEVNULL, **more}
        return subprocess.run(command, capture_output=True, text=True, env=variables, timeout=120, **given)


@pytest.fixture
def command(probed_worker: PenstockProcess, tmp_path: Path) -> Command:
    return Command(probed_worker, tmp_path)


def test_plan_then_apply_then_nothing_to_do(command: Command, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    command.write(pipeline(probe.name, probe.entry({"secret": "hunter2"})))
    planned = command.run("plan", str(command.file))
    assert planned.returncode == 0, planned.stderr
    assert f"+ create connector {probe.name}  pipeline {probe.name}, {command.file}  starts" in planned.stdout
    assert "+ secret: [hidden]" in planned.stdout
    assert "on_created() is called before it starts, with the new configuration" in planned.stdout
    found = re.search(r"Plan ([0-9a-f]{16}): 1 to create, 0 unchanged\.", planned.stdout)
    assert found
    assert probe.hooks() == []

    applied = command.run("apply", str(command.file), "--plan", found[1])
    assert applied.returncode == 0, applied.stderr
    assert "Applied: 1 change." in applied.stdout
    probe.wait_hooks("on_created")
    listed = command.run("get", "pipelines")
    assert [probe.name, probe.name, "running", "none", str(command.file)] in map(str.split, listed.stdout.splitlines())
    again = command.run("apply", str(command.file), "--yes")
    assert again.returncode == 0
    assert "Nothing to do: 1 unchanged." in again.stdout

    command.write(pipeline(probe.name))
    gone = command.run("apply", str(command.file), "-y")
    assert f"- delete connector {probe.name}" in gone.stdout
    assert "on_deleted() is called after it has stopped, with the active configuration" in gone.stdout
    probe.wait_hooks("on_created", "on_deleted")


def test_apply_asks_and_takes_no_for_an_answer(command: Command, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    command.write(pipeline(probe.name, probe.entry()))
    nobody = command.run("apply", str(command.file))
    assert nobody.returncode == 1
    assert "there is nobody to ask" in nobody.stderr
    main, terminal = pty.openpty()
    os.write(main, b"n\n")
    refused = command.run("apply", str(command.file), stdin=terminal)
    assert refused.returncode == 1
    assert probe.hooks() == []
    os.write(main, b"y\n")
    agreed = command.run("apply", str(command.file), stdin=terminal)
    os.close(main)
    os.close(terminal)
    assert agreed.returncode == 0, agreed.stdout + agreed.stderr
    probe.wait_hooks("on_created")


def test_an_apply_that_deletes_most_connectors_must_be_told_to(command: Command, tmp_path: Path) -> None:
    probes = [DeclaredProbe(tmp_path) for _ in range(4)]
    name = probes[0].name
    command.write(pipeline(name, *(probe.entry() for probe in probes), status="stopped"))
    assert command.run("apply", str(command.folder), "--yes").returncode == 0

    command.write(pipeline(name, probes[0].entry(), status="stopped"))
    told = f"3 of the 4 connectors that {command.folder} declared before would be deleted"
    planned = command.run("plan", str(command.folder))
    assert planned.returncode == 0, planned.stderr
    assert f"warning  apply refuses this plan: {told}" in planned.stdout
    assert f"⚠️ apply refuses this plan: {told}" in command.run("plan", str(command.folder), "-o", "markdown").stdout
    plan = json.loads(command.run("plan", str(command.folder), "-o", "json").stdout)
    assert plan["refused"].startswith(told)
    for more in (["--yes"], ["--plan", plan["hash"]]):
        refused = command.run("apply", str(command.folder), *more)
        assert refused.returncode == 4
        assert f"Nothing was applied: {told}" in " ".join(refused.stderr.split())
        assert "penstock apply --delete-many" in " ".join(refused.stderr.split())
    body = {"files": [], "paths": [str(command.folder)]}
    answer = command.worker.http.post("/pipelines/apply", json=body)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("Nothing was applied: 4 of the 4 connectors")
    assert command.worker.http.post("/pipelines/apply", json={**body, "delete_many": "yes"}).status_code == 400
    assert {probe.name for probe in probes} <= set(command.worker.http.get("/connectors").json())

    done = command.run("apply", str(command.folder), "--yes", "--delete-many")
    assert done.returncode == 0, done.stderr
    assert "refuses" not in done.stdout
    left = set(command.worker.http.get("/connectors").json())
    assert [probe.name in left for probe in probes] == [True, False, False, False]
    assert command.worker.http.post("/pipelines/apply", json=body).status_code == 200, "one of one is not many"


def test_a_plan_out_of_date_ends_with_5(command: Command, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    command.write(pipeline(probe.name, probe.entry()))
    done = command.run("apply", str(command.file), "--plan", "0123456789abcdef")
    assert done.returncode == 5
    assert "The plan 0123456789abcdef is out of date" in done.stderr
    assert probe.hooks() == []


def test_errors_are_told_all_at_once_with_their_lines(command: Command) -> None:
    command.file.write_text(
        "pipelines:\n"
        "  - id: a\n"
        "    stauts: running\n"
        "    connectors:\n"
        "      - name: x\n"
        "        class: FileStreamSorce\n"
        "        config:\n"
        "          file: in.txt\n"
    )
    (command.folder / "b.yaml").write_text("pipelines: [")
    for verb in ("plan", "apply"):
        done = command.run(verb, str(command.folder))
        assert done.returncode == 3
        assert "b.yaml:1:13: This is neither YAML nor JSON" in done.stdout
        assert "a.yaml:3:5: pipelines[0].stauts: 'stauts' is not a key of a pipeline." in done.stdout
        assert (
            "a.yaml:6:9: pipelines[0].connectors[0].class: There is no connector class 'FileStreamSorce'" in done.stdout
        )
        assert "Did you mean 'FileStreamSource'?" in done.stdout
        assert "3 errors: nothing can be applied." in done.stdout


def test_json_and_markdown_are_for_programs_and_pull_requests(command: Command, tmp_path: Path) -> None:
    probe = DeclaredProbe(tmp_path)
    command.write(pipeline(probe.name, probe.entry({"secret": "hunter2"})))
    plan = json.loads(command.run("plan", str(command.file), "--output", "json").stdout)
    assert [change["action"] for change in plan["changes"]] == ["create"]
    text = command.run("plan", str(command.file), "-o", "markdown").stdout
    assert text.startswith(f"### Penstock: Plan {plan['hash']}: 1 to create, 0 unchanged.\n")
    assert f"| `+` | {probe.name} | create connector `{probe.name}` | starts | `on_created` |" in text
    assert "+ secret: [hidden]" in text
    assert "hunter2" not in text
    applied = command.run("apply", str(command.file), "--yes", "--output", "json")
    assert json.loads(applied.stdout)["hash"] == plan["hash"]


def test_files_with_a_name_of_their_own_are_known_again_elsewhere(command: Command, tmp_path: Path) -> None:
    probe, other = DeclaredProbe(tmp_path), DeclaredProbe(tmp_path)
    command.folder = tmp_path / "checkout-1"
    command.folder.mkdir()
    for name, declared in (("a.yaml", probe), ("b.yaml", other)):
        command.file = command.folder / name
        command.write(pipeline(declared.name, declared.entry()))
    source = f"team/{probe.name}"
    assert command.run("apply", str(command.folder), "--source", source, "-y").returncode == 0
    (command.folder / "b.yaml").unlink()
    command.folder.rename(tmp_path / "checkout-2")
    done = command.run("apply", str(tmp_path / "checkout-2"), "--source", source, "-y")
    assert f"- delete connector {other.name}  pipeline {other.name}, {source}/b.yaml" in done.stdout
    assert "1 to delete, 1 unchanged" in done.stdout


def test_a_worker_that_is_not_there_is_named(command: Command) -> None:
    command.write(pipeline("a"))
    url = f"http://127.0.0.1:{free_port()}"
    done = command.run("plan", str(command.file), "--url", url)
    assert done.returncode == 4
    assert f"Cannot reach a worker at {url}" in done.stderr
