"""A worker with pipeline files of its own: applied at its start, before anything that is gone could run, and later."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.provisioning.declared import DeclaredProbe, pipeline
from tests.support.ports import free_port
from tests.support.probes import SETTINGS
from tests.support.waiting import wait_until
from tests.support.worker import SOURCE, PenstockProcess

pytestmark = pytest.mark.integration


class Folder:
    """A folder of pipeline files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def write(self, file: str, *pipelines: dict[str, Any]) -> Path:
        (self.path / file).write_text(json.dumps({"pipelines": list(pipelines)}, indent=2))
        return self.path / file


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "pipelines")


def _worker(tmp_path: Path, folder: Folder, **settings: str) -> PenstockProcess:
    return PenstockProcess(tmp_path / "worker", {**SETTINGS, "pipelines.path": str(folder.path), **settings})


def test_files_are_applied_at_the_start_and_a_removed_connector_does_not_run_again(
    tmp_path: Path, folder: Folder
) -> None:
    stays, changes, goes = (DeclaredProbe(tmp_path) for _ in range(3))
    folder.write("a.json", pipeline("a", stays.entry(), changes.entry({"count": "1"})))
    folder.write("b.json", pipeline("b", goes.entry()))
    with _worker(tmp_path, folder) as worker:
        worker.create("by-the-api", {"connector.class": "PlainSource", "topic": "t"})
        for probe in (stays, changes, goes):
            worker.wait_state(probe.name, "RUNNING", tasks=1)
        found = worker.http.get("/pipelines").json()
        assert {entry["id"]: (entry["origin"], entry["file"]) for entry in found["pipelines"]} == {
            "a": ("worker", str(folder.path / "a.json")),
            "b": ("worker", str(folder.path / "b.json")),
        }
        worker.kill()

        (folder.path / "b.json").unlink()
        folder.write("a.json", pipeline("a", stays.entry(), changes.entry({"count": "2"})))
        worker.start()
        assert sorted(worker.http.get("/connectors").json()) == sorted(["by-the-api", stays.name, changes.name])
        assert worker.http.get(f"/connectors/{goes.name}/status").status_code == 404
        goes.wait_hooks("on_created", "on_deleted")
        changes.wait_hooks("on_created", "on_updated")
        worker.wait_state("by-the-api", "RUNNING")
        worker.wait_state(changes.name, "RUNNING", tasks=1)
        assert stays.hooks() == ["on_created"]
        assert len(goes.calls("start")) == 1, "it ran again after the restart"
        assert [len(probe.calls("start")) for probe in (stays, changes)] == [2, 2]


BROKEN = """\
pipelines:
  - id: broken
    conectors: []
"""


def test_errors_of_one_file_stop_neither_the_worker_nor_other_pipelines(tmp_path: Path, folder: Folder) -> None:
    good, kept, clash, refused = (DeclaredProbe(tmp_path) for _ in range(4))
    folder.write("kept.json", pipeline("kept", kept.entry()))
    with _worker(tmp_path, folder) as worker:
        worker.create(clash.name, {"connector.class": "PlainSource", "topic": "t"})
        kept.wait_hooks("on_created")
        assert worker.stop() == 0

        start = [{"partition": {"task": 0}, "offset": {"next": 1}}]
        folder.write("good.json", pipeline("good", good.entry()))
        folder.write("clash.json", pipeline("clash", clash.entry()))
        folder.write("refused.json", pipeline("refused", refused.entry({"alter.offsets": "raise"}, offsets=start)))
        (folder.path / "broken.yaml").write_text(BROKEN)
        (folder.path / "kept.json").write_text('{"pipelines": [')
        worker.start()
        good.wait_hooks("on_created")
        worker.wait_state(kept.name, "RUNNING")
        assert worker.http.get(f"/connectors/{refused.name}").status_code == 404
        assert kept.hooks() == ["on_created"]
        problems = worker.http.get("/pipelines").json()["problems"]
        assert {Path(problem["file"]).name for problem in problems} == {
            "broken.yaml",
            "clash.json",
            "kept.json",
            "refused.json",
        }
        (broken,) = [problem for problem in problems if problem["file"].endswith("broken.yaml")]
        assert (broken["line"], broken["column"]) == (3, 5)
        assert broken["suggestion"] == "Did you mean 'connectors'?"
        assert f"{folder.path}/broken.yaml:3:5: pipelines[0].conectors" in worker.tail()


def test_a_path_that_is_not_there_deletes_nothing(tmp_path: Path, folder: Folder) -> None:
    probe = DeclaredProbe(tmp_path)
    folder.write("a.json", pipeline("a", probe.entry()))
    with _worker(tmp_path, folder) as worker:
        worker.wait_state(probe.name, "RUNNING")
        assert worker.stop() == 0
        folder.path.rename(tmp_path / "elsewhere")
        worker.start()
        worker.wait_state(probe.name, "RUNNING")
        (problem,) = worker.http.get("/pipelines").json()["problems"]
        assert "No such file or directory" in problem["message"]
    assert probe.hooks() == ["on_created"]


