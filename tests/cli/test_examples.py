"""The examples of the repository run as they stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.runtime.pipeline_files import load_pipeline_files
from penstock.runtime.worker_config import WorkerConfig
from tests.support.waiting import wait_until
from tests.support.worker import PenstockProcess

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.integration


def test_connectors_of_ones_own_are_found_in_plugin_path_and_move_records(tmp_path: Path) -> None:
    sink = (EXAMPLES / "numbers-out.properties").read_text().replace("penstock-data", str(tmp_path))
    (tmp_path / "sink.properties").write_text(sink)
    example = WorkerConfig.load(EXAMPLES / "worker.properties")
    assert example.warnings == ()
    own = ("listeners", "data.dir")
    settings = {key: value for key, value in example.properties.items() if key not in own}
    settings["plugin.path"] = str(EXAMPLES / "plugins")
    files = [EXAMPLES / "countdown.json", tmp_path / "sink.properties"]
    with PenstockProcess(tmp_path / "worker", settings, files=files):
        out = tmp_path / "numbers" / "numbers.txt"
        wait_until(lambda: len(out.read_text().splitlines()) == 10, "ten numbers arrive")
        assert out.read_text().splitlines() == [f"{n}: {{'left': {n}}}" for n in range(10, 0, -1)]


def test_the_pipeline_file_masks_what_it_says(tmp_path: Path, worker: PenstockProcess) -> None:
    source, sink = load_pipeline_files([EXAMPLES / "orders.yaml"]).desired().connectors
    out = tmp_path / "orders.jsonl"
    worker.create(source.name, source.config)
    worker.create(sink.name, {**sink.config, "file": str(out)})
    wait_until(lambda: len(out.read_text().splitlines()) >= 5, "orders arrive")
    first = json.loads(out.read_text().splitlines()[0])
    assert first["customer"] == ""
    assert first["price"] > 0
