"""A worker started by the command line: files in, Ctrl-C out, everything remembered."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.support.ports import free_port
from tests.support.waiting import wait_until
from tests.support.worker import SOURCE, PenstockProcess

pytestmark = pytest.mark.integration


def source_file(folder: Path, name: str, **more: str) -> Path:
    (folder / "in.txt").touch()
    config = {"connector.class": "FileStreamSource", "file": str(folder / "in.txt"), "topic": name, **more}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"name": name, "config": config, "initial_state": "PAUSED"}))
    return path


def test_connector_files_create_connectors_and_update_them_at_the_next_start(tmp_path: Path) -> None:
    properties = tmp_path / "b.properties"
    properties.write_text(f"name=b\nconnector.class=FileStreamSink\ntopics=a\nfile={tmp_path}/out.txt\n")
    with PenstockProcess(tmp_path / "worker", files=[source_file(tmp_path, "a"), properties]) as worker:
        assert sorted(worker.http.get("/connectors").json()) == ["a", "b"]
        worker.wait_state("a", "PAUSED", tasks=None)
        assert worker.http.get("/connectors/b/config").json()["topics"] == "a"
        assert worker.stop() == 0

        source_file(tmp_path, "a", **{"batch.size": "77"})
        worker.files = [tmp_path / "a.json"]
        worker.start()
        assert worker.http.get("/connectors/a/config").json()["batch.size"] == "77"
        worker.wait_state("a", "PAUSED", tasks=None)
        assert sorted(worker.http.get("/connectors").json()) == ["a", "b"]


def test_a_connector_that_is_refused_stops_the_worker_with_3(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"name": "c", "connector.class": "NoSuchConnector"}))
    worker = PenstockProcess(tmp_path / "worker", files=[file])
    try:
        worker.start(wait=False)
        assert worker.wait_for_exit() == 3
    finally:
        worker.kill()
    assert "Connector c could not be created: " in worker.tail()
    assert "NoSuchConnector" in worker.tail()


def test_a_second_worker_on_the_same_folder_is_refused(worker: PenstockProcess, tmp_path: Path) -> None:
    second = PenstockProcess(tmp_path / "second", {"data.dir": str(worker.data_dir)})
    try:
        second.start(wait=False)
        assert second.wait_for_exit() == 2
    finally:
        second.kill()
    assert f"Another worker (process {worker.pid}) is using the data folder" in second.tail()


def test_ctrl_c_stops_cleanly_within_seconds(worker: PenstockProcess) -> None:
    wait_until(lambda: "Spark is ready" in worker.tail(), "Spark is up")
    assert worker.stop(seconds=15) == 0
    assert "Stopped" in worker.tail()
    assert children_of_session(worker.pid) == []


def test_ctrl_c_while_spark_is_starting_does_not_wait_for_it_for_long(tmp_path: Path) -> None:
    worker = PenstockProcess(tmp_path / "worker")
    try:
        worker.start()
        assert worker.stop(seconds=20) in (0, 130)
    finally:
        worker.kill()


def test_a_second_ctrl_c_ends_at_once(worker: PenstockProcess) -> None:
    worker.signal(signal.SIGINT)
    wait_until(lambda: "Stopping" in worker.tail(), "the first Ctrl-C was seen")
    worker.signal(signal.SIGINT)
    assert worker.wait_for_exit(5) in (0, 130)


def test_run_without_a_file_moves_the_example_records(tmp_path: Path) -> None:
    port = free_port()
    with (tmp_path / "out").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "penstock", "run", "--port", str(port)],
            cwd=tmp_path,
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            start_new_session=True,
        )
    try:
        example = tmp_path / "penstock-data" / "example"
        wait_until(lambda: httpx2.get(f"http://127.0.0.1:{port}/health").status_code == 200, "healthy")
        wait_until(lambda: len((example / "orders.jsonl").read_text().splitlines()) >= 3, "orders arrive")
        with (example / "notes.txt").open("a") as notes:
            notes.write("hello\n")
        wait_until(lambda: "hello" in (example / "notes-copy.txt").read_text(), "the note arrives")
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(120)
    assert f"http://127.0.0.1:{port}" in (tmp_path / "out").read_text()


def children_of_session(leader: int) -> list[str]:
    """Processes that still live in the worker's session."""
    done = subprocess.run(["ps", "-o", "pid=,args=", "-s", str(leader)], capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if "<defunct>" not in line]