def test_files_that_lost_most_connectors_delete_nothing_until_the_worker_is_told(
    tmp_path: Path, folder: Folder
) -> None:
    probes, new = [DeclaredProbe(tmp_path) for _ in range(4)], DeclaredProbe(tmp_path)
    for probe in probes:
        folder.write(f"{probe.name}.json", pipeline(probe.name, probe.entry(), status="stopped"))
    worker = _worker(tmp_path, folder)
    with worker:
        assert worker.stop() == 0
        for probe in probes[1:]:
            (folder.path / f"{probe.name}.json").unlink()
        folder.write("new.json", pipeline("new", new.entry(), status="stopped"))
        worker.start()
        assert sorted(worker.http.get("/connectors").json()) == sorted(probe.name for probe in [*probes, new])
        (problem,) = worker.http.get("/pipelines").json()["problems"]
        assert problem["message"].startswith(
            f"3 of the 4 connectors that {folder.path} declared before would be deleted"
        )
        assert "pipelines.delete.max.percent=75" in worker.tail()

        assert worker.stop() == 0
        worker.settings["pipelines.delete.max.percent"] = "75"
        worker.start()
        assert sorted(worker.http.get("/connectors").json()) == sorted([probes[0].name, new.name])
        assert worker.http.get("/pipelines").json()["problems"] == []


def test_a_hanging_validation_holds_up_neither_the_api_nor_other_connectors(tmp_path: Path, folder: Folder) -> None:
    good, hangs = DeclaredProbe(tmp_path), DeclaredProbe(tmp_path)
    folder.write("a.json", pipeline("a", good.entry()))
    with _worker(tmp_path, folder, **{"connector.call.timeout.ms": "4000"}) as worker:
        worker.wait_state(good.name, "RUNNING")
        assert worker.stop() == 0
        folder.write("b.json", pipeline("b", hangs.entry({"hang": "validate"})))
        worker.start(wait=False)
        worker.wait_state(good.name, "RUNNING")
        assert worker.http.get("/health").status_code == 503
        worker.wait_healthy()
        (problem,) = worker.http.get("/pipelines").json()["problems"]
        assert f"{hangs.name}: validate() did not return within 4 s" in problem["message"]


@contextmanager
def _run(tmp_path: Path, *arguments: str) -> Iterator[tuple[httpx2.Client, Path]]:
    """``penstock run`` with probe connectors, ended by Ctrl-C."""
    worker_file = tmp_path / "worker.properties"
    worker_file.write_text("".join(f"{key}={value}\n" for key, value in SETTINGS.items()))
    port = free_port()
    output = tmp_path / "output"
    command = [sys.executable, "-m", "penstock", "run", *arguments, "-p", str(port), "-w", str(worker_file)]
    with output.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            stdout=out,
            stderr=out,
            env={**os.environ, "PYTHONPATH": str(SOURCE), "TEST_COUNT": "4"},
            start_new_session=True,
        )
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as http:
            wait_until(lambda: http.get("/health").status_code == 200, "healthy")
            yield http, output
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0, output.read_text()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(120)


def test_run_watches_its_files(tmp_path: Path, folder: Folder) -> None:
    probe, other = DeclaredProbe(tmp_path), DeclaredProbe(tmp_path)
    folder.write("a.json", pipeline("a", probe.entry({"count": "${env:TEST_COUNT}"})))
    with _run(tmp_path, str(folder.path), "--watch") as (http, output):
        probe.wait_hooks("on_created")
        assert probe.calls()[0]["config"]["count"] == "4"
        assert http.get(f"/connectors/{probe.name}/config").json()["count"] == "${env:TEST_COUNT}"

        folder.write("a.json", pipeline("a", probe.entry({"count": "5"})))
        probe.wait_hooks("on_created", "on_updated")
        folder.write("b.json", pipeline("b", other.entry()))
        other.wait_hooks("on_created")

        (folder.path / "a.json").write_text("{")
        wait_until(lambda: http.get("/pipelines").json()["problems"], "the mistake is told")
        assert sorted(http.get("/connectors").json()) == sorted([probe.name, other.name])
        folder.write("a.json", pipeline("a", probe.entry({"count": "6"})))
        probe.wait_hooks("on_created", "on_updated", "on_updated")
        assert http.get("/pipelines").json()["problems"] == []

        (folder.path / "b.json").unlink()
        other.wait_hooks("on_created", "on_deleted")
    text = output.read_text()
    assert re.search(rf"Connector {probe.name} is created and started\.", text)
    assert f"Connector {other.name} is deleted: no file declares it any more." in text
    assert "a.json:1:2: This is neither YAML nor JSON" in text


def test_run_with_another_file_ends_what_the_first_one_made(tmp_path: Path, folder: Folder) -> None:
    first, second = DeclaredProbe(tmp_path), DeclaredProbe(tmp_path)
    with _run(tmp_path, str(folder.write("a.json", pipeline("a", first.entry())))):
        first.wait_hooks("on_created")
    with _run(tmp_path, str(folder.write("b.json", pipeline("b", second.entry())))) as (http, _):
        first.wait_hooks("on_created", "on_deleted")
        second.wait_hooks("on_created")
        assert http.get("/connectors").json() == [second.name]
